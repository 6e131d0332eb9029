//! Public names of the crates that a program uses together: each means one thing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The crates that can be depended on.
const CRATES: [&str; 11] =
    ["codec", "encode", "media", "models", "player", "proto", "receiver", "retrieval", "sender", "sound", "units"];
/// What Rust's users expect in each crate under this name.
const USUAL: [&str; 1] = ["Error"];

/// The words of a `pub use` that its crate defines: the last of each path, or what it is renamed to. Names that come from
/// another crate of the project are the same type there.
fn defined(statement: &str) -> Vec<&str> {
    let from = statement.split("::").next().unwrap_or_default().trim();
    if from.starts_with("nestcast_") {
        return Vec::new();
    }
    let list = match statement.split_once('{') {
        Some((_, list)) => list.trim_end_matches('}'),
        None => statement.rsplit("::").next().unwrap_or_default(),
    };
    list.split(',')
        .map(|item| item.rsplit(" as ").next().unwrap_or(item))
        .map(|item| item.rsplit("::").next().unwrap_or(item).trim())
        .filter(|name| name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase))
        .collect()
}

/// The statements `pub use ...;` of a crate's root.
fn statements(source: &str) -> impl Iterator<Item = &str> {
    source.split("\npub use ").skip(1).filter_map(|rest| rest.split(';').next())
}

#[test]
fn no_two_crates_give_one_name_to_different_types() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut crates: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for name in CRATES {
        let source = read(&root.join(name).join("src/lib.rs"));
        let names: Vec<&str> = statements(&source).flat_map(defined).collect();
        assert!(names.len() > 2, "{name} exports types");
        for word in names {
            crates.entry(word.to_owned()).or_default().insert(name);
        }
    }
    let shared = |(word, crates): &(&String, &BTreeSet<&str>)| crates.len() > 1 && !USUAL.contains(&word.as_str());
    let shared: Vec<_> = crates.iter().filter(shared).collect();
    assert!(shared.is_empty(), "a name for each: {shared:?}");
}

#[test]
fn statements_are_read_by_what_they_define() {
    let source = "mod a;\npub use a::Only;\npub use a::b::{\n    CONSTANT, First, function, c::Second as Third,\n};\npub use nestcast_units::Bitrate;\n";
    let names: Vec<&str> = statements(source).flat_map(defined).collect();
    assert_eq!(names, ["Only", "First", "Third"]);
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
