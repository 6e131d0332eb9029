//! `nestcast index` and `search`: which pictures they find, and refusals in one line that says who must act.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Output, Stdio};

use crate::harness::{Bench, NESTCAST, codes, png, refusal};
use nestcast_models::Runtime;
use nestcast_models::runtime::LIBRARY_VARIABLE;
use serde_json::Value;

/// Runs `nestcast` with ONNX Runtime.
fn run(bench: &Bench, arguments: &[&str]) -> Output {
    command(bench, arguments).output().expect("the binary ends")
}

fn command(bench: &Bench, arguments: &[&str]) -> Command {
    let library = std::env::var_os("ORT_DYLIB_PATH");
    let mut command = bench.command(NESTCAST);
    match library {
        Some(library) => command.env("ORT_DYLIB_PATH", library),
        None => command.env_remove("ORT_DYLIB_PATH"),
    };
    command.args(arguments);
    command
}

fn succeed(bench: &Bench, arguments: &[&str]) -> (String, String) {
    let output = run(bench, arguments);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    let (out, error) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{arguments:?}: {error}");
    (out, error)
}

fn refuse(bench: &Bench, arguments: &[&str]) -> String {
    refusal(arguments, &run(bench, arguments))
}

/// Makes a picture of four quarters of light and dark, different for each number below 16.
fn picture(number: u8, side: u32) -> Vec<u8> {
    let grey = |x: u32, y: u32| {
        let quarter = 2 * y / side * 2 + 2 * x / side;
        if number >> quarter & 1 == 1 { 200 + number } else { 40 + number }
    };
    let samples = (0..side * side).flat_map(|at| [grey(at % side, at / side); 3]).collect::<Vec<_>>();
    png::of_samples(side, side, &samples)
}

/// Makes a folder `pictures` with all of them, and the package `codes`.
fn bench() -> Bench {
    let bench = Bench::new();
    codes::write(&bench.path("codes"), 0);
    fs::create_dir_all(bench.path("pictures/more")).expect("a folder");
    for number in 1..15 {
        let folder = if number < 8 { "pictures" } else { "pictures/more" };
        bench.write(&format!("{folder}/{number}.png"), &picture(number, 64));
    }
    bench
}

const INDEX: [&str; 6] = ["index", "pictures", "-o", "all.index", "--model", "codes"];

fn search(bench: &Bench, query: &str) -> Value {
    let (out, _) = succeed(bench, &["search", "all.index", query, "--model", "codes", "--top", "3", "--json"]);
    serde_json::from_str(&out).expect("JSON")
}

#[test]
fn a_picture_is_found_by_another_size_of_it_and_by_the_first_bytes_of_its_stream() {
    let bench = bench();
    let (out, error) = succeed(&bench, &INDEX);
    assert!(out.starts_with("all.index: 14 pictures, 64 bits each, ") && error.is_empty(), "{out}{error}");
    bench.write("query.png", &picture(9, 150));
    let report = search(&bench, "query.png");
    assert_eq!(report["found"][0]["picture"], "pictures/more/9.png");
    assert_eq!((&report["pictures"], &report["found"].as_array().map(Vec::len)), (&Value::from(14), &Some(3)));

    bench.succeed(&["encode", "query.png", "-o", "query.nst"]);
    let start = bench.read("query.nst");
    bench.write("start.nst", &start[..start.len().min(400)]);
    assert_eq!(search(&bench, "start.nst")["found"][0]["picture"], "pictures/more/9.png");
    let (out, _) = succeed(&bench, &["search", "all.index", "query.png", "--model", "codes", "--sheet", "sheet.png"]);
    assert!(out.contains("  pictures/more/9.png\n"), "{out}");
    assert!(bench.read("sheet.png").starts_with(b"\x89PNG"));

    fs::rename(bench.path("pictures"), bench.path("moved")).expect("a folder");
    let arguments = ["search", "all.index", "query.png", "--model", "codes", "--top", "3", "--sheet", "sheet.png"];
    let (_, notes) = succeed(&bench, &arguments);
    assert!(notes.contains("3 of 3 pictures found are not there, seen from this folder"), "{notes}");
}

#[test]
fn a_crop_is_found_as_what_it_may_be_a_crop_of() {
    let bench = bench();
    succeed(&bench, &INDEX);
    assert_eq!(search(&bench, "pictures/more/9.png")["found"][0]["as_crop"], false);
    let whole = image::load_from_memory(&bench.read("pictures/more/9.png")).expect("a picture");
    whole.crop_imm(8, 0, 56, 56).save(bench.path("crop.png")).expect("a file");
    let report = search(&bench, "crop.png");
    let nearest = serde_json::json!({ "picture": "pictures/more/9.png", "shared_bits": 64, "hamming_distance": 0, "as_crop": true });
    assert_eq!((&report["found"][0], &report["uncropped"]), (&nearest, &Value::from(18)));
}

#[test]
fn streams_are_indexed_from_their_first_bytes() {
    let bench = bench();
    bench.write("large.png", &picture(6, 500));
    bench.succeed(&["encode", "large.png", "-o", "large.nst"]);
    let stream = bench.read("large.nst");
    fs::create_dir(bench.path("streams")).expect("a folder");
    for (name, end) in [("whole", stream.len()), ("prefix", stream.len().min(1024))] {
        bench.write(&format!("streams/{name}.nst"), &stream[..end]);
    }
    let (out, _) = succeed(&bench, &["index", "streams", "-o", "all.index", "--model", "codes", "--json"]);
    let summary: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&summary["pictures"], &summary["left_out"]), (&Value::from(2), &Value::from(0)));
    let report = search(&bench, "large.png");
    assert_eq!(report["found"][0]["shared_bits"], report["found"][1]["shared_bits"]);
}

#[test]
fn pictures_that_cannot_be_read_are_named_and_counted() {
    let bench = bench();
    bench.write("pictures/broken.png", b"\x89PNG\r\n\x1a\n and no more");
    bench.write("pictures/empty.jpg", b"");
    bench.write("pictures/notes.txt", b"no picture by its name");
    // A dangling link looks like a file that disappears while others are indexed.
    #[cfg(unix)]
    std::os::unix::fs::symlink("gone", bench.path("pictures/gone.png")).expect("a link");
    let (out, error) = succeed(&bench, &INDEX);
    let gone = usize::from(cfg!(unix));
    assert!(out.starts_with(&format!("all.index: 14 pictures, {} left out, ", 2 + gone)), "{out}");
    for name in ["broken.png", "empty.jpg"].iter().chain(&["gone.png"][..gone]) {
        let named =
            error.lines().filter(|line| line.starts_with("nestcast: note: left out: pictures/") && line.contains(name));
        assert_eq!(named.count(), 1, "{name}: {error}");
    }
    assert!(!error.contains("notes.txt"), "{error}");
}

#[test]
fn a_folder_without_pictures_leaves_the_old_index() {
    let bench = bench();
    succeed(&bench, &INDEX);
    let before = bench.read("all.index");
    fs::create_dir_all(bench.path("empty/in")).expect("a folder");
    let line = refuse(&bench, &["index", "empty", "-o", "all.index", "--model", "codes"]);
    assert_eq!(line, "nestcast: the folder empty contains no pictures and no .nst streams: name another");
    bench.write("empty/in/bad.png", b"no picture");
    let output = run(&bench, &["index", "empty", "-o", "all.index", "--model", "codes"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.ends_with("nestcast: none of the 1 pictures can be read: nothing is written\n"), "{error}");
    assert!(bench.read("all.index") == before);
    let line = refuse(&bench, &["index", "nowhere", "-o", "all.index", "--model", "codes"]);
    assert!(line.starts_with("nestcast: the folder nowhere cannot be read: "), "{line}");
}

#[test]
fn an_index_replaces_no_picture_of_its_own() {
    let bench = bench();
    bench.write("pictures/mine.png", &picture(5, 64));
    let line = refuse(&bench, &["index", "pictures", "-o", "pictures/mine.png", "--model", "codes"]);
    assert_eq!(line, "nestcast: pictures/mine.png is the input: name another file to write");
    assert!(bench.read("pictures/mine.png") == picture(5, 64));
}

#[test]
fn an_index_that_cannot_serve_is_refused_with_what_to_do() {
    let bench = bench();
    succeed(&bench, &INDEX);
    let whole = bench.read("all.index");
    bench.write("query.png", &picture(9, 64));
    let refused = |bytes: &[u8], expected: &str| {
        bench.write("all.index", bytes);
        let line = refuse(&bench, &["search", "all.index", "query.png", "--model", "codes"]);
        assert!(line.starts_with("nestcast: all.index is ") && line.ends_with(expected), "{line}");
    };
    let mut corrupt = whole.clone();
    corrupt[100] ^= 1;
    refused(&corrupt, "its checksum is not that of its bytes: index the pictures again");
    refused(&whole[..whole.len() - 1], "index the pictures again");
    refused(&[], "all.index is empty: index the pictures again");
    refused(b"something else", "it is no index: name a file that `nestcast index` wrote");
    let mut newer = whole.clone();
    newer[8] += 1;
    refused(&newer, "update nestcast, or index the pictures again");
    newer[8] = 0;
    refused(&newer, "it is an index of version 0, and this build reads version 1: index the pictures again");

    bench.write("all.index", &whole);
    codes::write(&bench.path("others"), 1);
    let line = refuse(&bench, &["search", "all.index", "query.png", "--model", "others"]);
    assert!(line.contains("its codes are of the model ") && line.ends_with("or index the pictures again"), "{line}");
}

#[test]
fn a_query_that_is_no_picture_is_refused() {
    let bench = bench();
    succeed(&bench, &INDEX);
    bench.write("notes.txt", b"no picture, and no stream either, but some words");
    for query in ["notes.txt", "nowhere.png", "all.index"] {
        let line = refuse(&bench, &["search", "all.index", query, "--model", "codes"]);
        assert!(line.starts_with(&format!("nestcast: {query} ")), "{line}");
    }
    let said = bench.misuse(&["search", "all.index", "pictures/1.png", "--model", "nowhere"]);
    assert!(
        said.contains("'nowhere' for '--model <NAME|DIR>': there is no such model and no such folder; built-in models for codes: thumb"),
        "{said}"
    );
}

#[test]
fn of_two_writers_at_once_one_index_stays_whole() {
    let bench = bench();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| succeed(&bench, &INDEX));
        }
    });
    bench.write("query.png", &picture(9, 64));
    assert_eq!(search(&bench, "query.png")["pictures"], 14);
    assert!(bench.files().keys().all(|name| !name.starts_with(".nestcast-")), "{:?}", bench.files().keys());
}

#[test]
fn a_killed_writer_leaves_a_whole_index() {
    let bench = bench();
    succeed(&bench, &INDEX);
    let old = bench.read("all.index");
    bench.write("pictures/1.png", b"no longer a picture");
    bench.write("pictures/2.png", &picture(3, 3000));
    let mut command = bench.command(NESTCAST);
    if let Ok(runtime) = Runtime::open() {
        command.env(LIBRARY_VARIABLE, runtime.library());
    }
    let mut child =
        command.args(INDEX).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("the binary starts");
    // The first picture is named as left out before the others are read.
    let mut named = String::new();
    BufReader::new(child.stderr.take().expect("it is piped")).read_line(&mut named).expect("a line");
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert!(named.contains("pictures/1.png"), "{named}");
    bench.write("query.png", &picture(9, 64));
    assert_eq!(search(&bench, "query.png")["found"][0]["picture"], "pictures/more/9.png");
    assert!(bench.read("all.index") == old || search(&bench, "query.png")["pictures"] == 13);
}

#[test]
fn of_a_folder_that_changes_while_it_is_indexed_what_is_gone_is_named_and_counted() {
    /// The number of files whose notes exceed a pipe's buffer: the program waits for its reader before it gets to the
    /// pictures.
    const BROKEN: usize = 1500;
    let bench = bench();
    (0..BROKEN).for_each(|number| bench.write(&format!("pictures/0-{number:04}.png"), b"no picture"));
    let mut command = bench.command(NESTCAST);
    if let Ok(runtime) = Runtime::open() {
        command.env(LIBRARY_VARIABLE, runtime.library());
    }
    command.args(INDEX).args(["--threads", "1", "--json"]).stderr(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let mut notes = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut said = String::new();
    notes.read_line(&mut said).expect("a line");
    fs::remove_dir_all(bench.path("pictures/more")).expect("a folder");
    bench.write("pictures/15.png", &picture(15, 64));
    notes.read_to_string(&mut said).expect("text");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{said}");
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&summary["pictures"], &summary["left_out"]), (&Value::from(7), &Value::from(BROKEN + 7)));
    let gone = said.lines().filter(|line| line.starts_with("nestcast: note: left out: pictures/more/"));
    assert_eq!(gone.count(), 7, "{said}");
    bench.write("query.png", &picture(6, 64));
    assert_eq!(search(&bench, "query.png")["found"][0]["picture"], "pictures/6.png");
}

/// Opening a pipe would block the program for ever.
#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_opened() {
    let bench = bench();
    let pipe = bench.path("pictures/pipe.png");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
    let (out, _) = succeed(&bench, &INDEX);
    assert!(out.starts_with("all.index: 14 pictures, 64 bits"), "{out}");
}

#[test]
fn a_code_is_encoded_cut_at_any_bit_and_decoded() {
    let bench = bench();
    bench.write("small.png", &picture(5, 32));
    let (out, _) = succeed(&bench, &["encode", "small.png", "-o", "small.nsc", "--model", "codes"]);
    assert_eq!(out, "small.nsc: code of 64 bits, model cells\n");
    bench.succeed(&["cut", "small.nsc", "-o", "cut.nsc", "--bits", "13"]);
    assert_eq!((bench.read("small.nsc").len(), bench.read("cut.nsc").len()), (18 + 8, 18 + 2));
    let (out, _) = succeed(&bench, &["decode", "cut.nsc", "-o", "cut.png", "--model", "codes"]);
    assert_eq!(out, "cut.png: 32x32 from 13 of 64 bits, model cells\n");
    assert!(bench.read("cut.png").starts_with(b"\x89PNG"));
    let line = refuse(&bench, &["decode", "cut.nsc", "-o", "cut.png"]);
    assert!(line.ends_with("it is of another model: name the folder of its package with --model"), "{line}");
    succeed(&bench, &["encode", "small.png", "-o", "thumb.nsc", "--model", "thumb"]);
    for other in ["codes", "photo"] {
        let line = refuse(&bench, &["decode", "thumb.nsc", "-o", "cut.png", "--model", other]);
        assert!(line.ends_with(&format!("it is of the model thumb, and --model {other} is another")), "{line}");
    }
    let line = refuse(&bench, &["encode", "pictures/1.png", "-o", "cut.nsc", "--model", "codes"]);
    assert!(line.ends_with("has 64x64 pixels: scale it to the 32x32 that cells codes"), "{line}");
    let line = refuse(&bench, &["cut", "small.nsc", "-o", "cut.nsc", "--bytes", "13"]);
    assert_eq!(line, "nestcast: this is a code: cut it with --bits");
    let line = refuse(&bench, &["encode", "small.png", "-o", "a.nsc", "--model", "codes", "--analysis", "deep"]);
    assert!(line.ends_with("a code uses the encoder of its package: leave it out"), "{line}");
    let line = refuse(&bench, &["decode", "cut.nsc", "-o", "cut.jpg", "--model", "codes"]);
    assert_eq!(line, "nestcast: cut.jpg would hold a PNG picture: give it a name that ends in .png");
}

#[test]
fn inspect_says_how_much_of_a_code_there_is_and_of_which_model() {
    let bench = bench();
    bench.write("small.png", &picture(5, 32));
    succeed(&bench, &["encode", "small.png", "-o", "small.nsc", "--model", "codes"]);
    bench.succeed(&["cut", "small.nsc", "-o", "cut.nsc", "--bits", "13"]);
    for (file, bits, whole) in [("small.nsc", 64, true), ("cut.nsc", 13, false)] {
        let (out, _) = succeed(&bench, &["inspect", file, "--model", "codes", "--json"]);
        let report: Value = serde_json::from_str(&out).expect("JSON");
        let said = (&report["bits"], &report["whole"], &report["model"]);
        assert_eq!(said, (&Value::from(bits), &Value::from(whole), &Value::from("cells")));
    }
    let (out, _) = succeed(&bench, &["inspect", "cut.nsc"]);
    assert!(out.contains("13 bits") && out.contains("name the folder of its package with --model"), "{out}");
    let mut longer = bench.read("small.nsc");
    longer[10..12].copy_from_slice(&72_u16.to_le_bytes());
    longer.push(0);
    bench.write("longer.nsc", &longer);
    for arguments in [&["decode", "longer.nsc", "-o", "out.png"][..], &["inspect", "longer.nsc"]] {
        let line = refuse(&bench, &[arguments, &["--model", "codes"]].concat());
        assert!(line.ends_with("it has 72 bits where its model makes 64: get the code again"), "{line}");
    }
    let line = refuse(&bench, &["inspect", "cut.nsc", "--original", "small.png"]);
    assert!(line.ends_with("cut.nsc is a code: leave it out"), "{line}");
}

#[test]
fn a_search_that_cannot_show_what_is_asked_for_is_refused() {
    let bench = bench();
    succeed(&bench, &INDEX);
    let search = ["search", "all.index", "pictures/1.png", "--model", "codes"];
    for (rest, part) in [
        (&["--among", "1"][..], "--among 1 is fewer than the 10 pictures to show"),
        (&["--among", "5", "--top", "6"], "nestcast search"),
        (&["--sheet", "sheet.jpg"], "a name that ends in .png"),
    ] {
        let said = bench.misuse(&[&search[..], rest].concat());
        assert!(said.contains(part), "{said}");
    }
    succeed(&bench, &[&search[..], &["--among", "5", "--top", "5"]].concat());
}

#[test]
fn a_sheet_shows_a_picture_that_came_through_a_pipe() {
    let bench = bench();
    succeed(&bench, &INDEX);
    bench.write("standard input", &picture(9, 150));
    let search = |query| ["search", "all.index", query, "--model", "codes", "--sheet", "sheet.png"];
    succeed(&bench, &search("standard input"));
    let expected = bench.read("sheet.png");
    let query = File::open(bench.path("standard input")).expect("a file");
    let output = command(&bench, &search("-")).stdin(query).output().expect("the binary ends");
    assert!(output.status.success() && bench.read("sheet.png") == expected, "the sheet lacks the picture");
}

#[test]
fn a_sheet_on_standard_output_leaves_json_to_standard_error() {
    let bench = bench();
    succeed(&bench, &INDEX);
    let arguments = ["search", "all.index", "pictures/1.png", "--model", "codes", "--sheet", "-", "--json"];
    let output = run(&bench, &arguments);
    assert!(output.status.success() && output.stdout.starts_with(b"\x89PNG"));
    let report: Value = serde_json::from_slice(&output.stderr).expect("JSON");
    assert_eq!(report["found"][0]["picture"], "pictures/1.png");
}
