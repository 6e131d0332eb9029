//! Opens a file by its name, or standard input as `-`, and recognises it before it is read.

mod contents;
mod error;

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom, Stdin};
use std::path::Path;

pub use error::{InputError, Refusal};

use crate::{Kind, PeekedInput, Replayed};

/// A file or standard input. It reads no further than you ask, because the input may have no end.
///
/// ```
/// use nestcast_media::{Input, Kind};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("clip.y4m");
/// # std::fs::write(&path, "YUV4MPEG2 W2 H1 F25:1 Cmono\nFRAME\nab")?;
/// let mut input = Input::open(&path)?;
/// assert_eq!(input.kind()?, Kind::Y4m); // reads the first bytes, and returns them again later
/// let mut video = input.y4m("..".parse()?, 1_000_000)?; // an error would name the file
/// let mut picture = video.picture();
/// assert!(video.read_into(&mut picture)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Input<'a> {
    path: &'a Path,
    source: PeekedInput<Opened>,
}

/// The source of an [`Input`]'s bytes. It can seek if it is a file.
#[derive(Debug)]
pub struct Opened(Place);

#[derive(Debug)]
enum Place {
    Standard(Stdin),
    File(File),
}

impl<'a> Input<'a> {
    /// Opens a file, or standard input.
    ///
    /// # Errors
    /// [`InputError`] if the path is a folder's, or the system cannot open it.
    pub fn open(path: &'a Path) -> Result<Self, InputError> {
        let place = if is_standard(path) {
            Place::Standard(io::stdin())
        } else {
            if path.is_dir() {
                return Err(InputError::Folder(path.to_owned()));
            }
            Place::File(File::open(path).map_err(|source| InputError::Io { name: Self::name_of(path), source })?)
        };
        Ok(Self { path, source: PeekedInput::new(Opened(place)) })
    }

    /// Recognises a named file by its first bytes.
    ///
    /// # Errors
    /// As [`open`](Self::open) and [`kind`](Self::kind).
    pub fn kind_of(path: &Path) -> Result<Kind, InputError> {
        Input::open(path)?.kind()
    }

    /// Returns the name of a file in messages.
    #[must_use]
    pub fn name_of(path: &Path) -> String {
        if is_standard(path) { "standard input".to_owned() } else { path.display().to_string() }
    }

    /// Returns the name of a file in lists, without its folders.
    #[must_use]
    pub fn short_name_of(path: &Path) -> String {
        let name = path.file_name().filter(|_| !is_standard(path));
        name.map_or_else(|| Self::name_of(path), |name| name.to_string_lossy().into_owned())
    }

    /// Returns the name of a file in lists, with its folders where another of the list has the same name without them.
    #[must_use]
    pub fn distinct_name_of(path: &Path, all: &[&Path]) -> String {
        let short = Self::short_name_of(path);
        let alike = all.iter().filter(|other| Self::short_name_of(other) == short).count();
        if alike > 1 { Self::name_of(path) } else { short }
    }

    /// Returns the path that was opened.
    #[must_use]
    pub const fn path(&self) -> &'a Path {
        self.path
    }

    /// Returns the input's name in messages.
    #[must_use]
    pub fn name(&self) -> String {
        Self::name_of(self.path)
    }

    /// Returns the length in bytes, if the input is a file.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        let Place::File(file) = &self.source.reader().0 else { return None };
        file.metadata().ok().filter(Metadata::is_file).map(|data| data.len())
    }

    /// Recognises the input by its first bytes.
    ///
    /// # Errors
    /// Those of the system.
    pub fn kind(&mut self) -> Result<Kind, InputError> {
        self.source.kind().map_err(|source| InputError::Io { name: Self::name_of(self.path), source })
    }

    /// Reads until there are `count` bytes in all, or the input ends. Returns all of them.
    ///
    /// # Errors
    /// Those of the system.
    pub fn read_to(&mut self, count: u64) -> Result<&[u8], InputError> {
        self.source.read_to(count).map_err(|source| InputError::Io { name: Self::name_of(self.path), source })
    }

    /// Returns the whole input from its beginning.
    #[must_use]
    pub fn into_reader(self) -> Replayed<Opened> {
        self.source.into_reader()
    }
}

impl Read for Opened {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Place::Standard(stdin) => stdin.read(bytes),
            Place::File(file) => file.read(bytes),
        }
    }
}

impl Seek for Opened {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.0 {
            Place::Standard(_) => Err(io::ErrorKind::Unsupported.into()),
            Place::File(file) => file.seek(to),
        }
    }
}

/// Returns whether a name means standard input or output.
#[must_use]
pub fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_and_a_folder_and_what_is_not_there_are_refused_by_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("video");
        std::fs::write(&path, b"YUV4MPEG2 and more").expect("a file");
        let mut input = Input::open(&path).expect("it is there");
        assert_eq!((input.length(), input.kind().expect("readable")), (Some(18), Kind::Y4m));
        assert_eq!(io::read_to_string(input.into_reader()).expect("text"), "YUV4MPEG2 and more");
        let refusal = |path: &Path| Input::open(path).expect_err("it is no file").to_string();
        assert!(refusal(folder.path()).ends_with(" is a folder: name a file in it"));
        assert!(refusal(&folder.path().join("absent")).ends_with("absent cannot be read"));
        assert_eq!(["-", "a/b"].map(|path| Input::name_of(Path::new(path))), ["standard input", "a/b"]);
        assert_eq!(["-", "a/b"].map(|path| Input::short_name_of(Path::new(path))), ["standard input", "b"]);
    }
}
