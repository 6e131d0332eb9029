//! An index of the codes of a folder's pictures.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context as _, Error, Result, ensure};
use nestcast_media::picture;
use nestcast_retrieval::Builder;
use serde::Serialize;

use super::Coder;
use crate::encoded::Names;
use crate::progress::Progress;

/// The extension of streams, which are indexed in addition to pictures.
const STREAM_EXTENSION: &str = "nst";

/// The contents of an index: a line for people, and figures for programs.
#[derive(Debug, Serialize)]
pub struct Summary {
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

impl Summary {
    /// Describes an index of `bytes` with `pictures` pictures of a folder, without the `left_out` that could not be
    /// read.
    #[must_use]
    pub fn new(names: Names, coder: &Coder, pictures: usize, left_out: usize, bytes: u64) -> Self {
        let Names { input: folder, output } = names;
        let package = coder.package();
        let model_id = coder.model().to_string();
        let bits = package.bits();
        let model = package.name().to_owned();
        Self { folder, output, pictures, left_out, bits, bytes, model, model_id }
    }
}

impl Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { output, pictures, left_out, bits, bytes, model, model_id, .. } = self;
        let left_out = if *left_out > 0 { format!(", {left_out} left out") } else { String::new() };
        let s = if *pictures == 1 { "" } else { "s" };
        writeln!(
            f,
            "{output}: {pictures} picture{s}{left_out}, {bits} bits each, {bytes} bytes, model {model} ({model_id})"
        )
    }
}

/// Returns the files of a folder and its subfolders that are pictures or streams by their extension.
///
/// # Errors
/// If a folder cannot be read, or there are no such files.
pub fn pictures_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let is_stream =
        |path: &Path| path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(STREAM_EXTENSION));
    let found = picture::below(folder, is_stream);
    let found = found.map_err(|(folder, error)| {
        Error::new(error).context(format!("the folder {} cannot be read", folder.display()))
    })?;
    ensure!(
        !found.is_empty(),
        "the folder {} contains no pictures and no .nst streams: name another",
        folder.display()
    );
    Ok(found)
}

/// Makes the codes of all readable pictures, with their names, on `threads` threads, and returns their number. Calls
/// `left_out` with the reason for each picture that cannot be read.
///
/// # Errors
/// If no picture can be read, or there are too many.
pub fn index(
    coder: &Coder,
    pictures: &[PathBuf],
    threads: usize,
    left_out: impl Fn(&Error) + Sync,
) -> Result<(Builder, usize)> {
    let progress = Progress::of("indexing", Some(pictures.len() as u64));
    let mut builder = Builder::new(coder.model(), coder.package().bits())?;
    let next = AtomicUsize::new(0);
    let codes = Mutex::new(Vec::with_capacity(pictures.len()));
    let work = || {
        while let Some(path) = pictures.get(next.fetch_add(1, Relaxed)) {
            match named(path).and_then(|name| Ok((coder.code(path)?, name))) {
                Ok(coded) => codes.lock().unwrap_or_else(PoisonError::into_inner).push(coded),
                Err(error) => progress.suspend(|| left_out(&error)),
            }
            progress.step();
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads.min(pictures.len()) {
            scope.spawn(work);
        }
    });
    let codes = codes.into_inner().unwrap_or_else(PoisonError::into_inner);
    ensure!(!codes.is_empty(), "none of the {} pictures can be read: nothing is written", pictures.len());
    for (code, name) in &codes {
        builder.push(code, name.as_bytes())?;
    }
    Ok((builder, codes.len()))
}

/// Returns the index's name of a file: with slashes on every system.
fn named(path: &Path) -> Result<String> {
    let name = path.to_str().with_context(|| format!("{} is not UTF-8: rename it", path.display()))?;
    Ok(if cfg!(windows) { name.replace('\\', "/") } else { name.to_owned() })
}
