//! `nestcast search`: the pictures of an index that are most like one, among those that share its first bits.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use mmap_io::MemoryMappedFile;
use nestcast_lab::sheet::{self, Cell, Row};
use nestcast_lab::thumbnail::thumbnail;
use nestcast_media::picture::encode_png;
use nestcast_retrieval::{Index, hamming_distance, shared_bits};
use serde::Serialize;

use super::{Coder, Reader, advise, check_model, printable};
use crate::args::Search;
use crate::files::{self, Lines, Output};

/// Pixels of a picture on the sheet, at most, each way; and pictures in a row.
const CELL: u32 = 180;
const COLUMNS: usize = 5;

/// What was found; `--json` prints it as it is.
#[derive(Debug, Serialize)]
struct Report {
    index: String,
    query: String,
    /// Pictures in the index.
    pictures: usize,
    /// Bits of a code.
    bits: usize,
    /// First bits that all of the neighbourhood share with the query.
    depth: usize,
    /// Pictures in the neighbourhood; those that are shown are the nearest of them.
    neighbourhood: usize,
    /// Time of the search among the codes.
    microseconds: f64,
    found: Vec<Found>,
}

#[derive(Debug, Serialize)]
struct Found {
    picture: String,
    /// First bits that it shares with the query.
    shared_bits: usize,
    /// Bits in which it differs.
    hamming_distance: u32,
}

pub(crate) fn run(options: &Search) -> Result<()> {
    let inputs = [options.index.as_path(), &options.image];
    let sheet = options.sheet.as_ref().map(|path| Output::new(path, &inputs)).transpose()?;
    let place = files::name(&options.index);
    ensure!(!files::is_standard(&options.index), "an index is mapped into memory: name its file");
    let length = options.index.metadata().with_context(|| format!("{place} cannot be read"))?.len();
    ensure!(length > 0, "{place} is empty: index the pictures again");
    let map = MemoryMappedFile::open_ro(&options.index).with_context(|| format!("{place} cannot be read"))?;
    let bytes = map.as_slice_bytes(0, map.len()).with_context(|| format!("{place} cannot be read"))?;
    let index = Index::open(bytes).map_err(advise).with_context(|| format!("{place} is refused"))?;
    let coder = Coder::open(&options.codes, 1)?;
    check_model(index.model(), &coder).with_context(|| format!("{place} is refused"))?;
    let query = coder.code(&options.image)?;
    let report = report(options, &index, &query)?;
    if let Some(sheet) = sheet {
        sheet.write(&draw(options, &report, &coder.reader)?)?;
        let missing = report.found.iter().filter(|found| !Path::new(&found.picture).is_file()).count();
        if missing > 0 && !options.json {
            let all = report.found.len();
            files::note(&format!(
                "{missing} of {all} pictures found are not there, seen from this folder: search from where they were indexed"
            ));
        }
        if sheet.is_standard() && !options.json {
            return Ok(());
        }
    }
    if options.json {
        let lines = options.sheet.as_deref().map_or(Lines::Output, Lines::beside);
        return lines.print_pretty(&report);
    }
    files::print_result(&describe(&report))
}

fn report(options: &Search, index: &Index<&[u8]>, query: &[u8]) -> Result<Report> {
    let start = Instant::now();
    let neighbourhood = index.neighbourhood(query, options.among())?;
    let microseconds = start.elapsed().as_secs_f64() * 1e6;
    let found = neighbourhood.nearest(options.top.get()).into_iter().map(|entry| Found {
        picture: String::from_utf8_lossy(entry.name).into_owned(),
        shared_bits: shared_bits(&entry.code, query),
        hamming_distance: hamming_distance(&entry.code, query),
    });
    Ok(Report {
        index: files::name(&options.index),
        query: files::name(&options.image),
        pictures: index.len(),
        bits: index.bits(),
        depth: neighbourhood.depth(),
        neighbourhood: neighbourhood.len(),
        microseconds: (microseconds * 1e3).round() / 1e3,
        found: found.collect(),
    })
}

fn describe(report: &Report) -> String {
    use std::fmt::Write;
    let Report { query, pictures, bits, depth, neighbourhood, microseconds, .. } = report;
    let mut text = format!(
        "{query}: {neighbourhood} of {pictures} pictures share its first {depth} of {bits} bits, found in {microseconds:.1} us\n\n  shared  differ  picture\n"
    );
    for Found { picture, shared_bits, hamming_distance } in &report.found {
        let _ = writeln!(text, "  {shared_bits:>6}  {hamming_distance:>6}  {}", printable(picture));
    }
    text
}

/// The query and what was found, as a PNG. What is no longer there is an empty cell.
fn draw(options: &Search, report: &Report, reader: &Reader) -> Result<Vec<u8>> {
    let cell = |path: &Path, figures: String| {
        let picture = reader.read(path).and_then(|picture| thumbnail(&picture, CELL)).ok();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Cell { picture, name: name.chars().take(18).collect(), figures }
    };
    let bits = format!("{} bits", report.bits);
    let mut rows = vec![Row { heading: "searched".to_owned(), cells: vec![cell(&options.image, bits)] }];
    for (number, found) in report.found.chunks(COLUMNS).enumerate() {
        let figures = |found: &Found| format!("{} shared, {} differ", found.shared_bits, found.hamming_distance);
        let cells = found.iter().map(|found| cell(Path::new(&found.picture), figures(found))).collect();
        rows.push(Row { heading: if number == 0 { "found".to_owned() } else { String::new() }, cells });
    }
    let side = CELL as usize;
    Ok(encode_png(&sheet::draw("", &rows, (side, side))?)?)
}
