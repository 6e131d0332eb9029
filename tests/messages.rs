//! The words that docs/troubleshooting.md quotes are words of messages.

use std::fs;
use std::path::{Path, PathBuf};

/// The folders whose sources hold messages: crates, and the page of the browser viewer.
const FOLDERS: [&str; 15] = [
    "cli/src",
    "codec/src",
    "encode/src",
    "media/src",
    "models/src",
    "moq/src",
    "player/src",
    "proto/src",
    "receiver/src",
    "relayed/src",
    "retrieval/src",
    "sender/src",
    "sound/src",
    "units/src",
    "web/page",
];
/// What stands in a quotation for words that differ from case to case.
const ANY: &str = "...";

/// Returns the files below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// Joins the lines of literals that a backslash continues.
fn unbroken(source: &str) -> String {
    let mut lines = source.split("\\\n");
    let first = lines.next().unwrap_or_default().to_owned();
    lines.fold(first, |text, line| text + line.trim_start())
}

/// Returns what stands between quotation marks in the first column of a table's row.
fn quotations(row: &str) -> impl Iterator<Item = &str> {
    let symptom = row.strip_prefix('|').and_then(|row| row.split('|').next()).unwrap_or_default();
    symptom.split('"').skip(1).step_by(2)
}

#[test]
fn every_quoted_message_is_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let files = FOLDERS.iter().flat_map(|folder| files_below(&root.join(folder)));
    let texts = files.filter(|file| file.extension().is_some_and(|kind| kind == "rs" || kind == "js"));
    let sources: String = texts.map(|file| unbroken(&fs::read_to_string(file).expect("text"))).collect();
    let page = fs::read_to_string(root.join("docs/troubleshooting.md")).expect("the page");
    let parts: Vec<_> = page.lines().flat_map(quotations).flat_map(|words| words.split(ANY)).map(str::trim).collect();
    let unknown: Vec<_> = parts.iter().filter(|part| !sources.contains(part.trim_end_matches(':'))).collect();
    assert!(unknown.is_empty(), "docs/troubleshooting.md quotes what no message says: {unknown:#?}");
    assert!(parts.len() > 60, "{parts:?}");
}
