//! `nestcast index`: a folder's pictures to an index.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::{fs, thread};

use anyhow::{Context, Result, ensure};
use nestcast_lab::progress::Progress;
use nestcast_media::picture::is_named_as_one;
use nestcast_retrieval::Builder;
use serde::Serialize;

use super::{Coder, advise, printable};
use crate::args::Index;
use crate::files::{self, Lines, Output};

/// The extension of what is indexed besides pictures.
const STREAM: &str = "nst";

/// What was made of what; `--json` prints it as it is.
#[derive(Debug, Serialize)]
struct Summary {
    folder: String,
    output: String,
    /// Pictures in the index.
    pictures: usize,
    /// Pictures that could not be read.
    left_out: usize,
    bits: usize,
    bytes: u64,
    model: String,
    model_id: String,
}

pub(crate) fn run(options: &Index) -> Result<()> {
    let pictures = pictures_below(&options.folder)?;
    let inputs: Vec<_> = pictures.iter().map(PathBuf::as_path).collect();
    let output = Output::new(&options.output, &inputs)?;
    let coder = Coder::open(&options.codes, options.threads())?;
    let codes = codes_of(&pictures, &coder, options.threads())?;

    let mut builder = Builder::new(coder.model(), coder.package.bits()).map_err(advise)?;
    for (code, name) in &codes {
        builder.push(code, name.as_bytes()).map_err(advise)?;
    }
    let mut bytes = 0;
    let mut pieces = output.begin()?;
    builder.write(|piece| {
        bytes += piece.len() as u64;
        pieces.write_all(piece).map_err(|error| output.explain(error))
    })?;
    pieces.finish()?;

    let summary = Summary {
        folder: options.folder.display().to_string(),
        output: options.output.display().to_string(),
        pictures: codes.len(),
        left_out: pictures.len() - codes.len(),
        bits: coder.package.bits(),
        bytes,
        model: coder.package.name().to_owned(),
        model_id: coder.model().to_string(),
    };
    if options.json {
        return Lines::beside(&options.output).print_pretty(&summary);
    }
    if output.is_standard() {
        return Ok(());
    }
    let Summary { output, pictures, left_out, bits, model, model_id, .. } = summary;
    let left_out = if left_out > 0 { format!(", {left_out} left out") } else { String::new() };
    files::print(&format!(
        "{output}: {pictures} pictures{left_out}, {bits} bits each, {bytes} bytes, model {model} ({model_id})\n"
    ))
}

/// A picture's code, and its name.
type Coded = (Vec<u8>, String);

/// The codes of all pictures that can be read. Those that cannot are named on standard error.
fn codes_of(pictures: &[PathBuf], coder: &Coder, threads: usize) -> Result<Vec<Coded>> {
    let progress = Progress::of("indexing", Some(pictures.len() as u64));
    let (next, codes) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(pictures.len())));
    let work = || {
        while let Some(path) = pictures.get(next.fetch_add(1, Relaxed)) {
            match named(path).and_then(|name| Ok((coder.code(path)?, name))) {
                Ok(coded) => codes.lock().unwrap_or_else(PoisonError::into_inner).push(coded),
                Err(error) => progress.suspend(|| files::note(&printable(&format!("left out: {error:#}")))),
            }
            progress.step();
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads.min(pictures.len()) {
            scope.spawn(work);
        }
    });
    drop(progress);
    let codes = codes.into_inner().unwrap_or_else(PoisonError::into_inner);
    ensure!(!codes.is_empty(), "none of the {} pictures can be read: nothing is written", pictures.len());
    Ok(codes)
}

/// The name that the index has for a file: with slashes on every system.
fn named(path: &Path) -> Result<String> {
    let name = path.to_str().with_context(|| format!("{} is not UTF-8: rename it", path.display()))?;
    Ok(if cfg!(windows) { name.replace('\\', "/") } else { name.to_owned() })
}

/// Whether it is a file, or none that is there: who reads it says so. A pipe would be waited for without end.
fn may_be_read(path: &Path) -> bool {
    fs::metadata(path).map_or(true, |data| data.is_file())
}

/// The files of a folder, and of the folders in it, that are pictures by their extension. Links to folders are not followed:
/// they may lead in a circle.
fn pictures_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let (mut folders, mut found) = (vec![folder.to_path_buf()], Vec::new());
    while let Some(folder) = folders.pop() {
        let unreadable = || format!("the folder {} cannot be read", folder.display());
        for entry in fs::read_dir(&folder).with_context(unreadable)? {
            let entry = entry.with_context(unreadable)?;
            let path = entry.path();
            let is_stream = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(STREAM));
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if (is_stream || is_named_as_one(&path)) && may_be_read(&path) {
                found.push(path);
            }
        }
    }
    ensure!(!found.is_empty(), "the folder {} holds no PNG, JPEG or .nst pictures: name another", folder.display());
    found.sort();
    Ok(found)
}
