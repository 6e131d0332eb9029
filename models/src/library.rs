//! Checks that the file of ONNX Runtime's library is whole, before the system maps it: a read past the end of a mapped
//! file ends the process (SIGBUS).

use std::env::consts;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use object::read::{FileKind, Object as _, ObjectSegment as _, ReadCache};
use sha2::{Digest as _, Sha256};

/// SHA-256 of the library that `cargo xtask runtime` puts in place: `xtask/src/platform.rs` has the same.
const PINNED_HASHES: [(&str, &str, &str); 4] = [
    ("linux", "x86_64", "2d518e11c7767f9fdc4413bdbeb45acf30db504ff76a82fc19d9238a3f9f6c24"),
    ("linux", "aarch64", "f373ae5fd4d878ed17ebea26e5480bd3d0a15e3bd6bc94b878e6c1b73998d22a"),
    ("macos", "aarch64", "f7a4418c1fbbb12705f26991c52cd9e4a90c54d4802c487d0facb20897790fe9"),
    ("windows", "x86_64", "ef720fc44a4ea48626bfe1ebd29642de20222d7f104a509ea305d9f3cb3b7850"),
];

/// The origin of a library, which decides how its file is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The user's choice: any library that is whole.
    Chosen,
    /// Put in place by `cargo xtask`: exactly the pinned library.
    Pinned,
}

/// Checks a library's file; the error names the fault.
pub(crate) fn check(library: &Path, origin: Origin) -> Result<(), String> {
    check_segments(library)?;
    let pinned = PINNED_HASHES.iter().find(|(os, arch, _)| (*os, *arch) == (consts::OS, consts::ARCH));
    match (origin, pinned) {
        (Origin::Pinned, Some((_, _, sha256))) => check_hash(library, sha256),
        _ => Ok(()),
    }
}

/// Everything that the headers tell the system to map must be in the file. This is cheap: it reads only the headers.
fn check_segments(library: &Path) -> Result<(), String> {
    let broken = |_| "it is cut short, or not a library".to_owned();
    let file = File::open(library).map_err(|error| error.to_string())?;
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    let headers = ReadCache::new(file);
    if matches!(FileKind::parse(&headers).map_err(broken)?, FileKind::MachOFat32 | FileKind::MachOFat64) {
        return Ok(()); // several libraries in one: the system checks where each begins and ends
    }
    for segment in object::File::parse(&headers).map_err(broken)?.segments() {
        let (start, count) = segment.file_range();
        if start.checked_add(count).is_none_or(|end| end > length) {
            return Err(format!("it is cut short: {length} bytes"));
        }
    }
    Ok(())
}

/// Compares a file's hash, unless it was compared when the file had this length and this time of its last change.
fn check_hash(library: &Path, sha256: &str) -> Result<(), String> {
    let stamp = stamp(library, sha256).map_err(|error| error.to_string())?;
    let stamp_file = stamp_file(library);
    if fs::read_to_string(&stamp_file).is_ok_and(|found| found == stamp) {
        return Ok(());
    }
    let found = hash(library).map_err(|error| error.to_string())?;
    if found != sha256 {
        return Err(format!("it is damaged: its SHA-256 is {found}, not {sha256}"));
    }
    // If it cannot be written, the next start compares again.
    let _ = fs::write(stamp_file, stamp);
    Ok(())
}

/// The line in a file next to the library after its hash was found right. A half-written file has no such line.
fn stamp(library: &Path, sha256: &str) -> io::Result<String> {
    let data = fs::metadata(library)?;
    let changed = data.modified()?.duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
    Ok(format!("{} bytes, changed {} ns, SHA-256 {sha256}\n", data.len(), changed.as_nanos()))
}

fn stamp_file(library: &Path) -> PathBuf {
    let mut name = library.as_os_str().to_owned();
    name.push(".checked");
    name.into()
}

fn hash(path: &Path) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut file = BufReader::with_capacity(1 << 16, File::open(path)?);
    loop {
        let chunk = file.fill_buf()?;
        if chunk.is_empty() {
            break;
        }
        hasher.update(chunk);
        let count = chunk.len();
        file.consume(count);
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn a_library_cut_anywhere_is_refused_and_the_whole_one_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("library");
        // This test itself has the format that a library has here.
        let length = fs::copy(std::env::current_exe().expect("this test"), &path).expect("a copy");
        assert_eq!(check(&path, Origin::Chosen), Ok(()));
        let file = File::options().write(true).open(&path).expect("writable");
        let parts = (1..8).rev().map(|part| length * part / 8);
        for shorter in [length - 1].into_iter().chain(parts).chain([4096, 500, 64, 63, 4, 1, 0]) {
            file.set_len(shorter).expect("shorter");
            assert!(check(&path, Origin::Chosen).is_err(), "{shorter} of {length} bytes");
        }
        fs::write(&path, "no library at all").expect("a file");
        assert!(check(&path, Origin::Chosen).is_err());
    }

    #[test]
    fn a_pinned_library_is_hashed_once_and_again_when_it_changed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("library");
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let write = |bytes: &[u8], second| {
            fs::write(&path, bytes).expect("a file");
            let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
            File::options().write(true).open(&path).and_then(|file| file.set_modified(changed)).expect("a time");
        };
        write(b"abd", 1);
        assert!(check_hash(&path, abc).expect_err("damaged").contains("damaged"));
        write(b"abc", 1);
        assert_eq!(check_hash(&path, abc), Ok(()));
        // The stamp covers a file of the same length and time: nothing is hashed.
        write(b"abd", 1);
        assert_eq!(check_hash(&path, abc), Ok(()));
        for (bytes, second) in [(&b"abd"[..], 2), (b"abcd", 1)] {
            write(bytes, second);
            assert!(check_hash(&path, abc).is_err());
        }
        // Another pinned library than the one of the stamp.
        write(b"abc", 1);
        assert!(check_hash(&path, &abc.replace('b', "c")).is_err());
    }
}
