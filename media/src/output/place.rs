//! A place to write, `-` for standard output: checked before any work, written whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal, Stdout, Write};
use std::path::{Path, PathBuf};

use super::error::Error;
use super::promise::promised_format;
use super::replacement::{Replacement, Sync, folder_of};
use crate::is_standard;

/// The most links to follow, as on Linux.
const MAX_LINKS: usize = 40;

/// A writable place, checked before any work.
#[derive(Debug, Clone)]
pub struct Output {
    path: PathBuf,
    place: Place,
}

#[derive(Debug, Clone)]
enum Place {
    Standard,
    /// A pipe or a device: nothing to replace.
    Special,
    /// An existing or a new file, with all links followed.
    File(PathBuf),
}

impl Output {
    /// Checks that `path` can be written and is none of `inputs`.
    ///
    /// # Errors
    /// [`Error`] if it cannot be written, or is an input.
    pub fn new(path: &Path, inputs: &[&Path]) -> Result<Self, Error> {
        let at = |place| Ok(Self { path: path.to_owned(), place });
        if is_standard(path) {
            if io::stdout().is_terminal() {
                return Err(Error::Terminal);
            }
            check_open()?;
            return at(Place::Standard);
        }
        for input in inputs.iter().filter(|input| !is_standard(input)) {
            let same = matches!((input.canonicalize(), path.canonicalize()), (Ok(a), Ok(b)) if a == b);
            if same {
                return Err(Error::Input(path.to_owned()));
            }
        }
        let cannot = |source| Error::Io { path: path.to_owned(), source };
        let target = match fs::metadata(path) {
            Ok(data) if data.is_dir() => return Err(Error::Folder(path.to_owned())),
            Ok(data) if data.is_file() && data.permissions().readonly() => {
                return Err(Error::Protected(path.to_owned()));
            }
            Ok(data) if data.is_file() => path.canonicalize().map_err(cannot)?,
            Ok(_) => return at(Place::Special),
            Err(_) => behind_links(path)?,
        };
        if !names_a_file(&target) {
            return Err(Error::FolderName(path.to_owned()));
        }
        let folder = folder_of(&target);
        if !folder.is_dir() {
            return Err(Error::NoFolder(folder));
        }
        // A file without a name shows that the folder is writable, and leaves nothing.
        tempfile::tempfile_in(&folder).map_err(cannot)?;
        at(Place::File(target))
    }

    /// Checks the place of a PNG picture as [`Output::new`] does.
    ///
    /// # Errors
    /// As [`Output::new`]; [`Error::NotPng`] if the name promises another format.
    pub fn png(path: &Path, inputs: &[&Path]) -> Result<Self, Error> {
        if promised_format(path).is_some_and(|format| format != "png") {
            return Err(Error::NotPng(path.to_owned()));
        }
        Self::new(path, inputs)
    }

    /// Checks the place of a WAV file as [`Output::new`] does.
    ///
    /// # Errors
    /// As [`Output::new`]; [`Error::NotWav`] if the name promises another format.
    pub fn wav(path: &Path, inputs: &[&Path]) -> Result<Self, Error> {
        if promised_format(path).is_some_and(|format| format != "wav") {
            return Err(Error::NotWav(path.to_owned()));
        }
        Self::new(path, inputs)
    }

    /// Checks the place of a picture's stream, a stored video or a code as [`Output::new`] does.
    ///
    /// # Errors
    /// As [`Output::new`]; [`Error::NotStream`] if the name promises another format.
    pub fn stream(path: &Path, inputs: &[&Path]) -> Result<Self, Error> {
        if promised_format(path).is_some_and(|format| format != "nst") {
            return Err(Error::NotStream(path.to_owned()));
        }
        Self::new(path, inputs)
    }

    /// Checks the place of a recording as [`Output::stream`] does.
    ///
    /// # Errors
    /// As [`Output::stream`]; [`Error::Exists`] if there is a file.
    pub fn recording(path: &Path) -> Result<Self, Error> {
        let place = Self::stream(path, &[])?;
        if path.exists() { Err(Error::Exists(path.to_owned())) } else { Ok(place) }
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the place is standard output.
    #[must_use]
    pub const fn is_standard(&self) -> bool {
        matches!(self.place, Place::Standard)
    }

    /// Writes all bytes. The file appears, or replaces the old one, when all bytes are on the disk.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        self.write_with(bytes, Sync::Disk)
    }

    /// Writes all bytes and does not wait for the disk: frames arrive too fast for that, and the next one is as good.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write_frame(&self, bytes: &[u8]) -> Result<(), Error> {
        self.write_with(bytes, Sync::Nothing)
    }

    fn write_with(&self, bytes: &[u8], sync: Sync) -> Result<(), Error> {
        let mut pieces = self.begin()?;
        pieces.write_all(bytes).map_err(|error| pieces.explain(error))?;
        pieces.finish_with(sync)
    }

    /// Begins to write piece by piece. The file appears, or replaces the old one, when [`Pieces::finish`] has all
    /// pieces on the disk.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn begin(&self) -> Result<Pieces, Error> {
        let sink = match &self.place {
            Place::Standard => Ok(Sink::Standard(io::stdout())),
            Place::Special => OpenOptions::new().write(true).open(&self.path).map(Sink::Special),
            Place::File(target) => Replacement::begin(target).map(Sink::File),
        };
        let sink = sink.map_err(|error| self.explain(error))?;
        Ok(Pieces { output: self.clone(), sink })
    }

    /// Explains why a piece was not written.
    #[must_use]
    pub fn explain(&self, error: io::Error) -> Error {
        if self.is_standard() {
            return Error::of_standard(error);
        }
        Error::Io { path: self.path.clone(), source: error }
    }
}

/// An output that is being written; pass the errors of its `Write` to [`Pieces::explain`].
#[derive(Debug)]
pub struct Pieces {
    output: Output,
    sink: Sink,
}

#[derive(Debug)]
enum Sink {
    Standard(Stdout),
    Special(File),
    File(Replacement),
}

impl Pieces {
    /// Explains why a piece was not written.
    #[must_use]
    pub fn explain(&self, error: io::Error) -> Error {
        self.output.explain(error)
    }

    /// Returns whether [`Pieces::truncate`] cuts it: not standard output, a pipe or a device.
    #[must_use]
    pub const fn is_file(&self) -> bool {
        matches!(self.sink, Sink::File(_))
    }

    /// Cuts a file to its first `length` bytes. Standard output and devices stay as they are.
    ///
    /// # Errors
    /// [`Error`] if the file cannot be cut.
    pub fn truncate(&mut self, length: u64) -> Result<(), Error> {
        match &mut self.sink {
            Sink::File(replacement) => replacement.truncate(length).map_err(|error| self.output.explain(error)),
            Sink::Standard(_) | Sink::Special(_) => Ok(()),
        }
    }

    /// Ends the output.
    ///
    /// # Errors
    /// [`Error`] if the system cannot write it to the disk.
    pub fn finish(self) -> Result<(), Error> {
        self.finish_with(Sync::Disk)
    }

    fn finish_with(self, sync: Sync) -> Result<(), Error> {
        let finished = match self.sink {
            Sink::Standard(mut stdout) => stdout.flush(),
            Sink::Special(mut file) => file.flush(),
            Sink::File(replacement) => replacement.finish(sync),
        };
        finished.map_err(|error| self.output.explain(error))
    }
}

impl Write for Pieces {
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

/// Follows links to a file that need not exist. The links stay.
fn behind_links(path: &Path) -> Result<PathBuf, Error> {
    let mut target = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        let Ok(next) = fs::read_link(&target) else { return Ok(target) };
        target = folder_of(&target).join(next);
    }
    Err(Error::Circle(path.to_owned()))
}

/// Returns whether a path ends in a file's name: `out/`, `out/.` and `..` are names of folders.
fn names_a_file(path: &Path) -> bool {
    let text = path.as_os_str().as_encoded_bytes();
    path.file_name().is_some_and(|name| text.ends_with(name.as_encoded_bytes()))
}

/// Refuses a standard output that was closed before the process began: a result would be lost.
///
/// # Errors
/// [`Error::Closed`] if it was.
pub fn check_open() -> Result<(), Error> {
    if is_closed() { Err(Error::Closed) } else { Ok(()) }
}

/// Returns whether standard output was closed before the process began. In place of a closed stream Rust opens
/// `/dev/null` for reading and writing; shells open it for writing only.
#[cfg(unix)]
fn is_closed() -> bool {
    use rustix::fs::{OFlags, fcntl_getfl, fstat, stat};
    let stdout = io::stdout();
    let (Ok(flags), Ok(own), Ok(null)) = (fcntl_getfl(&stdout), fstat(&stdout), stat("/dev/null")) else {
        return false;
    };
    flags.contains(OFlags::RDWR) && own.st_rdev == null.st_rdev && own.st_mode == null.st_mode
}

#[cfg(not(unix))]
fn is_closed() -> bool {
    false
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

    #[test]
    fn a_folders_name_is_refused_where_there_is_none() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["new/", "new/.", "new//"] {
            let refused = Output::new(&folder.path().join(name), &[]).expect_err(name);
            assert!(matches!(refused, Error::FolderName(_)), "{refused}");
        }
        assert!(matches!(Output::new(Path::new(""), &[]), Err(Error::FolderName(_))));
        assert!(Output::new(&folder.path().join("new..."), &[]).is_ok());
        #[cfg(unix)]
        {
            let link = folder.path().join("link");
            std::os::unix::fs::symlink("new/", &link).expect("a link");
            assert!(matches!(Output::new(&link, &[]), Err(Error::FolderName(_))));
        }
    }

    #[test]
    fn a_stream_takes_no_name_of_another_format() {
        let folder = tempfile::tempdir().expect("a folder");
        let stream = |name: &str| Output::stream(&folder.path().join(name), &[]).map(drop);
        for name in ["a.nst", "a.nsc", "a", "a.b"] {
            stream(name).expect(name);
        }
        for name in ["a.png", "a.Y4M", "a.mp4"] {
            let refused = stream(name).expect_err(name).to_string();
            assert!(
                refused.ends_with(&format!("{name} would hold a stream: give it a name that ends in .nst")),
                "{refused}"
            );
        }
    }
}
