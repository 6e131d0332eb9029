//! The arrows between sender, receiver, proto and the rest: which file may name which crate.

use std::fs;
use std::path::{Path, PathBuf};

/// The repository's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All Rust files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let below = |path: PathBuf| if path.is_dir() { sources(&path) } else { vec![path] };
    paths.flat_map(below).filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// The files of a crate's `src` that name `word`, sorted.
fn naming(crate_name: &str, word: &str) -> Vec<String> {
    let source = root().join(crate_name).join("src");
    let files = sources(&source);
    assert!(!files.is_empty(), "{crate_name} has no sources");
    let names = files.iter().filter(|file| fs::read_to_string(file).expect("text").contains(word));
    let name = |file: &PathBuf| file.strip_prefix(&source).expect("a file of the crate").display().to_string();
    let mut names: Vec<_> = names.map(name).collect();
    names.sort_unstable();
    names
}

#[test]
fn the_codec_is_known_in_one_file_of_the_sender_and_one_of_the_receiver() {
    assert_eq!(naming("sender", "nestcast_codec"), ["pictures.rs"]);
    assert_eq!(naming("receiver", "nestcast_codec"), ["player.rs"]);
    assert!(naming("proto", "nestcast_codec").is_empty());
}

#[test]
fn quic_is_known_behind_the_transports_alone() {
    assert_eq!(naming("sender", "quinn::"), ["connection_ids.rs", "quic.rs"]);
    assert_eq!(naming("receiver", "quinn::"), ["quic.rs"]);
}

#[test]
fn the_sessions_state_machines_have_no_clock_and_no_io() {
    for word in
        ["nestcast_", "tokio", "quinn", "std::io", "std::fs", "std::net", "std::thread", "Instant", "SystemTime"]
    {
        let files = naming("proto", word);
        // The crate's own examples name it.
        let others: Vec<_> = files.iter().filter(|file| word != "nestcast_" || *file != "lib.rs").collect();
        assert!(others.is_empty(), "{others:?} of proto name {word}");
    }
}

#[test]
fn what_shows_and_measures_is_no_part_of_the_product() {
    for crate_name in ["codec", "proto", "sender", "receiver", "models"] {
        assert!(naming(crate_name, "nestcast_lab").is_empty(), "{crate_name} uses what measures it");
    }
}
