//! Files by name, where `-` is standard input or output, and what is said on standard output and error.

use std::fmt::Display;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom, StdinLock, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use nestcast_media::output::{Error, check_open};
use nestcast_media::{Kind, Replayed, Source};
use serde::Serialize;

pub(crate) use nestcast_media::output::{Output, end_without_temporary_files, is_standard};

/// A file that is read in parts, never further than is asked for: it may have no end.
pub(crate) struct Input<'a> {
    path: &'a Path,
    source: Source<Opened>,
}

impl<'a> Input<'a> {
    pub(crate) fn open(path: &'a Path) -> Result<Self> {
        let opened = if is_standard(path) {
            Opened::Standard(io::stdin().lock())
        } else {
            ensure!(!path.is_dir(), "{} is a folder: name a file in it", name(path));
            Opened::File(File::open(path).with_context(|| format!("{} cannot be read", name(path)))?)
        };
        Ok(Self { path, source: Source::new(opened) })
    }

    pub(crate) const fn path(&self) -> &'a Path {
        self.path
    }

    /// What messages call it.
    pub(crate) fn name(&self) -> String {
        name(self.path)
    }

    /// How many bytes it has, if that is known.
    pub(crate) fn length(&self) -> Option<u64> {
        let Opened::File(file) = self.source.reader() else { return None };
        file.metadata().ok().filter(Metadata::is_file).map(|data| data.len())
    }

    /// What it is, by its beginning.
    pub(crate) fn kind(&mut self) -> Result<Kind> {
        self.source.kind().with_context(|| format!("{} cannot be read", name(self.path)))
    }

    /// Reads on until there are `count` bytes in all, or the file ends. Gives all of them.
    pub(crate) fn read_to(&mut self, count: u64) -> Result<&[u8]> {
        self.source.read_to(count).with_context(|| format!("{} cannot be read", name(self.path)))
    }

    /// All of it, what was read so far included, for what reads within limits.
    pub(crate) fn into_source(self) -> Source<Opened> {
        self.source
    }

    /// All of it from its beginning.
    pub(crate) fn into_reader(self) -> Replayed<Opened> {
        self.source.into_reader()
    }
}

/// What a named file is, by its beginning.
pub(crate) fn kind(path: &Path) -> Result<Kind> {
    Input::open(path)?.kind()
}

/// Where bytes come from.
#[derive(Debug)]
pub(crate) enum Opened {
    Standard(StdinLock<'static>),
    File(File),
}

impl Read for Opened {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Standard(stdin) => stdin.read(bytes),
            Self::File(file) => file.read(bytes),
        }
    }
}

impl Seek for Opened {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Standard(_) => Err(io::ErrorKind::Unsupported.into()),
            Self::File(file) => file.seek(to),
        }
    }
}

/// A place for a command's result, which is none of its inputs.
pub(crate) fn output<'a>(path: &'a Path, inputs: &[&Path]) -> Result<Output<'a>> {
    Output::new(path, inputs).map_err(advise)
}

/// Adds which option helps.
fn advise(error: Error) -> anyhow::Error {
    let advice = match error {
        Error::Terminal => "name a file with -o",
        Error::Closed => "name a file with -o, or redirect it",
        _ => return error.into(),
    };
    anyhow::anyhow!("{error}: {advice}")
}

/// Ends a command that wrote its result: tells programs what was made of what, or people where standard output is free.
pub(crate) fn conclude(output: &Output<'_>, json: bool, summary: &(impl Serialize + Display)) -> Result<()> {
    if json {
        return Lines::beside(output.path()).print_pretty(summary);
    }
    say_beside(output, &summary.to_string())
}

/// Tells people what was written where standard output is free.
pub(crate) fn say_beside(output: &Output<'_>, text: &str) -> Result<()> {
    if output.is_standard() { Ok(()) } else { print(text) }
}

/// What messages call a file.
pub(crate) fn name(path: &Path) -> String {
    if is_standard(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// Writes to standard output what a command has to say besides its result; that its reader has gone is an error, not
/// a panic.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut output = io::stdout().lock();
    Ok(output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(Error::of_standard)?)
}

/// Writes a result to standard output, which must be open.
pub(crate) fn print_result(text: &str) -> Result<()> {
    check_open().map_err(advise)?;
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
}
