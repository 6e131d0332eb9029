//! Writes the vectors again: `cargo run -p nestcast-tests --bin vectors -- OUT [TABLES]`.
//!
//! Vectors are frozen: this is for a new version of the format, or before a first release. Without TABLES they are made
//! with the frozen tables in their folder.

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use nestcast_tests::vectors;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (out, tables) = match &arguments[..] {
        [out] => (out, Ok(vectors::tables())),
        [out, tables] => (out, fs::read(tables)),
        _ => {
            eprintln!("usage: vectors OUT [TABLES]");
            return ExitCode::from(2);
        }
    };
    match tables.and_then(|tables| vectors::write(Path::new(out), &tables)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("vectors: {error}");
            ExitCode::FAILURE
        }
    }
}
