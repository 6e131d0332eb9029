//! Names of files: control characters, any bytes, a dash at the beginning.

#![cfg(unix)]

use crate::harness::{Bench, NESTCAST, png};

#[test]
fn names_that_a_terminal_obeys_are_said_without_their_control_characters() {
    let bench = Bench::new();
    let (red, named) = ("\u{1b}[31m.png", "?[31m.png");
    bench.write(red, b"no picture");
    bench.write("worse.png", b"");
    let line = bench.refuse(&["encode", red, "-o", "out"]);
    assert!(line.starts_with(&format!("nestcast: {named} is refused")), "{line}");
    let output = bench.run(&["eval", red, "worse.png", "--decoder", "linear"], &[]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.starts_with(&format!("nestcast: note: {named} is refused")), "{error}");
    assert!(error.chars().all(|c| c == '\n' || !c.is_control()) && error.lines().count() == 3, "{error:?}");
}

#[test]
fn names_may_be_of_any_bytes_and_begin_with_a_dash() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let bench = Bench::new();
    let run = |arguments: &[&OsStr]| {
        let output = bench.command(NESTCAST).args(arguments).output().expect("the binary starts");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    for name in [&b"\xC3\xBC\xE5\x9B\xBE \xF0\x9F\x93\xB7"[..], b"caf\xE9 \xFF", b"-photo", b"--json"] {
        let named = |ending: &str| [b"./", name, ending.as_bytes()].concat();
        let (png, stream, back) = (named(".png"), named(".nst"), named(".out.png"));
        let [png, stream, back] = [&png, &stream, &back].map(|name| OsStr::from_bytes(name));
        std::fs::write(bench.path("").join(png), png::rgb(32, 24)).expect("a file");
        let words = ["encode", "decode", "-o", "--decoder", "linear", "--analysis"].map(OsStr::new);
        let [encode, decode, output, decoder, linear, analysis] = words;
        run(&[encode, png, output, stream, analysis, linear]);
        run(&[decode, stream, output, back, decoder, linear]);
        assert!(bench.path("").join(back).is_file());
    }
    // Without a folder before it, after two dashes.
    std::fs::write(bench.path("-dashed.png"), png::rgb(32, 24)).expect("a file");
    bench.succeed(&["encode", "-o=-dashed.nst", "--analysis", "linear", "--", "-dashed.png"]);
    assert!(bench.path("-dashed.nst").is_file());
}
