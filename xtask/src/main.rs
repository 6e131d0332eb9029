//! Set-up and checks that work the same on every system: `cargo xtask help`.

mod cargo;
mod failure;
mod fuzz;
mod install;
mod measure;
mod platform;
mod python;
mod runtime;

use std::{env, ffi::OsString, process::ExitCode};

use failure::{Failure, Result};

const HELP: &str = "\
cargo xtask COMMAND

  demo [ARGS]      `nestcast demo ARGS`, built if need be
  nestcast ARGS    nestcast as released, built if need be
  report           draw docs/report.html, plots and tables from benches/results; measures nothing
  measure COMMAND  measure anew into benches/results: `measure all KODAK` does all that depends on nestcast, with KODAK
                   the folder of its 24 pictures; `measure help` lists the parts; both need cmake, nasm and perl
  test             every test but the benchmarks' own; a build of codec and proto for WebAssembly where rustup can
                   add that target (else it says `skipped`); a check that they depend on no tokio, quinn, ort or image
  fuzz [TARGET] [--minutes N] [--keep]
                   fuzz one target of fuzz/, or all, for N minutes each, 1 unless told; installs cargo-fuzz if it is not
                   there; --keep makes the committed corpus the smallest that reaches what was reached
  lint             formatting, clippy and documentation; any warning fails; needs cmake, nasm and perl
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
    if !matches!(command, "demo" | "nestcast" | "measure" | "fuzz") && !arguments.is_empty() {
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
        "report" => measure::report(),
        "measure" => measure::run(&arguments),
        "test" => test(),
        "fuzz" => fuzz::run(&arguments),
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
    cargo::step(&["build", "--locked", "--release", "--package", "nestcast", "--bin", "nestcast"], &[])?;
    let run = ["run", "--locked", "--release", "--quiet", "--package", "nestcast", "--bin", "nestcast", "--"];
    cargo::hand_over(&run, arguments, &library)
}

fn test() -> Result<()> {
    let library = runtime::ensure()?;
    let with_runtime = [(runtime::VARIABLE, library.as_os_str())];
    cargo::step(&["test", "--locked", "--workspace", "--exclude", "nestcast-benches"], &with_runtime)?;
    cargo::build_pure_for_wasm()?;
    cargo::pure_crates_are()
}

fn lint() -> Result<()> {
    cargo::step(&["fmt", "--all", "--check"], &[])?;
    cargo::step(&["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"], &[])?;
    cargo::step(&["doc", "--locked", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-Dwarnings".as_ref())])
}
