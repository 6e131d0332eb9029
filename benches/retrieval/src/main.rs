//! Figure 3 of the paper (Rippel, Gelbart, Adams 2014): time of a query against code length and database size. It
//! compares ordered retrieval, semantic hashing and a linear scan over the same codes, in the processor time of one
//! thread; `faiss_rows.py` adds FAISS.

mod clock;
mod codes;
mod linear;
mod ordered;
mod plots;
mod semantic;
mod table;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser;

use crate::codes::Codes;
use crate::table::Row;

/// Lengths of codes, in bits: the paper's and longer ones.
const CODE_BITS: [usize; 8] = [16, 32, 64, 128, 256, 512, 1024, 2048];
/// Numbers of codes.
const CODE_COUNTS: [usize; 4] = [10_000, 100_000, 1_000_000, 10_000_000];

/// Measures queries and draws the figure.
#[derive(Debug, Parser)]
struct Options {
    /// Folder of the results
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../results/retrieval"))]
    results: PathBuf,
    /// Measure no more codes than this
    #[arg(long, default_value_t = CODE_COUNTS[CODE_COUNTS.len() - 1])]
    most: usize,
    /// Only draw what was measured
    #[arg(long)]
    draw: bool,
    /// Only write the codes and queries for FAISS into this folder: BITS-COUNT.codes and BITS-COUNT.queries
    #[arg(long, value_name = "DIR")]
    dump: Option<PathBuf>,
}

fn main() -> Result<()> {
    let options = Options::parse();
    if let Some(folder) = &options.dump {
        return codes::dump(folder, options.most);
    }
    std::fs::create_dir_all(&options.results).with_context(|| options.results.display().to_string())?;
    let path = options.results.join("queries.csv");
    if !options.draw {
        let mut rows = Vec::new();
        for count in CODE_COUNTS.into_iter().filter(|&count| count <= options.most) {
            for bits in CODE_BITS {
                let codes = Codes { bits, count };
                eprintln!("{count} codes of {bits} bits");
                rows.extend(ordered::measure(&codes, &options.results)?);
                rows.extend(semantic::measure(&codes));
                rows.push(linear::measure(&codes));
                table::write(&path, &rows)?;
            }
        }
    }
    let mut rows: Vec<Row> = table::read(&path)?;
    let rivals = options.results.join("faiss.csv");
    if rivals.exists() {
        rows.extend(table::read(&rivals)?);
    }
    plots::draw(&rows, &options.results)
}
