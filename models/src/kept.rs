//! Packages that came over a network, kept in a folder of the user, each in a file named by its hash.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::package::Package;
use crate::package::files::{MAX_ARCHIVE, hexadecimal};
use crate::runtime::user_cache;

/// Most packages that are kept, so that a sender with many different ones cannot fill the disk.
const MAX_PACKAGES: usize = 16;
/// The end of a package's file name, after its hash.
const PACKAGE_EXTENSION: &str = "package";

/// A package cannot be kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeepError {
    /// There is no folder for it.
    #[error("the system names no cache folder: set HOME")]
    NoFolder,
    /// The system cannot write it.
    #[error("{} cannot be written", .path.display())]
    Io {
        /// Its file.
        path: PathBuf,
        /// The system's message.
        source: io::Error,
    },
}

/// A folder of packages; the newest few stay.
#[derive(Debug, Clone)]
pub struct KeptPackages(PathBuf);

impl KeptPackages {
    /// In the user's cache folder, if the system names one.
    #[must_use]
    pub fn of_user() -> Option<Self> {
        user_cache().map(|folder| Self(folder.join("nestcast").join("models")))
    }

    /// In this folder, which may have to be made.
    #[must_use]
    pub const fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// The package of this hash, if it is here. It checks what it reads, because a file's name proves nothing.
    #[must_use]
    pub fn find(&self, hash: [u8; 32]) -> Option<Package> {
        let path = self.path(hash);
        // A pipe would never end, and a link could lead to one.
        fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
        let mut archive = Vec::new();
        File::open(&path).ok()?.take(MAX_ARCHIVE).read_to_end(&mut archive).ok()?;
        let package = Package::from_archive(&archive, path.display().to_string()).ok()?;
        (package.hash() == hash).then_some(package)
    }

    /// Keeps a package, and forgets the oldest if there are too many.
    ///
    /// # Errors
    /// If its file cannot be written.
    pub fn keep(&self, package: &Package) -> Result<(), KeepError> {
        self.write(package.hash(), &package.archive())
    }

    fn write(&self, hash: [u8; 32], archive: &[u8]) -> Result<(), KeepError> {
        let path = self.path(hash);
        let write = || -> io::Result<()> {
            fs::create_dir_all(&self.0)?;
            let mut file = tempfile::Builder::new().prefix(".fetched-").tempfile_in(&self.0)?;
            file.write_all(archive)?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(|source| KeepError::Io { path, source })?;
        self.forget_oldest();
        Ok(())
    }

    fn path(&self, hash: [u8; 32]) -> PathBuf {
        self.0.join(hexadecimal(&hash)).with_extension(PACKAGE_EXTENSION)
    }

    /// Removes all but the newest; a package in use is in memory.
    fn forget_oldest(&self) {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let is_package = |path: &Path| path.extension().is_some_and(|extension| extension == PACKAGE_EXTENSION);
        let files = entries.map(|entry| entry.path()).filter(|path| is_package(path));
        let mut files: Vec<_> =
            files.filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path))).collect();
        files.sort_unstable();
        for (_, path) in files.iter().rev().skip(MAX_PACKAGES) {
            // Another receiver may have been faster.
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packages() -> [Package; 2] {
        ["photo", "photo-ssim"].map(|name| Package::builtin(name).expect("it is built in"))
    }

    #[test]
    fn what_is_kept_is_checked_whenever_it_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let kept = KeptPackages::new(folder.path().join("models"));
        let [other, package] = packages();
        let hash = package.hash();
        let archive = package.archive();
        let path = kept.path(hash);
        let found = || kept.find(hash).map(|package| package.hash());
        assert_eq!(found(), None);
        let mut altered = archive.clone();
        altered[archive.len() / 2] ^= 1;
        for poison in [&other.archive()[..], &altered, &archive[..archive.len() - 1], b""] {
            kept.keep(&package).expect("a folder to write to");
            assert_eq!(found(), Some(hash));
            fs::write(&path, poison).expect("a file");
            assert_eq!(found(), None);
        }
        fs::remove_file(&path).expect("a file");
        fs::create_dir(&path).expect("a folder");
        assert_eq!(found(), None);
        let refused = kept.keep(&package).expect_err("a folder is in its place").to_string();
        assert!(refused.ends_with(".package cannot be written"), "{refused}");
        let names = fs::read_dir(folder.path().join("models")).expect("a folder").count();
        assert_eq!(names, 1, "nothing half written is left");
    }

    #[test]
    fn no_more_are_kept_than_a_few() {
        let folder = tempfile::tempdir().expect("a folder");
        let kept = KeptPackages::new(folder.path().join("models"));
        for number in (0..).take(MAX_PACKAGES + 5) {
            kept.write([number; 32], b"any").expect("a folder to write to");
        }
        assert_eq!(fs::read_dir(folder.path().join("models")).expect("a folder").count(), MAX_PACKAGES);
    }
}
