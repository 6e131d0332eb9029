//! Ordered retrieval: the product's index in a memory-mapped file, as the program opens it.

use std::hint::black_box;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use mmap_io::MemoryMappedFile;
use nestcast_retrieval::{Builder, CodeModelId, Index};

use crate::clock::timed;
use crate::codes::Codes;
use crate::table::{Row, median, rounded};

/// Terminal cardinalities, as in the paper's figure.
const TERMINAL_CARDINALITIES: [usize; 3] = [2, 32, 512];
/// The rounds, and the queries of each. No query repeats, so only by chance does one use what another brought into a
/// cache.
const MEASURED_ROUNDS: usize = 100;
const QUERIES_A_ROUND: usize = 500;

/// Builds the index, and measures every R with queries of both kinds.
pub(crate) fn measure(codes: &Codes, folder: &Path) -> Result<Vec<Row>> {
    let start = Instant::now();
    let file = tempfile::NamedTempFile::new_in(folder)?;
    build(codes, &file)?;
    let built = start.elapsed();
    let start = Instant::now();
    let map = MemoryMappedFile::open_ro(file.path())?;
    let index = Index::open(map.as_slice_bytes(0, map.len())?)?;
    let opened = start.elapsed();
    let start = Instant::now();
    let read = std::fs::read(file.path())?;
    let read_opened = Index::open(read).map(|_| start.elapsed())?;
    eprintln!("  built in {built:.1?}, opened in {opened:.1?} by its map, in {read_opened:.1?} read into memory");
    let memory = Some(rounded(map.len() as f64 / (codes.count * codes.bytes()) as f64));
    let mut rows = Vec::new();
    for indexed in [false, true] {
        let queries = codes.queries(indexed, MEASURED_ROUNDS * QUERIES_A_ROUND);
        for terminal in TERMINAL_CARDINALITIES {
            let (us, found) = time(&index, &queries, terminal)?;
            rows.push(Row {
                method: "ordered".to_owned(),
                parameter: terminal.to_string(),
                bits: codes.bits,
                count: codes.count,
                queries: if indexed { "indexed" } else { "new" }.to_owned(),
                us: rounded(us),
                found: rounded(found),
                memory,
                scaled: false,
                recall: None,
            });
        }
    }
    Ok(rows)
}

fn build(codes: &Codes, mut file: impl Write) -> Result<()> {
    let mut builder = Builder::new(CodeModelId([0; 32]), codes.bits)?;
    let mut code = vec![0; codes.bytes()];
    for number in 0..codes.count {
        codes.put(number, &mut code);
        builder.push(&code, &u32::try_from(number)?.to_le_bytes())?;
    }
    builder.write(|piece| file.write_all(piece).map_err(anyhow::Error::from))
}

/// Returns the microseconds of a query, and how many codes it finds.
fn time(index: &Index<&[u8]>, queries: &[Vec<u8>], terminal: usize) -> Result<(f64, f64)> {
    let terminal = NonZeroUsize::new(terminal).context("R is at least 1")?;
    let (mut rounds, mut found) = (Vec::new(), 0);
    for round in queries.chunks(QUERIES_A_ROUND) {
        let (all, us) = timed(|| {
            round.iter().map(|query| Ok(black_box(index.neighbourhood(query, terminal)?).len())).sum::<Result<usize>>()
        });
        found += all?;
        rounds.push(us / round.len() as f64);
    }
    Ok((median(rounds), found as f64 / queries.len() as f64))
}
