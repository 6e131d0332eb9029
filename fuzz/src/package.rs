//! A model package as one string of bytes from a sender.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use nestcast_models::Package;
use sha2::{Digest as _, Sha256};

use crate::bounded;
use crate::stream::TABLES;

const MANIFEST: &str = include_str!("../../models/artifacts/photo/manifest.toml");
/// Files of a package, some of which are there in every one.
const NAMES: [&str; 8] =
    ["manifest.toml", "tables.bin", "analysis.onnx", "synthesis.onnx", "..", "a/b", ".hidden", "notes.txt"];

/// Any bytes in place of a package are unpacked to plain files in the folder that was named, or refused; what then opens
/// as a package gives, packed and unpacked again, a package of the same model; and memory is bounded by the bytes.
///
/// The input: how it is made, then what it is made of.
pub fn package(data: &[u8]) {
    let Some((&how, rest)) = data.split_first() else { return };
    let archive = match how % 4 {
        0 => rest.to_vec(),
        1 => named(rest),
        2 => vouched(rest, TABLES),
        _ => vouched(&with_patches(MANIFEST.as_bytes(), rest), TABLES),
    };
    let outer = tempfile::tempdir_in(scratch()).expect("a temporary folder");
    let folder = outer.path().join("in");
    fs::create_dir(&folder).expect("a new folder");
    bounded::within(64 * 1024 + 32 * archive.len(), "opening a package", || {
        if Package::unpack(&archive, &folder).is_ok() {
            opened(&folder, outer.path());
        }
    });
    let names: Vec<_> =
        fs::read_dir(outer.path()).expect("it is there").map(|entry| entry.expect("an entry").file_name()).collect();
    assert_eq!(names, ["in"], "a file outside of the folder");
    for entry in fs::read_dir(&folder).expect("it is there") {
        assert!(entry.and_then(|entry| entry.file_type()).expect("an entry").is_file(), "a plain file");
    }
}

/// Memory where there is such a folder: a target makes many files.
fn scratch() -> std::path::PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.into() } else { std::env::temp_dir() }
}

fn opened(folder: &Path, outer: &Path) {
    let Ok(package) = Package::open(folder) else { return };
    let again = outer.join("again");
    fs::create_dir(&again).expect("a new folder");
    Package::unpack(&package.archive().expect("its files are there"), &again).expect("what was packed is unpacked");
    assert_eq!(Package::open(&again).expect("it is as sound as before").id(), package.id());
    fs::remove_dir_all(&again).expect("it is ours");
}

/// Files of any of these names, with any content.
fn named(mut rest: &[u8]) -> Vec<u8> {
    let mut archive = Vec::new();
    while let Some((&[name, length], behind)) = rest.split_first_chunk::<2>() {
        let (content, behind) = behind.split_at(usize::from(length).min(behind.len()));
        rest = behind;
        put(&mut archive, NAMES[usize::from(name) % NAMES.len()].as_bytes(), content);
    }
    archive
}

/// A package whose manifest is true of the other files.
fn vouched(manifest: &[u8], tables: &[u8]) -> Vec<u8> {
    let networks: [&[u8]; 2] = [b"x", b"y"];
    let files = [("tables.bin", tables), ("analysis.onnx", networks[0]), ("synthesis.onnx", networks[1])];
    let mut text = Vec::new();
    for line in manifest.split_inclusive(|&byte| byte == b'\n') {
        let of = |name: &str| line.windows(name.len()).any(|window| window == name.as_bytes());
        match files.iter().find(|(name, _)| of(name)) {
            Some((name, bytes)) => text.extend(format!("\"{name}\" = \"{}\"\n", hexadecimal(bytes)).bytes()),
            None => text.extend(line),
        }
    }
    let mut archive = Vec::new();
    put(&mut archive, b"manifest.toml", &text);
    files.iter().for_each(|(name, bytes)| put(&mut archive, name.as_bytes(), bytes));
    archive
}

/// Text in which parts were replaced: each a position, what is left out, what is put there.
fn with_patches(text: &[u8], mut patches: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    while let Some((&[low, high, out, count], behind)) = patches.split_first_chunk::<4>() {
        let (new, behind) = behind.split_at(usize::from(count % 32).min(behind.len()));
        patches = behind;
        let at = usize::from(u16::from_le_bytes([low, high])) % (text.len() + 1);
        let end = (at + usize::from(out)).min(text.len());
        text.splice(at..end, new.iter().copied());
    }
    text
}

fn put(archive: &mut Vec<u8>, name: &[u8], content: &[u8]) {
    for string in [name, content] {
        archive.extend((string.len() as u64 | 0xC0 << 56).to_be_bytes());
        archive.extend(string);
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all that is written");
        text
    })
}
