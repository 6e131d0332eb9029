//! Files by name, where `-` is standard input or output, and what is said on standard output and error.

mod output;
mod replace;
mod signals;

use std::fs::{self, File, Metadata};
use std::io::{self, Cursor, Read, Seek, SeekFrom, StdinLock, Write};
use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use serde::Serialize;

pub(crate) use output::{Output, Pieces};
pub(crate) use signals::end_without_temporary_files;

/// A file that is read in parts, never further than is asked for: it may have no end.
pub(crate) struct Input<'a, R = Source> {
    path: &'a Path,
    reader: R,
    bytes: Vec<u8>,
}

impl<'a> Input<'a> {
    pub(crate) fn open(path: &'a Path) -> Result<Self> {
        let reader = if is_standard(path) {
            Source::Standard(io::stdin().lock())
        } else {
            ensure!(!path.is_dir(), "{} is a folder: name a file in it", name(path));
            Source::File(File::open(path).with_context(|| format!("{} cannot be read", name(path)))?)
        };
        Ok(Self { path, reader, bytes: Vec::new() })
    }

    /// Its name.
    pub(crate) const fn path(&self) -> &'a Path {
        self.path
    }

    /// How many bytes it has, if that is known.
    pub(crate) fn length(&self) -> Option<u64> {
        let Source::File(file) = &self.reader else { return None };
        file.metadata().ok().filter(Metadata::is_file).map(|data| data.len())
    }

    /// All of it from its beginning, what was read so far included.
    pub(crate) fn into_source(self) -> Replayed {
        Replayed { start: Cursor::new(self.bytes), source: self.reader }
    }
}

impl<R: Read> Input<'_, R> {
    /// Reads on until there are `count` bytes in all, or the file ends. Gives all of them.
    pub(crate) fn read_to(&mut self, count: u64) -> Result<&[u8]> {
        let more = count.saturating_sub(self.bytes.len() as u64);
        let read = self.reader.by_ref().take(more).read_to_end(&mut self.bytes);
        read.with_context(|| format!("{} cannot be read", name(self.path)))?;
        Ok(&self.bytes)
    }

    /// All that was read.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Where bytes come from.
#[derive(Debug)]
pub(crate) enum Source {
    Standard(StdinLock<'static>),
    File(File),
}

impl Read for Source {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Standard(stdin) => stdin.read(bytes),
            Self::File(file) => file.read(bytes),
        }
    }
}

/// A source of which the beginning was read before. It seeks where it is a file.
#[derive(Debug)]
pub(crate) struct Replayed {
    start: Cursor<Vec<u8>>,
    source: Source,
}

impl Read for Replayed {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.start.read(bytes)?;
        if count > 0 { Ok(count) } else { self.source.read(bytes) }
    }
}

impl Seek for Replayed {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let Source::File(file) = &mut self.source else { return Err(io::ErrorKind::Unsupported.into()) };
        let left = self.start.get_ref().len() as u64 - self.start.position();
        let at = match to {
            SeekFrom::Current(by) => {
                let here = file.stream_position()?.saturating_sub(left);
                file.seek(SeekFrom::Start(here.saturating_add_signed(by)))?
            }
            to => file.seek(to)?,
        };
        self.start = Cursor::new(Vec::new());
        Ok(at)
    }
}

/// Whether a name means standard input or output.
pub(crate) fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// What messages call a file.
pub(crate) fn name(path: &Path) -> String {
    if is_standard(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// Writes to standard output what a command has to say besides its result; that its reader has gone is an error, not
/// a panic.
pub(crate) fn print(text: &str) -> Result<()> {
    print_bytes(text.as_bytes())
}

/// Writes a result to standard output, which must be open.
pub(crate) fn print_result(text: &str) -> Result<()> {
    ensure_open()?;
    print(text)
}

/// Where `--json` writes: to standard output, or to standard error where standard output takes the command's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lines {
    Output,
    Error,
}

impl Lines {
    /// For a command that writes its result to `output`.
    pub(crate) fn beside(output: &Path) -> Self {
        if is_standard(output) { Self::Error } else { Self::Output }
    }

    /// Writes one line.
    pub(crate) fn print(self, value: &impl Serialize) -> Result<()> {
        self.write(serde_json::to_string(value).context("the JSON cannot be made")?)
    }

    /// Writes a value over several lines.
    pub(crate) fn print_pretty(self, value: &impl Serialize) -> Result<()> {
        self.write(serde_json::to_string_pretty(value).context("the JSON cannot be made")?)
    }

    fn write(self, mut text: String) -> Result<()> {
        text.push('\n');
        match self {
            Self::Output => print_result(&text),
            Self::Error => io::stderr().write_all(text.as_bytes()).context("standard error cannot be written"),
        }
    }
}

/// Refuses to lose a result in a standard output that was closed before the program began.
fn ensure_open() -> Result<()> {
    ensure!(!is_closed(), "standard output is closed: name a file with -o, or redirect it");
    Ok(())
}

/// Rust opens `/dev/null` in place of a closed standard stream, to read and to write; shells open it to write only.
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

fn print_bytes(bytes: &[u8]) -> Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(bytes).and_then(|()| output.flush()).map_err(standard_failed)
}

/// Why standard output was not written.
pub(crate) fn standard_failed(error: io::Error) -> anyhow::Error {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return anyhow!("what reads standard output has closed it");
    }
    anyhow::Error::from(error).context("standard output cannot be written")
}

/// Makes a folder for pictures, or takes one that is empty.
pub(crate) fn begin_folder(folder: &Path) -> Result<()> {
    let failed = || format!("{} cannot be written", folder.display());
    ensure!(folder.is_dir() || !folder.exists(), "{} is not a folder: name a new one, or `-`", folder.display());
    fs::create_dir_all(folder).with_context(failed)?;
    let empty = fs::read_dir(folder).with_context(failed)?.next().is_none();
    ensure!(empty, "{} is not empty: name a new folder", folder.display());
    Ok(())
}

/// Says on standard error what the user should know although all went well.
pub(crate) fn note(text: &str) {
    // If nobody listens, there is nobody to tell.
    let _ = writeln!(io::stderr(), "nestcast: note: {text}");
}

/// Says on standard error, in one line, why the command failed.
pub(crate) fn complain(error: &anyhow::Error) {
    let _ = writeln!(io::stderr(), "nestcast: {}", one_line(&format!("{error:#}")));
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_becomes_one_line() {
        assert_eq!(one_line("a:\n  b\r\n"), "a: b");
    }

    #[test]
    fn pictures_go_into_a_folder_of_their_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let refusal = |name: &str| begin_folder(&folder.path().join(name)).expect_err("not for pictures").to_string();
        begin_folder(&folder.path().join("a/b")).expect("a new folder");
        assert!(refusal("a").ends_with("a is not empty: name a new folder"));
        fs::write(folder.path().join("file"), "").expect("a file");
        assert!(refusal("file").ends_with("file is not a folder: name a new one, or `-`"));
    }

    #[test]
    fn no_more_is_read_than_asked_for() {
        let mut input = Input { path: Path::new("endless"), reader: io::repeat(0), bytes: Vec::new() };
        for (count, length) in [(16, 16), (7, 16), (1000, 1000)] {
            assert_eq!(input.read_to(count).expect("readable").len(), length);
        }
        assert_eq!(input.into_bytes(), [0; 1000]);
    }
}
