//! Runs the measurements, singly or all in order.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::{
    cargo,
    failure::{Failure, Result},
    nestcast,
    platform::RUNTIME_VARIABLE,
    runtime,
};

/// The picture that is timed, among Kodak's.
const TIMED_PICTURE: &str = "kodim05.png";
/// The models whose rate and distortion are measured, each with its analysis and its table.
const MEASURED_MODELS: [(&str, &str, &str); 2] =
    [("photo", "deep", "kodak/nestcast.csv"), ("photo-ssim", "masked", "kodak/nestcast-ssim.csv")];
/// The variable that names the picture to the benchmarks.
const TIMED_VARIABLE: &str = "NESTCAST_BENCH_IMAGE";

/// Runs the measuring program quietly, because it is already built.
const RUN_MEASURES: [&str; 9] =
    ["run", "--locked", "--release", "--quiet", "--package", "nestcast-benches", "--bin", "measure", "--"];

/// Runs a command of the measuring program; `all KODAK` runs everything that depends on nestcast.
pub(crate) fn run(arguments: &[OsString]) -> Result<()> {
    let [first, rest @ ..] = arguments else {
        return Err(Failure::Usage("`measure` needs a command: `measure help` lists them".to_owned()));
    };
    if first == "retrieval" {
        return retrieval(rest);
    }
    let library = runtime::ensure()?;
    build()?;
    if first != "all" {
        return program(arguments, &library);
    }
    let [kodak] = rest else {
        return Err(Failure::Usage("`measure all` needs the folder of Kodak's pictures".to_owned()));
    };
    all(Path::new(kodak), &library)
}

/// Times queries of ordered retrieval and its rivals. A linear scan needs the processor's POPCNT to be a fair rival, so
/// this builds with it, in a folder of its own: builds with other flags would replace each other.
fn retrieval(arguments: &[OsString]) -> Result<()> {
    let folder = runtime::target_folder()?.join("retrieval");
    let words = ["run", "--locked", "--release", "--package", "nestcast-retrieval-benches", "--target-dir"];
    let mut command = cargo::cargo();
    command.args(words).arg(folder).arg("--").args(arguments);
    if cfg!(target_arch = "x86_64") {
        command.env("RUSTFLAGS", "-Ctarget-cpu=x86-64-v3");
    }
    let status = command.status();
    let status = status.map_err(|error| Failure::say(format!("cargo cannot be started: {error}; install Rust")))?;
    if status.success() { Ok(()) } else { Err(Failure::say("measuring retrieval failed: fix what it reports above")) }
}

/// Draws the report from the measurements; needs no ONNX Runtime.
pub(crate) fn report() -> Result<()> {
    build()?;
    cargo::step(&[&RUN_MEASURES[..], &["report"]].concat(), &[])
}

fn all(kodak: &Path, library: &Path) -> Result<()> {
    let timed = std::path::absolute(kodak.join(TIMED_PICTURE)).map_err(Failure::at(kodak))?;
    if !timed.is_file() {
        return Err(Failure::say(format!("{} is not there: name the folder of Kodak's pictures", timed.display())));
    }
    for (model, analysis, csv) in MEASURED_MODELS {
        let csv = results().join(csv);
        let words: [OsString; 6] =
            ["eval".into(), kodak.into(), "--model".into(), model.into(), "--csv".into(), csv.into()];
        nestcast::run(&[&words[..], &["--analysis".into(), analysis.into()]].concat())?;
    }
    program(&["population".into(), "--images".into(), kodak.into()], library)?;
    program(&["perceptual".into(), "--images".into(), kodak.into()], library)?;
    program(&["sheets".into()], library)?;
    let variables = [(RUNTIME_VARIABLE, library.as_os_str()), (TIMED_VARIABLE, timed.as_os_str())];
    cargo::step(&["bench", "--locked", "--package", "nestcast-benches"], &variables)?;
    let criterion = runtime::target_folder()?.join("criterion");
    program(&["timings".into(), criterion.into(), "--picture".into(), TIMED_PICTURE.into()], library)?;
    program(&["scaling".into()], library)?;
    report()
}

fn build() -> Result<()> {
    cargo::step(&["build", "--locked", "--release", "--package", "nestcast-benches", "--bin", "measure"], &[])
}

fn program(arguments: &[OsString], library: &Path) -> Result<()> {
    cargo::hand_over(&RUN_MEASURES, arguments, Some(library))
}

/// Returns the folder of the committed tables.
fn results() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../benches/results")
}
