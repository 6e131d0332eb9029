//! Set-up and checks that work the same on every system: `cargo xtask help`.

mod attack;
mod bindings;
mod bitexact;
mod cargo;
mod crates;
mod debian;
mod dependencies;
mod failure;
mod fuzz;
mod gstreamer;
mod install;
mod manual;
mod measure;
mod nestcast;
mod package;
mod platform;
mod programs;
mod prose;
mod python;
mod relays;
mod runtime;
mod skips;
mod staging;
mod testing;
mod wasm;
mod web;
mod web_sources;

use std::{env, ffi::OsString, process::ExitCode};

use failure::{Failure, Result};
use nestcast::FULL_FEATURES;

const HELP_TEXT: &str = "\
cargo xtask COMMAND

  demo [ARGS]      `nestcast demo ARGS`, built if need be
  nestcast ARGS    nestcast as released, with all its features, built if need be
  report           draw benches/results/report.html, plots and tables from the results; measures nothing
  measure COMMAND  measure anew into benches/results: `measure all KODAK` does all that depends on nestcast, with KODAK
                   the folder of its 24 pictures; `measure help` lists the parts; all need cmake, nasm and
                   perl, `measure video` ffmpeg; `measure retrieval` needs none of them
  test             every test, those of the benchmarks where cmake, nasm and perl are there to build the rivals; a broadcast by
                   codec, encode, player and proto in WebAssembly that imports nothing from its host, where rustup can
                   add that target and Node.js runs it (else it says `skipped`); a check that they depend on no tokio,
                   quinn, ort or image;
                   at the end what failed, with the command that runs each failed test again
  test --busy N    every test N times next to a busy loop on every core, and how often each failed
  attack           hostile receivers and senders against real ones, in release: a table of figures and their bounds
  bitexact         one set of digests of streams, coefficients and pictures from builds for this processor's baseline,
                   AVX2, all that it has, aarch64 under qemu, and wasm32 under Node.js, in debug and release, on 1 to 7
                   threads; says which of these it skipped and why
  bitexact --quick the same for one build for each set of vector instructions, and one photo: what `.ci/run` has time for
  bindings         build and test the Python package, the C library and the GStreamer plugin, by packages and a cbindgen that
                   it installs below the target folder, and as root with Debian's packages of GStreamer; skips by name what
                   lacks Python, a C compiler or GStreamer, or fails there if NESTCAST_REQUIRE_BINDINGS is set
  bindings gstreamer   only the GStreamer plugin
  bindings --header  write the C library's header, to commit
  relays           broadcasts through relays of Media over QUIC: lints and tests of their crate and of the program with the
                   feature `moq`, through a moq-relay that it installs below the target folder (some minutes once), or
                   that NESTCAST_MOQ_RELAY names
  relays --measure the figures of docs/measurements/relays.md
  wheels           wheels of the Python package for Linux on x86-64 and aarch64, into target/wheels; needs rustup
  fuzz [TARGET] [--minutes N] [--keep]
                   fuzz one target of fuzz/, or all, for N minutes each, 1 unless told; installs cargo-fuzz if it is not
                   there; --keep makes the committed corpus the smallest that reaches what was reached
  dependencies     licences of all crates; of the default program how many there are, and none in two versions
  crates           cargo packages each library and builds it from the packages alone, and no library includes a file from
                   outside its folder
  web              build the WebAssembly module of the browser viewer into web/dist, to commit; needs rustup
  web --check      build it again, and compare the bytes with those in web/dist; says so if another compiler built them
  prose            words that hide the doer stay rare in comments and documents, and sentences and lines short
  lint             dependencies, crates, prose, that web/dist is of these sources, formatting, clippy
                   and documentation; any warning fails; needs cmake, nasm and perl
  manual           man pages and shell completions of the program with all its features, into target/manual; says where to
                   copy them
  package          a Debian package of the program with its manual, into target/packages; needs tar, gzip
                   and strip (Debian: binutils)
  package --static the same as an archive, with a program that needs no library of the system, for x86-64; it has no decoder
                   by networks; needs rustup, and musl-gcc (Debian: musl-tools)
  runtime          fetch ONNX Runtime if it is not there, as demo, nestcast and test do too
  install-runtime  put ONNX Runtime where an installed nestcast finds it: the user's cache folder
  help             this text

ONNX Runtime is what ORT_DYLIB_PATH names, else the pinned release in the user's cache folder or in the
target folder; else pip fetches it into the target folder.";

fn main() -> ExitCode {
    match run(env::args_os().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(mut arguments: Vec<OsString>) -> Result<()> {
    let command = if arguments.is_empty() { OsString::new() } else { arguments.remove(0) };
    let command = command.to_str().unwrap_or_default();
    let takes_arguments =
        ["bindings", "bitexact", "demo", "fuzz", "measure", "nestcast", "package", "relays", "test", "web"];
    if !takes_arguments.contains(&command) && !arguments.is_empty() {
        return Err(Failure::Usage(format!("`{command}` takes no arguments")));
    }
    match command {
        "runtime" => runtime::ensure().map(drop),
        "install-runtime" => runtime::install_for_user(),
        "demo" => {
            arguments.insert(0, "demo".into());
            nestcast::demo(&arguments)
        }
        "nestcast" => nestcast::run(&arguments),
        "report" => measure::report(),
        "measure" => measure::run(&arguments),
        "test" => test(&arguments),
        "attack" => attack::run(),
        "bindings" => bindings::run(&arguments),
        "relays" => match arguments.as_slice() {
            [] => relays::test(),
            [word] if word == "--measure" => relays::measure(),
            _ => Err(Failure::Usage("`relays` takes nothing, or `--measure`".to_owned())),
        },
        "wheels" => bindings::wheels(),
        "bitexact" => match arguments.as_slice() {
            [] => bitexact::run(bitexact::Extent::All),
            [word] if word == "--quick" => bitexact::run(bitexact::Extent::EachInstructionSet),
            _ => Err(Failure::Usage("`bitexact` takes nothing, or `--quick`".to_owned())),
        },
        "fuzz" => fuzz::run(&arguments),
        "lint" => lint(),
        "dependencies" => dependencies::check(),
        "crates" => crates::check(true),
        "prose" => prose::check(),
        "web" => match arguments.as_slice() {
            [] => web::build(),
            [word] if word == "--check" => web::check_bytes(),
            _ => Err(Failure::Usage("`web` takes nothing, or `--check`".to_owned())),
        },
        "manual" => manual::write(package::PACKAGED_FEATURES),
        "package" => package::run(&arguments),
        "help" | "-h" | "--help" => {
            println!("{HELP_TEXT}");
            Ok(())
        }
        "" => Err(Failure::Usage("no command given".to_owned())),
        other => Err(Failure::Usage(format!("no such command: `{other}`"))),
    }
}

/// All crates but two: `cargo xtask relays` and `cargo xtask bindings` test those, with what they alone need.
const CRATE_ARGUMENTS: [&str; 6] =
    ["--locked", "--workspace", "--exclude", "nestcast-moq", "--exclude", "nestcast-gstreamer"];
/// The programs that build the benchmarks' rivals.
const RIVALS_NEED: [&str; 3] = ["cmake", "nasm", "perl"];

fn test(arguments: &[OsString]) -> Result<()> {
    let words: Option<Vec<_>> = arguments.iter().map(|argument| argument.to_str()).collect();
    let times = match words.as_deref() {
        Some([]) => None,
        Some(["--busy", times]) if times.parse::<u32>().is_ok_and(|times| times > 0) => times.parse().ok(),
        _ => return Err(Failure::Usage("`test` takes nothing, or `--busy N`".to_owned())),
    };
    let library = runtime::ensure()?;
    let with_runtime = [(platform::RUNTIME_VARIABLE, library.as_os_str())];
    let tests = tests();
    if let Some(times) = times {
        return testing::beside_busy_loops(times, &tests, &with_runtime);
    }
    testing::conclude(testing::run(&tests, &with_runtime, |_| {})?, &[], &with_runtime)?;
    wasm::needs_no_host()?;
    wasm::pure_crates_are()
}

/// Returns arguments that select all tests that this machine can build.
fn tests() -> Vec<&'static str> {
    let missing: Vec<_> = RIVALS_NEED.into_iter().filter(|program| !programs::starts(program)).collect();
    // Every failure is reported.
    let tests = [&CRATE_ARGUMENTS[..], &["--no-fail-fast"], &FULL_FEATURES].concat();
    if missing.is_empty() {
        return tests;
    }
    println!("skipped: the benchmarks' own tests, whose rivals need {}", missing.join(", "));
    [&tests[..], &["--exclude", "nestcast-benches"]].concat()
}

fn lint() -> Result<()> {
    cargo::step(&["fmt", "--all", "--check"], &[])?;
    dependencies::check()?;
    // Their builds take a minute: `cargo xtask crates` checks those too.
    crates::check(false)?;
    prose::check()?;
    web::check()?;
    let all = [&CRATE_ARGUMENTS[..], &["--features", "nestcast/full,nestcast/packaging"]].concat();
    // As a user builds it: the crates that it needs are checked with the features that it asks for.
    let default_program = ["--locked", "--package", "nestcast"];
    for selected in [&all[..], &default_program] {
        let clippy = [&["clippy"], selected, &["--all-targets", "--", "-D", "warnings"]];
        cargo::step(&clippy.concat(), &[])?;
    }
    let doc = [&["doc"], &CRATE_ARGUMENTS[..], &FULL_FEATURES, &["--no-deps"]];
    cargo::step(&doc.concat(), &[("RUSTDOCFLAGS", "-Dwarnings".as_ref())])
}
