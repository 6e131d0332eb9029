//! A folder's pictures as an index of their codes.

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

/// The extension of what is indexed besides pictures.
const STREAM: &str = "nst";

/// What an index was made of: a line for people, and figures for programs.
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
    /// An index of so many bytes that holds so many pictures of a folder, others being left out.
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

/// The files of a folder, and of the folders in it, that are pictures or streams by their extension.
///
/// # Errors
/// If a folder cannot be read, or there are none.
pub fn pictures_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let is_stream = |path: &Path| path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(STREAM));
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

/// The codes of all pictures that can be read, by their names, made on so many threads; and how many there are. `left_out` is told
/// why one cannot.
///
/// # Errors
/// If not one can be read, or they are too many.
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

/// The name that the index has for a file: with slashes on every system.
fn named(path: &Path) -> Result<String> {
    let name = path.to_str().with_context(|| format!("{} is not UTF-8: rename it", path.display()))?;
    Ok(if cfg!(windows) { name.replace('\\', "/") } else { name.to_owned() })
}
