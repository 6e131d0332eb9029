//! Installs files that are either whole and correct, or absent.

use std::{
    fs::{self, File},
    io,
    path::Path,
    process,
};

use sha2::{Digest, Sha256};

/// Returns whether `path` is a file with this SHA-256; false if it is missing.
pub(crate) fn is_intact(path: &Path, sha256: &str) -> io::Result<bool> {
    match fs::read(path) {
        Ok(bytes) => Ok(hash(&bytes) == sha256),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Writes `bytes` to `path` in one step: a reader sees the old file or the whole new one. An interruption leaves at
/// most a temporary file in the same folder.
pub(crate) fn atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(folder)?;
    let mut name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
    name.push(format!(".{}.part", process::id()));
    let part = folder.join(name);

    let moved = fs::write(&part, bytes).and_then(|()| move_into_place(&part, path));
    if moved.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&part);
    }
    moved
}

/// Moves a finished file to `path` on the same file system, in one step.
pub(crate) fn move_into_place(finished: &Path, path: &Path) -> io::Result<()> {
    fs::create_dir_all(path.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
    // Without the sync, a power cut after the rename could leave the name without the contents.
    File::options().write(true).open(finished)?.sync_all()?;
    fs::rename(finished, path)
}

/// Returns the SHA-256 in lower-case hexadecimal.
pub(crate) fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(folder: &Path) -> usize {
        fs::read_dir(folder).expect("folder").count()
    }

    #[test]
    fn hashes_as_everyone_does() {
        assert_eq!(hash(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn writes_and_replaces_leaving_nothing_else() {
        let root = tempfile::tempdir().expect("temporary folder");
        let folder = root.path().join("new").join("folder");
        let path = folder.join("file");
        for contents in [&b"first"[..], b"second"] {
            atomically(&path, contents).expect("written");
            assert_eq!(fs::read(&path).expect("file"), contents);
            assert_eq!(files(&folder), 1);
        }
    }

    #[test]
    fn a_failure_leaves_nothing() {
        let root = tempfile::tempdir().expect("temporary folder");
        let path = root.path().join("file");
        fs::create_dir_all(path.join("in the way")).expect("folder");
        assert!(atomically(&path, b"contents").is_err());
        assert_eq!(files(root.path()), 1);
    }

    #[test]
    fn only_the_whole_right_file_is_intact() {
        let root = tempfile::tempdir().expect("temporary folder");
        let path = root.path().join("file");
        let whole = hash(b"contents");
        assert!(!is_intact(&path, &whole).expect("missing is no error"));
        fs::write(&path, b"conten").expect("file");
        assert!(!is_intact(&path, &whole).expect("readable"));
        fs::write(&path, b"contents").expect("file");
        assert!(is_intact(&path, &whole).expect("readable"));
    }
}
