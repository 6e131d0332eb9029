//! Where a command writes: checked before any work is done, written whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal, StdoutLock, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::replace::{Replacement, Sync, folder_of};
use super::{ensure_open, is_standard, standard_failed};

/// Most links that lead from one to the next, as on Linux.
const MAX_LINKS: usize = 40;

/// A place that can be written, checked before any work is done.
#[derive(Debug)]
pub(crate) struct Output<'a> {
    path: &'a Path,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Standard,
    /// A pipe or a device: nothing to replace.
    Special,
    /// A file that is there or will be, behind all links to it.
    File(PathBuf),
}

impl<'a> Output<'a> {
    /// Checks that `path` can be written and is none of `inputs`.
    pub(crate) fn new(path: &'a Path, inputs: &[&Path]) -> Result<Self> {
        if is_standard(path) {
            let what = "standard output is a terminal, which cannot show this: name a file with -o";
            ensure!(!io::stdout().is_terminal(), what);
            ensure_open()?;
            return Ok(Self { path, place: Place::Standard });
        }
        for input in inputs.iter().filter(|input| !is_standard(input)) {
            let same = matches!((input.canonicalize(), path.canonicalize()), (Ok(a), Ok(b)) if a == b);
            ensure!(!same, "{} is the input: name another file to write", path.display());
        }
        let cannot = || format!("{} cannot be written", path.display());
        let target = match fs::metadata(path) {
            Ok(data) if data.is_dir() => bail!("{} is a folder: name a file to write", path.display()),
            Ok(data) if data.is_file() => {
                ensure!(!data.permissions().readonly(), "{}: it is write-protected", cannot());
                path.canonicalize().with_context(cannot)?
            }
            Ok(_) => return Ok(Self { path, place: Place::Special }),
            Err(_) => behind_links(path)?,
        };
        let folder = folder_of(&target);
        ensure!(folder.is_dir(), "the folder {} does not exist: create it or write elsewhere", folder.display());
        // A file without a name takes a folder that may be written, and leaves nothing.
        tempfile::tempfile_in(&folder).with_context(cannot)?;
        Ok(Self { path, place: Place::File(target) })
    }

    pub(crate) const fn is_standard(&self) -> bool {
        matches!(self.place, Place::Standard)
    }

    /// Writes all bytes. A file appears, or is replaced, only once all of them are on the disk.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<()> {
        self.write_with(bytes, Sync::Disk)
    }

    /// The same but for the disk: for frames, which come too fast to wait for it and of which the next is as good.
    pub(crate) fn write_frame(&self, bytes: &[u8]) -> Result<()> {
        self.write_with(bytes, Sync::Nothing)
    }

    fn write_with(&self, bytes: &[u8], sync: Sync) -> Result<()> {
        let mut pieces = self.begin()?;
        pieces.write_all(bytes).map_err(|error| self.explain(error))?;
        pieces.finish_with(sync)
    }

    /// Begins to write piece by piece. A file appears, or is replaced, only once [`Pieces::finish`] has all of them on the
    /// disk.
    pub(crate) fn begin(&self) -> Result<Pieces<'_>> {
        let sink = match &self.place {
            Place::Standard => Ok(Sink::Standard(io::stdout().lock())),
            Place::Special => OpenOptions::new().write(true).open(self.path).map(Sink::Special),
            Place::File(target) => Replacement::begin(target).map(Sink::File),
        };
        Ok(Pieces { output: self, sink: sink.map_err(|error| self.explain(error))? })
    }

    /// Why a piece was not written.
    pub(crate) fn explain(&self, error: io::Error) -> anyhow::Error {
        if self.is_standard() {
            return standard_failed(error);
        }
        anyhow::Error::from(error).context(format!("{} cannot be written", self.path.display()))
    }
}

/// An output while it is written; the errors of its `Write` are for [`Output::explain`].
#[derive(Debug)]
pub(crate) struct Pieces<'a> {
    output: &'a Output<'a>,
    sink: Sink,
}

#[derive(Debug)]
enum Sink {
    Standard(StdoutLock<'static>),
    Special(File),
    File(Replacement),
}

impl Pieces<'_> {
    /// All pieces are there.
    pub(crate) fn finish(self) -> Result<()> {
        self.finish_with(Sync::Disk)
    }

    fn finish_with(self, sync: Sync) -> Result<()> {
        let finished = match self.sink {
            Sink::Standard(mut stdout) => stdout.flush(),
            Sink::Special(mut file) => file.flush(),
            Sink::File(replacement) => replacement.finish(sync),
        };
        finished.map_err(|error| self.output.explain(error))
    }
}

impl Write for Pieces<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Standard(stdout) => stdout.write(bytes),
            Sink::Special(file) => file.write(bytes),
            Sink::File(replacement) => replacement.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Standard(stdout) => stdout.flush(),
            Sink::Special(file) => file.flush(),
            Sink::File(replacement) => replacement.flush(),
        }
    }
}

/// What a link leads to, although nothing is there yet: the link stays.
fn behind_links(path: &Path) -> Result<PathBuf> {
    let mut target = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        let Ok(next) = fs::read_link(&target) else { return Ok(target) };
        target = folder_of(&target).join(next);
    }
    bail!("{} cannot be written: its links lead in a circle", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out");
        for bytes in [&b"first"[..], b"second"] {
            let output = Output::new(&path, &[]).expect("writable");
            output.write(bytes).expect("written");
            assert_eq!(fs::read(&path).expect("readable"), bytes);
        }
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
        assert!(Output::new(&path, &[&path]).is_err());
        assert!(Output::new(folder.path(), &[]).is_err());
        assert!(Output::new(&folder.path().join("none").join("out"), &[]).is_err());
    }
}
