//! `nestcast search`: the pictures of an index that are most like one, among those that share its first bits.

use std::cmp::Reverse;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use mmap_io::MemoryMappedFile;
use nestcast_lab::sheet::{self, Cell, Row};
use nestcast_lab::thumbnail::thumbnail;
use nestcast_media::picture::encode_png;
use nestcast_retrieval::{Index, Nearest, nearest_of};
use serde::Serialize;

use super::{Coder, Query, Reader, advise, check_model, printable};
use crate::args::Search;
use crate::files::{self, Lines};

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
    /// First bits that all of the neighbourhood of the query's own code share with it.
    depth: usize,
    /// Pictures in that neighbourhood; those that are shown are the nearest of it and of those of `uncropped`.
    neighbourhood: usize,
    /// Codes that were searched for besides, of what the query may be a crop of.
    uncropped: usize,
    /// Time of the search among the codes, for all of these.
    microseconds: f64,
    found: Vec<Found>,
}

#[derive(Debug, Serialize)]
struct Found {
    picture: String,
    /// First bits that it shares with the nearest of the codes that were searched for.
    shared_bits: usize,
    /// Bits in which it differs from that code.
    hamming_distance: u32,
    /// Whether that is a code of what the query may be a crop of.
    as_crop: bool,
}

pub(crate) fn run(options: &Search) -> Result<()> {
    let inputs = [options.index.as_path(), &options.image];
    let sheet = options.sheet.as_ref().map(|path| files::output(path, &inputs)).transpose()?;
    let place = files::name(&options.index);
    ensure!(!files::is_standard(&options.index), "an index is mapped into memory: name its file");
    let length = options.index.metadata().with_context(|| format!("{place} cannot be read"))?.len();
    ensure!(length > 0, "{place} is empty: index the pictures again");
    let map = MemoryMappedFile::open_ro(&options.index).with_context(|| format!("{place} cannot be read"))?;
    let bytes = map.as_slice_bytes(0, map.len()).with_context(|| format!("{place} cannot be read"))?;
    let index = Index::open(bytes).map_err(advise).with_context(|| format!("{place} is refused"))?;
    let coder = Coder::open(&options.codes, 1)?;
    check_model(index.model(), &coder).with_context(|| format!("{place} is refused"))?;
    let query = coder.query(&options.image)?;
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

fn report(options: &Search, index: &Index<&[u8]>, query: &Query) -> Result<Report> {
    let start = Instant::now();
    // The query's own code first: of codes that are as near, it is the one that is named.
    let codes = std::iter::once(&query.whole).chain(&query.uncropped);
    let near: Vec<_> = codes.map(|code| index.neighbourhood(code, options.among())).collect::<Result<_, _>>()?;
    let microseconds = start.elapsed().as_secs_f64() * 1e6;
    Ok(Report {
        index: files::name(&options.index),
        query: files::name(&options.image),
        pictures: index.len(),
        bits: index.bits(),
        depth: near[0].depth(),
        neighbourhood: near[0].len(),
        uncropped: near.len() - 1,
        microseconds: (microseconds * 1e3).round() / 1e3,
        found: nearest_of(&near, options.top.get()).iter().map(found).collect(),
    })
}

fn found(near: &Nearest<'_>) -> Found {
    let &Nearest { hamming_distance, query, shared_bits: Reverse(shared_bits), name } = near;
    Found { picture: String::from_utf8_lossy(name).into_owned(), shared_bits, hamming_distance, as_crop: query > 0 }
}

fn describe(report: &Report) -> String {
    use std::fmt::Write;
    let Report { query, pictures, bits, depth, neighbourhood, uncropped, microseconds, .. } = report;
    let mut text = format!(
        "{query}: {neighbourhood} of {pictures} pictures share its first {depth} of {bits} bits; found with {uncropped} codes of what it may be a crop of in {microseconds:.1} us\n\n  shared  differ  picture\n"
    );
    for Found { picture, shared_bits, hamming_distance, as_crop } in &report.found {
        let note = if *as_crop { ", as its crop" } else { "" };
        let _ = writeln!(text, "  {shared_bits:>6}  {hamming_distance:>6}  {}{note}", printable(picture));
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
        let figures = |found: &Found| {
            let note = if found.as_crop { ", as its crop" } else { "" };
            format!("{} shared, {} differ{note}", found.shared_bits, found.hamming_distance)
        };
        let cells = found.iter().map(|found| cell(Path::new(&found.picture), figures(found))).collect();
        rows.push(Row { heading: if number == 0 { "found".to_owned() } else { String::new() }, cells });
    }
    let side = CELL as usize;
    Ok(encode_png(&sheet::draw("", &rows, (side, side))?)?)
}
