//! A package as one string of bytes, for those who lack it (session specification, "Model package").

use std::fs;
use std::path::Path;

use super::files::BUILT_IN;
use super::{Fault, Package, PackageError};

/// Most files of a package, and most bytes of a file's name.
const MAX_FILES: usize = 32;
const MAX_NAME: usize = 64;
/// Not vouched for by itself: it vouches for the others.
const MANIFEST: &str = "manifest.toml";

impl Package {
    /// All files that the manifest vouches for, and the manifest, as one string of bytes; without golden arrays.
    ///
    /// # Errors
    /// [`PackageError::Refused`] if a file can no longer be read.
    pub fn archive(&self) -> Result<Vec<u8>, PackageError> {
        let mut out = Vec::new();
        if let Some((_, files)) = BUILT_IN.iter().find(|(name, _)| *name == self.place) {
            files.iter().for_each(|(name, bytes)| append(&mut out, name, bytes));
            return Ok(out);
        }
        let plain = self.manifest.files.keys().map(String::as_str).filter(|name| is_plain(name));
        for name in std::iter::once(MANIFEST).chain(plain) {
            let bytes = fs::read(Path::new(&self.place).join(name)).map_err(|error| PackageError::Refused {
                package: self.place.clone(),
                fault: Fault::Unreadable { file: name.to_owned(), reason: error.to_string() },
            })?;
            append(&mut out, name, &bytes);
        }
        Ok(out)
    }

    /// Writes an archive's files into a folder that exists. Nothing of them is checked: [`Package::open`] does.
    ///
    /// # Errors
    /// [`PackageError::Refused`] if the bytes are no archive, or a file cannot be written.
    pub fn unpack(archive: &[u8], folder: &Path) -> Result<(), PackageError> {
        let refused = |fault| PackageError::Refused { package: folder.display().to_string(), fault };
        let broken = || refused(Fault::Manifest("the package did not arrive whole".to_owned()));
        let (mut rest, mut count) = (archive, 0);
        while !rest.is_empty() {
            let name = string(&mut rest).and_then(|name| std::str::from_utf8(name).ok()).ok_or_else(broken)?;
            let bytes = string(&mut rest).ok_or_else(broken)?;
            count += 1;
            if !is_plain(name) || count > MAX_FILES {
                return Err(refused(Fault::Outside(name.chars().filter(|c| !c.is_control()).take(MAX_NAME).collect())));
            }
            fs::write(folder.join(name), bytes)
                .map_err(|error| refused(Fault::Unreadable { file: name.to_owned(), reason: error.to_string() }))?;
        }
        Ok(())
    }
}

/// A name that leads nowhere else, on any system.
fn is_plain(name: &str) -> bool {
    let sound = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    (1..=MAX_NAME).contains(&name.len()) && name.chars().all(sound) && !name.starts_with('.')
}

fn append(out: &mut Vec<u8>, name: &str, bytes: &[u8]) {
    for string in [name.as_bytes(), bytes] {
        // A variable-length integer of QUIC, always in eight bytes.
        out.extend((string.len() as u64 | 0xC0 << 56).to_be_bytes());
        out.extend_from_slice(string);
    }
}

/// A length in the form of RFC 9000, section 16, and so many bytes.
fn string<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let width = 1 << (rest.first()? >> 6);
    let (length, behind) = rest.split_at_checked(width)?;
    let first = u64::from(length[0] & 0x3F);
    let length = length[1..].iter().fold(first, |value, &byte| value << 8 | u64::from(byte));
    let (string, behind) = behind.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = behind;
    Some(string)
}
