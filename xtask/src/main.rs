//! Set-up and checks that work the same on every system: `cargo xtask help`.

mod cargo;
mod failure;
mod install;
mod platform;
mod python;
mod runtime;

use std::{env, ffi::OsString, process::ExitCode};

use failure::{Failure, Result};

const HELP: &str = "\
cargo xtask COMMAND

  demo [ARGS]      `nestcast demo ARGS`, built if need be
  nestcast ARGS    nestcast as released, built if need be
  test             every test, and the proof that the codec needs no operating system
  lint             formatting, clippy and documentation; any warning fails
  runtime          fetch ONNX Runtime if it is not there, as demo, nestcast and test do too
  install-runtime  put ONNX Runtime where an installed nestcast finds it: the user's cache folder
  help             this text

ONNX Runtime is looked for in ORT_DYLIB_PATH, the target folder and the user's cache folder; else
pip fetches it.";

fn main() -> ExitCode {
    match run(env::args_os().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(mut arguments: Vec<OsString>) -> Result<()> {
    let command = if arguments.is_empty() { OsString::new() } else { arguments.remove(0) };
    let command = command.to_str().unwrap_or_default();
    if !matches!(command, "demo" | "nestcast") && !arguments.is_empty() {
        return Err(Failure::Usage(format!("`{command}` takes no arguments")));
    }
    match command {
        "runtime" => runtime::ensure().map(drop),
        "install-runtime" => runtime::install_for_user(),
        "demo" => {
            arguments.insert(0, "demo".into());
            nestcast(&arguments)
        }
        "nestcast" => nestcast(&arguments),
        "test" => test(),
        "lint" => lint(),
        "help" | "-h" | "--help" => {
            println!("{HELP}");
            Ok(())
        }
        "" => Err(Failure::Usage("no command given".to_owned())),
        other => Err(Failure::Usage(format!("no such command: `{other}`"))),
    }
}

fn nestcast(arguments: &[OsString]) -> Result<()> {
    let library = runtime::ensure()?;
    // Built apart from running, so that building shows its progress and running adds nothing to the output.
    cargo::step(&["build", "--release", "--package", "nestcast", "--bin", "nestcast"], &[])?;
    let run = ["run", "--release", "--quiet", "--package", "nestcast", "--bin", "nestcast", "--"];
    cargo::hand_over(&run, arguments, &library)
}

fn test() -> Result<()> {
    let library = runtime::ensure()?;
    let with_runtime = [(runtime::VARIABLE, library.as_os_str())];
    cargo::step(&["test", "--workspace", "--exclude", "nestcast-benches"], &with_runtime)?;
    cargo::build_codec_for_wasm()?;
    cargo::codec_is_pure()
}

fn lint() -> Result<()> {
    cargo::step(&["fmt", "--all", "--check"], &[])?;
    cargo::step(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], &[])?;
    cargo::step(&["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-Dwarnings".as_ref())])
}
