//! Runs every target on its committed inputs: a corpus that reaches what the fuzzer reached, and every past finding.

use std::fs;
use std::path::{Path, PathBuf};

use nestcast_fuzz::{Run, TARGETS};

/// The most bytes of all committed inputs.
const MOST_BYTES: u64 = 600_000;

fn folder(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(kind)
}

/// Returns the files of a folder in order; none if there is no such folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

/// Names the input if the target panics on it.
struct Running<'a>(&'a Path);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the input is {}", self.0.display());
        }
    }
}

fn run(name: &str) {
    let (_, target): (_, Run) = TARGETS.into_iter().find(|(known, _)| *known == name).expect("a target");
    let mut inputs = files(&folder("corpus").join(name));
    assert!(!inputs.is_empty(), "corpus/{name} has no input");
    inputs.extend(files(&folder("findings").join(name)));
    for path in inputs {
        let running = Running(&path);
        target(&fs::read(&path).expect("a file"));
        drop(running);
    }
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            run(stringify!($name));
        })*

        const TESTED: &[&str] = &[$(stringify!($name)),*];
    };
}

targets! {
    decode delay_controller encode header index jpeg matroska messages network package png publisher receiver_session reference relay segments sender_session subscriber subscriber_live tables video_file
    video_frame viewer webp y4m
}

#[test]
fn every_target_is_tested_and_has_a_program_and_nothing_else_is_committed() {
    let names: Vec<_> = TARGETS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, TESTED);
    let programs = files(&folder("fuzz_targets"));
    let programs: Vec<_> = programs.iter().filter_map(|path| path.file_stem()?.to_str()).collect();
    assert_eq!(programs, names);
    for kind in ["corpus", "findings"] {
        for path in files(&folder(kind)) {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            assert!(names.contains(&name), "{} is no target's folder", path.display());
        }
    }
}

#[test]
fn the_committed_inputs_are_few() {
    let folders = ["corpus", "findings"].map(|kind| files(&folder(kind)));
    let inputs = folders.iter().flatten().flat_map(|folder| files(folder));
    let bytes: u64 = inputs.map(|path| path.metadata().expect("a file").len()).sum();
    assert!(bytes <= MOST_BYTES, "{bytes} bytes of inputs: minimise them with `cargo xtask fuzz minimise`");
}
