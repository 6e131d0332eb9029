//! A package as one string of bytes, for receivers that lack it (session specification, "Model package").

use super::files::{Files, MANIFEST_FILE, MOST_FILES, names};
use super::{Fault, Package, PackageError};

impl Package {
    /// All files that this build reads of a package, as one string of bytes; [`Package::from_archive`] takes it.
    #[must_use]
    pub fn archive(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (name, bytes) in names(self.syntheses.len()).zip(self.common.iter().chain(self.syntheses.iter())) {
            append(&mut out, name.as_bytes());
            append(&mut out, bytes);
        }
        out
    }

    /// Reads what [`Package::archive`] gave. Its bytes may come from anyone, so they are checked like those of a
    /// folder. `place` is its origin, for messages.
    ///
    /// # Errors
    /// As [`Package::open`].
    pub fn from_archive(archive: &[u8], place: impl Into<String>) -> Result<Self, PackageError> {
        let place = place.into();
        match files(archive) {
            Some(files) => Self::read(Files::archive(&files), place),
            None => Err(PackageError::Refused { package: place, fault: Fault::Archive }),
        }
    }
}

/// All files by name, at most as many as a package has. The first is the manifest.
fn files(mut archive: &[u8]) -> Option<Vec<(&str, &[u8])>> {
    let mut files = Vec::new();
    while !archive.is_empty() && files.len() < MOST_FILES {
        let name = str::from_utf8(string(&mut archive)?).ok()?;
        files.push((name, string(&mut archive)?));
    }
    let whole = archive.is_empty() && files.first().is_some_and(|(name, _)| *name == MANIFEST_FILE);
    whole.then_some(files)
}

/// Writes a length, as a variable-length integer of QUIC, always in eight bytes, and the bytes.
fn append(out: &mut Vec<u8>, string: &[u8]) {
    out.extend((string.len() as u64 | 0xC0 << 56).to_be_bytes());
    out.extend_from_slice(string);
}

/// Reads a length in the form of RFC 9000, section 16, and that number of bytes.
fn string<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let width = 1 << (rest.first()? >> 6);
    let (length, after) = rest.split_at_checked(width)?;
    let first = u64::from(length[0] & 0x3F);
    let length = length[1..].iter().fold(first, |value, &byte| value << 8 | u64::from(byte));
    let (string, after) = after.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = after;
    Some(string)
}
