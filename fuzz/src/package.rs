//! A model package as one string of bytes from a sender.

use std::fmt::Write as _;

use nestcast_models::Package;
use sha2::{Digest as _, Sha256};

use crate::bounded;
use crate::network::smallest;
use crate::patched::patched;
use crate::stream::TABLES;

const MANIFEST: &str = include_str!("../../models/artifacts/photo/manifest.toml");
const POST_FILTER: &[u8] = include_bytes!("../../models/artifacts/photo/post_filter.bin");
/// The networks of the synthesis of `photo`.
const SYNTHESES: [&str; 5] =
    ["synthesis-0.onnx", "synthesis-1.onnx", "synthesis-2.onnx", "synthesis-3.onnx", "synthesis-4.onnx"];
/// Memory for tables, twice, a manifest as text and as values, and its reader.
const FIXED_BYTES: usize = 256 * 1024;

/// Checks that any bytes in place of a package are refused in one line, or are a package that keeps its hash when it is
/// packed and read again. The bytes bound the memory.
///
/// The input: how it is made, then its material: the bytes unchanged, or files with a manifest that is true of them.
/// The manifest is the text given, or that of `photo` with parts replaced, or with parts of the post-filter or of one
/// network replaced.
pub fn package(data: &[u8]) {
    let Some((&how, rest)) = data.split_first() else { return };
    let [filter, analysis, synthesis] = [POST_FILTER, &smallest(false), &smallest(true)];
    let archive = match (how, how % 5) {
        (255, _) => vouched(MANIFEST.as_bytes(), [TABLES, &patched(filter, rest), analysis, synthesis]),
        (_, 0) => rest.to_vec(),
        (_, 1) => vouched(rest, [TABLES, filter, analysis, synthesis]),
        (_, 2) => vouched(&patched(MANIFEST.as_bytes(), rest), [TABLES, filter, analysis, synthesis]),
        (_, 3) => vouched(MANIFEST.as_bytes(), [TABLES, filter, &patched(analysis, rest), synthesis]),
        _ => vouched(MANIFEST.as_bytes(), [TABLES, filter, analysis, &patched(synthesis, rest)]),
    };
    bounded::within(FIXED_BYTES + 16 * archive.len(), "opening a package", || opened(&archive));
}

fn opened(archive: &[u8]) {
    match Package::from_archive(archive, "sender") {
        Ok(package) => {
            let again = Package::from_archive(&package.archive(), "sender").expect("it is as sound as before");
            assert_eq!((again.hash(), again.id()), (package.hash(), package.id()));
        }
        Err(error) => {
            let line = error.to_string();
            assert!(!line.contains(|c: char| c.is_control()), "no line for a terminal: {line:?}");
        }
    }
}

/// Makes a package whose manifest is true of the other files. All networks of its synthesis are one.
fn vouched(manifest: &[u8], [tables, filter, analysis, synthesis]: [&[u8]; 4]) -> Vec<u8> {
    let mut files = vec![("tables.bin", tables), ("post_filter.bin", filter), ("analysis.onnx", analysis)];
    files.extend(SYNTHESES.map(|name| (name, synthesis)));
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
