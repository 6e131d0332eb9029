//! The arrows between crates (docs: architecture): which crate may depend on which, which files join the codec to the
//! network, and which files see QUIC.

use std::fs;
use std::path::{Path, PathBuf};

/// Crates of this workspace that a crate's code may use, whatever its tests use.
const ARROWS: [(&str, &[&str]); 17] = [
    ("units", &[]),
    ("codec", &["units"]),
    ("proto", &["units"]),
    ("retrieval", &[]),
    ("player", &["codec", "proto"]),
    ("media", &["codec"]),
    ("models", &["codec"]),
    ("encode", &["codec", "media", "proto"]),
    ("sender", &["proto"]),
    ("sound", &["player", "proto"]),
    ("receiver", &["player", "proto"]),
    ("relayed", &["proto"]),
    ("moq", &["proto", "receiver", "relayed", "sender"]),
    ("web", &["codec", "media", "player", "proto", "relayed"]),
    ("bindings/c", &["codec", "receiver"]),
    ("bindings/gstreamer", &["codec", "encode", "models", "proto", "receiver", "sender", "sound", "web"]),
    ("bindings/python", &["codec", "encode", "media", "models", "receiver", "sender", "web"]),
];
/// The files that may contain `unsafe`: borders to other languages. Attributes that export a name are no blocks.
const UNSAFE: [&str; 9] = [
    "bindings/c/src/boundary.rs",
    "bindings/c/src/decoder.rs",
    "bindings/c/src/encoder.rs",
    "bindings/c/src/model.rs",
    "bindings/c/src/picture.rs",
    "bindings/c/src/receiver.rs",
    "bindings/c/src/video.rs",
    "bindings/python/src/memory.rs",
    "tests/structure.rs",
];
/// The files of a crate that join frames to pictures, by what they name.
const RANDOM_ACCESS_FRAMES: [(&str, &str, &[&str]); 3] = [
    ("sender", "nestcast_codec", &[]),
    ("receiver", "nestcast_codec", &[]),
    (
        "receiver",
        "nestcast_player",
        &["config.rs", "lib.rs", "playback.rs", "player.rs", "report.rs", "view_error.rs", "viewer.rs"],
    ),
];
/// Names that must not appear in a crate that any transport, browser or test can drive.
const CLOCKS_AND_IO: [&str; 8] =
    ["tokio", "quinn", "std::io", "std::fs", "std::net", "std::thread", "Instant", "SystemTime"];
/// The files that read the machine's clock, which may be set while they run.
const WALL_CLOCKS: [(&str, &[&str]); 7] = [
    ("cli", &["access.rs"]),
    ("encode", &[]),
    ("media", &[]),
    ("moq", &["publisher.rs", "subscriber.rs"]),
    ("receiver", &["sender_clock.rs"]),
    ("sender", &["access/signed/mod.rs", "access/signed/tests.rs", "clock.rs", "rotation.rs"]),
    ("web", &[]),
];
/// The crates that may use `lab`, which only shows and measures.
const SEE_LAB: [&str; 6] = ["benches", "benches/live", "benches/retrieval", "cli", "moq", "tests"];
/// The drivers of a session over a transport; another transport or language would have such files of its own.
const DRIVERS: [(&str, &[&str]); 3] =
    [("sender", &["feed.rs"]), ("receiver", &["session.rs", "streams.rs"]), ("moq", &["subscriber.rs"])];
/// The most lines of code of a driver: the session decides, a driver moves bytes, of frames and of sound.
const MAX_DRIVER: usize = 310;
/// The most lines of the program in all. Code that others would want belongs in a library. About 180 each are for
/// sound, recordings, relays, and who may watch: their options, and the files that they are read from and written to.
/// 180 are for several broadcasts: their names, and their lines on a terminal. 90 are for Matroska with its sound, and
/// for receivers that begin elsewhere: their options, and how times are written. 60 are for the rivals of `eval`, and
/// for the network that chooses gains. 50 are for what a user is told of a token that is needed, and of an option that
/// a command lacks. 65 are for the page on which the reader of the demonstration cuts a picture. 10 are for video of more
/// than 8 bits a sample. 76 are for the keys and the signal by which the viewer of an earlier part goes back, on, and to
/// where all others are. 36 are for the line that a sender rewrites on a terminal, and for tokens of relays and web
/// services in files. 10 are for y4m that breaks off, of which `encode` keeps the frames before, and for the names of
/// WAV files. 31 are for sources that relays do not carry, and for the link to those that they do. 31 are for
/// players that their user closes, and for stored videos that are damaged.
const MAX_PROGRAM: usize = 4255;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the crates of this workspace that a manifest names in a section.
fn named(manifest: &str, section: &str) -> Vec<String> {
    let body = manifest.split(&format!("\n[{section}]\n")).nth(1).unwrap_or_default();
    let lines = body.lines().take_while(|line| !line.starts_with('['));
    lines.filter_map(|line| line.strip_prefix("nestcast-")?.split([' ', '.', '=']).next().map(str::to_owned)).collect()
}

fn manifest(folder: &str) -> String {
    fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap_or_else(|error| panic!("{folder}: {error}"))
}

/// Returns all Rust files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let below = |path: PathBuf| if path.is_dir() { sources(&path) } else { vec![path] };
    paths.flat_map(below).filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// Returns the files of a crate's `src` whose code names `word`, sorted; examples in comments belong to the crate's
/// users.
fn naming(folder: &str, word: &str) -> Vec<String> {
    let source = root().join(folder).join("src");
    let files = sources(&source);
    assert!(!files.is_empty(), "{folder} has no sources");
    let is_code = |line: &str| !line.trim_start().starts_with("//");
    let names = |text: String| text.lines().any(|line| is_code(line) && line.contains(word));
    let names = files.iter().filter(|file| names(fs::read_to_string(file).expect("text")));
    let name = |file: &PathBuf| file.strip_prefix(&source).expect("a file of the crate").display().to_string();
    let mut names: Vec<_> = names.map(name).collect();
    names.sort_unstable();
    names
}

#[test]
fn crates_use_those_below_them() {
    for (folder, allowed) in ARROWS {
        for used in named(&manifest(folder), "dependencies") {
            assert!(allowed.contains(&&*used), "{folder} may not use {used}");
        }
    }
    assert_eq!(named(&manifest("receiver"), "dependencies"), ["player", "proto"]);
}

#[test]
fn few_files_join_frames_to_pictures() {
    for (folder, word, join) in RANDOM_ACCESS_FRAMES {
        assert_eq!(naming(folder, word), join, "{folder}: the files that name {word}");
    }
}

#[test]
fn quic_is_known_behind_the_transports_alone() {
    assert_eq!(
        naming("sender", "quinn::"),
        [
            "quic/browser.rs",
            "quic/congestion.rs",
            "quic/connection.rs",
            "quic/connection_ids.rs",
            "quic/endpoint.rs",
            "quic/qlog.rs",
            "quic/tasks.rs"
        ]
    );
    assert_eq!(naming("receiver", "quinn::"), ["quic.rs"]);
}

#[test]
fn the_sessions_state_machines_have_no_clock_and_no_io() {
    for folder in ["proto", "relayed", "units"] {
        for word in CLOCKS_AND_IO {
            let files = naming(folder, word);
            assert!(files.is_empty(), "{files:?} of {folder} name {word}");
        }
    }
}

#[test]
fn encoding_has_no_clock_and_no_io() {
    for word in ["tokio", "quinn", "std::fs", "std::net", "std::thread", "Instant", "SystemTime"] {
        let files = naming("encode", word);
        assert!(files.is_empty(), "{files:?} of encode name {word}");
    }
}

#[test]
fn the_player_has_no_clock_and_no_io() {
    for word in CLOCKS_AND_IO {
        assert_eq!(naming("player", word), [""; 0], "the files of player that name {word}");
    }
}

/// A clock that somebody sets must not move pictures, sound or time limits. So times come from the clock that runs evenly,
/// which these files set once by the machine's. Tokens and certificates are valid by the machine's clock.
#[test]
fn the_machines_clock_is_read_by_few_files() {
    for (folder, files) in WALL_CLOCKS {
        assert_eq!(naming(folder, "SystemTime::now"), files, "{folder}");
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

#[test]
fn only_borders_to_other_languages_are_unsafe() {
    let workspace = fs::read_to_string(root().join("Cargo.toml")).expect("the workspace");
    let members = workspace.split("members = [").nth(1).and_then(|rest| rest.split(']').next()).expect("members");
    let has_block = |path: &PathBuf| {
        let text = fs::read_to_string(path).expect("text");
        let mut code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        code.any(|line| line.contains("unsafe {") || line.contains("unsafe extern") || line.contains("unsafe impl"))
    };
    let files = members.split('"').skip(1).step_by(2).flat_map(|member| sources(&root().join(member)));
    let mut files: Vec<_> = files.filter(has_block).collect();
    files.sort_unstable();
    files.dedup();
    let names: Vec<_> =
        files.iter().map(|file| file.strip_prefix(root()).expect("below").display().to_string()).collect();
    assert_eq!(names, UNSAFE);
}

#[test]
fn drivers_of_sessions_are_short() {
    for (folder, files) in DRIVERS {
        let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
        let lines = |file: &&str| {
            let path = root().join(folder).join("src").join(file);
            let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            text.lines().filter(is_code).count()
        };
        let count: usize = files.iter().map(lines).sum();
        assert!(count <= MAX_DRIVER, "{folder} drives its session by {count} lines: move what decides to proto");
    }
}

#[test]
fn the_browsers_driver_is_short() {
    let text = fs::read_to_string(root().join("web/page/worker.js")).expect("the workers");
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    let network = text.split("\nclass Screen").next().expect("it begins with the network");
    let count = network.lines().filter(is_code).count();
    assert!(count <= MAX_DRIVER, "the browser drives its session by {count} lines: move what decides to proto");
}

#[test]
fn the_program_is_wiring() {
    let lines = |file: &PathBuf| fs::read_to_string(file).expect("text").lines().count();
    let count: usize = sources(&root().join("cli/src")).iter().map(lines).sum();
    assert!(count <= MAX_PROGRAM, "cli/src has {count} lines: move what another program would want to a library");
}

#[test]
fn every_file_of_tests_belongs_to_one_of_few_programs() {
    for (manifest_of, folder, paths) in [("tests", "tests", ""), ("cli", "cli/tests", "tests/")] {
        let manifest = manifest(manifest_of);
        let named =
            |stem: &str| manifest.contains(&format!("[[test]]\nname = \"{stem}\"\npath = \"{paths}{stem}.rs\"\n"));
        let files = fs::read_dir(root().join(folder)).expect("a folder").map(|entry| entry.expect("an entry").path());
        let files: Vec<_> = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect();
        let text = |file: &PathBuf| fs::read_to_string(file).expect("text");
        let stem = |file: &PathBuf| file.file_stem().expect("a name").display().to_string();
        let programs: Vec<_> = files.iter().filter(|file| named(&stem(file))).map(text).collect();
        assert!((2..=10).contains(&programs.len()), "{folder}: {} programs", programs.len());
        for file in &files {
            let module = format!("\nmod {};\n", stem(file));
            let times = programs.iter().filter(|program| program.contains(&module)).count();
            assert_eq!(times + usize::from(named(&stem(file))), 1, "{}", file.display());
        }
    }
}
