//! A folder for files that last as long as a measurement.

use std::io;
use std::path::Path;

use tempfile::TempDir;

use super::signals::Writing;

/// A temporary folder. It is deleted with what it contains when this is dropped, and when a signal ends the process.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    // Dropped last: a signal that arrived meanwhile ends the process after the folder is deleted.
    _writing: Writing,
}

impl Scratch {
    /// Makes a folder.
    ///
    /// # Errors
    /// The system's.
    pub fn new() -> io::Result<Self> {
        let (folder, writing) = Writing::begin(tempfile::tempdir)?;
        Ok(Self { folder, _writing: writing })
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_what_it_contains() {
        let scratch = Scratch::new().expect("a folder");
        let path = scratch.path().to_owned();
        std::fs::write(path.join("file"), b"some").expect("writable");
        drop(scratch);
        assert!(!path.exists());
    }
}
