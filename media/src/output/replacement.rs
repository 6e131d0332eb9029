//! Replaces a file as a whole: a reader sees the old file or the whole new one.

use std::fs;
use std::io::{self, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::signals::Writing;

/// The beginning of the names of unfinished files. Only a killed process (SIGKILL) or a power cut leaves one.
const TEMPORARY_PREFIX: &str = ".nestcast-";
/// Bytes between two checks for a signal.
const CHUNK_BYTES: usize = 1 << 20;

/// The event that a finished file waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sync {
    /// The bytes are on the disk before the file gets its name, so a power cut leaves no empty file.
    Disk,
    Nothing,
}

/// A new file in the folder of `target`, which it replaces when it is whole. A drop before that deletes it.
#[derive(Debug)]
pub(crate) struct Replacement {
    target: PathBuf,
    file: NamedTempFile,
    // Dropped last: a signal that arrived meanwhile ends the process after the temporary file is deleted.
    writing: Writing,
}

impl Replacement {
    pub(crate) fn begin(target: &Path) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(TEMPORARY_PREFIX);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let (file, writing) = Writing::begin(|| builder.tempfile_in(folder_of(target)))?;
        Ok(Self { target: target.to_path_buf(), file, writing })
    }

    /// Cuts the file to this length.
    pub(crate) fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.file.as_file().set_len(length)?;
        self.file.seek(SeekFrom::Start(length)).map(drop)
    }

    /// Gives the file its name.
    pub(crate) fn finish(self, sync: Sync) -> io::Result<()> {
        // The last binding is dropped first: the file is deleted before a signal ends the process.
        let Self { target, writing, file } = self;
        if let Ok(old) = fs::metadata(&target) {
            file.as_file().set_permissions(old.permissions())?;
        }
        if sync == Sync::Disk {
            file.as_file().sync_all()?;
            writing.go_on()?;
        }
        writing.rename(|| file.persist(&target)).map_err(|error| error.error)?;
        if sync == Sync::Disk {
            sync_folder(&folder_of(&target));
        }
        Ok(())
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writing.go_on()?;
        self.file.write(&bytes[..bytes.len().min(CHUNK_BYTES)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writing.go_on()?;
        self.file.flush()
    }
}

/// Replaces `path` by a file of these bytes when they are on the disk.
///
/// # Errors
/// The system's; the old file stays then.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut replacement = Replacement::begin(path)?;
    replacement.write_all(bytes)?;
    replacement.finish(Sync::Disk)
}

/// Waits until a folder's names are on the disk. Not every file system can; the file is whole anyway.
fn sync_folder(folder: &Path) {
    #[cfg(unix)]
    let _ = fs::File::open(folder).and_then(|folder| folder.sync_all());
    #[cfg(not(unix))]
    let _ = folder;
}

pub(crate) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}
