//! Writes numbered PNG pictures to a folder, each whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use nestcast_codec::{Display, Picture};

use super::{Error, Output, interpolation};
use crate::picture::encode_png;

/// A folder of pictures: `frame-00000000.png` and so on.
///
/// ```
/// use nestcast_codec::{Channels, Picture, Size};
/// use nestcast_media::output::PictureFolder;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("frames");
/// let folder = PictureFolder::begin(&path)?; // a new folder, or an empty one
/// folder.put(7, &Picture::new(Size::new(4, 2)?, Channels::Grey, vec![9; 8])?)?;
/// assert!(path.join("frame-00000007.png").is_file() && PictureFolder::begin(&path).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct PictureFolder(PathBuf);

impl PictureFolder {
    /// Checks that a folder is empty or does not exist.
    ///
    /// # Errors
    /// [`Error`] if the path is no folder, the folder is not empty, or it cannot be read.
    pub fn check(path: &Path) -> Result<(), Error> {
        if !path.exists() {
            return Ok(());
        }
        if !path.is_dir() {
            return Err(Error::NotAFolder(path.to_owned()));
        }
        let mut entries = fs::read_dir(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
        if entries.next().is_some() { Err(Error::NotEmpty(path.to_owned())) } else { Ok(()) }
    }

    /// Creates a folder with its parents, or uses an empty one.
    ///
    /// # Errors
    /// As [`PictureFolder::check`]; [`Error::Io`] if the folder cannot be created.
    pub fn begin(path: &Path) -> Result<Self, Error> {
        Self::check(path)?;
        fs::create_dir_all(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
        Ok(Self(path.to_owned()))
    }

    /// Writes the picture of frame `number` and does not wait for the disk.
    ///
    /// # Errors
    /// [`Error`] if it cannot be written.
    pub fn put(&self, number: u64, picture: &Picture) -> Result<(), Error> {
        self.put_shown(number, picture, Display::default())
    }

    /// As [`PictureFolder::put`], for a frame of video that is to be shown so: interpolates its colour differences.
    pub(super) fn put_shown(&self, number: u64, picture: &Picture, display: Display) -> Result<(), Error> {
        let picture = interpolation::to_rgb(picture, display);
        let path = self.0.join(format!("frame-{number:08}.png"));
        Output::new(&path, &[])?.write_frame(&encode_png(&picture)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_go_into_a_folder_of_their_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let refusal =
            |name: &str| PictureFolder::begin(&folder.path().join(name)).expect_err("not for pictures").to_string();
        PictureFolder::begin(&folder.path().join("a/b")).expect("a new folder");
        assert!(refusal("a").ends_with("a is not empty: name a new folder"));
        fs::write(folder.path().join("file"), "").expect("a file");
        assert!(refusal("file").ends_with("file is not a folder: name a new one"));
    }
}
