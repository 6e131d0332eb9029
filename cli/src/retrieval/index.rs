//! `nestcast index`: a folder's pictures to an index.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::{fmt, thread};

use anyhow::{Context, Result, ensure};
use nestcast_lab::progress::Progress;
use nestcast_media::picture;
use nestcast_retrieval::Builder;
use serde::Serialize;

use super::{Coder, advise, printable};
use crate::args::Index;
use crate::files;

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
    let output = files::output(&options.output, &inputs)?;
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
        pieces.write_all(piece).map_err(|error| anyhow::Error::from(output.explain(error)))
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
    files::conclude(&output, options.json, &summary)
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { output, pictures, left_out, bits, bytes, model, model_id, .. } = self;
        let left_out = if *left_out > 0 { format!(", {left_out} left out") } else { String::new() };
        writeln!(
            f,
            "{output}: {pictures} pictures{left_out}, {bits} bits each, {bytes} bytes, model {model} ({model_id})"
        )
    }
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

/// The files of a folder, and of the folders in it, that are pictures or streams by their extension.
fn pictures_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let is_stream = |path: &Path| path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(STREAM));
    let found = picture::below(folder, is_stream);
    let found = found.map_err(|(folder, error)| {
        anyhow::Error::from(error).context(format!("the folder {} cannot be read", folder.display()))
    })?;
    ensure!(!found.is_empty(), "the folder {} holds no PNG, JPEG or .nst pictures: name another", folder.display());
    Ok(found)
}
