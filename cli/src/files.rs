//! Files by name, where `-` is standard input or output: whole reads, writes that happen whole or not at all.

use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;

/// A file that is read in parts, never further than is asked for: it may have no end.
pub(crate) struct Input<'a> {
    path: &'a Path,
    reader: Box<dyn Read>,
    bytes: Vec<u8>,
}

impl<'a> Input<'a> {
    pub(crate) fn open(path: &'a Path) -> Result<Self> {
        let reader: Box<dyn Read> = if is_standard(path) {
            Box::new(io::stdin().lock())
        } else {
            Box::new(File::open(path).with_context(|| format!("{} cannot be read", name(path)))?)
        };
        Ok(Self { path, reader, bytes: Vec::new() })
    }

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

/// A place that can be written, checked before any work is done.
#[derive(Debug)]
pub(crate) struct Output<'a> {
    path: &'a Path,
}

impl<'a> Output<'a> {
    /// Checks that `path` can be written and is none of `inputs`.
    pub(crate) fn new(path: &'a Path, inputs: &[&Path]) -> Result<Self> {
        if is_standard(path) {
            let what = "standard output is a terminal, which cannot show this: name a file with -o";
            ensure!(!io::stdout().is_terminal(), what);
            return Ok(Self { path });
        }
        ensure!(!path.is_dir(), "{} is a folder: name a file to write", path.display());
        let folder = folder_of(path);
        ensure!(folder.is_dir(), "the folder {} does not exist: create it or write elsewhere", folder.display());
        for input in inputs.iter().filter(|input| !is_standard(input)) {
            let same = matches!((input.canonicalize(), path.canonicalize()), (Ok(a), Ok(b)) if a == b);
            ensure!(!same, "{} is the input: name another file to write", path.display());
        }
        Ok(Self { path })
    }

    pub(crate) fn is_standard(&self) -> bool {
        is_standard(self.path)
    }

    /// Writes all bytes. A file appears, or is replaced, only once all of them are there.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<()> {
        if self.is_standard() {
            return print_bytes(bytes);
        }
        let name = || format!("{} cannot be written", self.path.display());
        // Through a link to what it points at, so that the link stays.
        let target = self.path.canonicalize().unwrap_or_else(|_| self.path.to_path_buf());
        match fs::metadata(&target) {
            // A pipe or a device is no file to replace.
            Ok(data) if !data.is_file() => {
                let file = fs::OpenOptions::new().write(true).open(&target);
                file.and_then(|mut file| file.write_all(bytes)).with_context(name)
            }
            Ok(data) => replace(&target, bytes, Some(data.permissions())).with_context(name),
            Err(_) => replace(&target, bytes, None).with_context(name),
        }
    }
}

/// Writes a new file beside `target` and renames it.
fn replace(target: &Path, bytes: &[u8], like: Option<fs::Permissions>) -> io::Result<()> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".nestcast-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder_of(target))?;
    file.write_all(bytes)?;
    if let Some(permissions) = like {
        ensure_writable(&permissions)?;
        file.as_file().set_permissions(permissions)?;
    }
    file.persist(target).map_err(|error| error.error)?;
    Ok(())
}

/// A rename would replace a file that its owner protected from writing.
fn ensure_writable(permissions: &fs::Permissions) -> io::Result<()> {
    if permissions.readonly() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is write-protected"));
    }
    Ok(())
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
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

/// Writes to standard output; that its reader has gone is an error, not a panic.
pub(crate) fn print(text: &str) -> Result<()> {
    print_bytes(text.as_bytes())
}

/// Writes what `--json` asks for to standard output.
pub(crate) fn print_json(value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value).context("the JSON cannot be made")?;
    print(&(text + "\n"))
}

fn print_bytes(bytes: &[u8]) -> Result<()> {
    let mut output = io::stdout().lock();
    match output.write_all(bytes).and_then(|()| output.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            bail!("what reads standard output closed it too early")
        }
        Err(error) => Err(error).context("standard output cannot be written"),
    }
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
    fn no_more_is_read_than_asked_for() {
        let reader = Box::new(io::repeat(0));
        let mut input = Input { path: Path::new("endless"), reader, bytes: Vec::new() };
        for (count, length) in [(16, 16), (7, 16), (1000, 1000)] {
            assert_eq!(input.read_to(count).expect("readable").len(), length);
        }
        assert_eq!(input.into_bytes(), [0; 1000]);
    }

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
