//! The arrows between crates (docs: architecture): who may depend on whom, and where the codec is joined to the network.

use std::fs;
use std::path::{Path, PathBuf};

/// Crates of this workspace that a crate's code may use, whatever its tests use.
const ARROWS: [(&str, &[&str]); 6] = [
    ("codec", &[]),
    ("proto", &[]),
    ("media", &["codec"]),
    ("models", &["codec"]),
    ("sender", &["codec", "media", "proto"]),
    ("receiver", &["codec", "proto"]),
];
/// The one file of a crate that joins frames to pictures.
const JOINS: [(&str, &str); 2] = [("sender", "pictures.rs"), ("receiver", "player.rs")];
/// Who sees what only shows and measures.
const SEE_LAB: [&str; 4] = ["benches", "benches/live", "cli", "tests"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The crates of this workspace that a manifest names in a section.
fn named(manifest: &str, section: &str) -> Vec<String> {
    let body = manifest.split(&format!("\n[{section}]\n")).nth(1).unwrap_or_default();
    let lines = body.lines().take_while(|line| !line.starts_with('['));
    lines.filter_map(|line| line.strip_prefix("nestcast-")?.split([' ', '.', '=']).next().map(str::to_owned)).collect()
}

fn manifest(folder: &str) -> String {
    fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap_or_else(|error| panic!("{folder}: {error}"))
}

#[test]
fn crates_use_those_below_them() {
    for (folder, allowed) in ARROWS {
        for used in named(&manifest(folder), "dependencies") {
            assert!(allowed.contains(&&*used), "{folder} may not use {used}");
        }
    }
    assert_eq!(named(&manifest("receiver"), "dependencies").first().map(String::as_str), Some("codec"));
}

#[test]
fn one_file_joins_frames_to_pictures() {
    for (folder, join) in JOINS {
        let mut folders = vec![root().join(folder).join("src")];
        let mut joins = Vec::new();
        while let Some(at) = folders.pop() {
            for entry in fs::read_dir(at).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else if fs::read_to_string(&path).expect("a source file").contains("nestcast_codec") {
                    joins.push(path.file_name().expect("a name").to_string_lossy().into_owned());
                }
            }
        }
        assert_eq!(joins, [join], "{folder}: the files that name the codec");
    }
}

#[test]
fn only_programs_and_tests_see_the_lab() {
    let workspace = fs::read_to_string(root().join("Cargo.toml")).expect("the workspace");
    let members = workspace.split("members = [").nth(1).and_then(|rest| rest.split(']').next()).expect("members");
    let members = members.split('"').skip(1).step_by(2);
    for member in members.filter(|member| !SEE_LAB.contains(member)) {
        let manifest = manifest(member);
        for section in ["dependencies", "dev-dependencies"] {
            assert!(!named(&manifest, section).contains(&"lab".to_owned()), "{member} may not see lab");
        }
    }
}
