//! Files with secrets.

use std::fs::OpenOptions;
use std::io::{Result, Write as _};
use std::path::Path;

/// Writes a new file that only its owner can read.
///
/// # Errors
/// The system's, also if the file exists.
pub fn write_secret(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(bytes)
}
