//! Cargo and rustup, run as steps that pass or fail.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::Path,
    process::{Command, Output},
};

use crate::{
    failure::{Failure, Result},
    platform::VARIABLE,
};

/// The crates that know no operating system.
const PURE: [&str; 3] = ["nestcast-codec", "nestcast-proto", "nestcast-retrieval"];
const WASM: &str = "wasm32-unknown-unknown";

/// Crates that would tie them to an operating system, a network or an image file format.
const IMPURE: [&str; 4] = ["tokio", "quinn", "ort", "image"];

pub(crate) fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs cargo with its output shown; its failure is ours.
pub(crate) fn step(arguments: &[&str], variables: &[(&str, &OsStr)]) -> Result<()> {
    let status = cargo()
        .args(arguments)
        .envs(variables.iter().copied())
        .status()
        .map_err(|error| Failure::say(format!("cargo cannot be started: {error}; install Rust")))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::say(format!("`cargo {}` failed: fix what it reports above", arguments.join(" "))))
}

/// Runs a program of ours through cargo, with its own words and exit status.
pub(crate) fn hand_over(cargo_arguments: &[&str], arguments: &[OsString], library: &Path) -> Result<()> {
    let status = cargo()
        .args(cargo_arguments)
        .args(arguments)
        .env(VARIABLE, library)
        .status()
        .map_err(|error| Failure::say(format!("cargo cannot be started: {error}; install Rust")))?;
    if status.success() {
        return Ok(());
    }
    // No status: a signal, such as the user's interrupt, ended it.
    Err(Failure::Exit(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}

/// The pure crates build where there is no operating system, if rustup can get that target here; else says that this
/// was skipped and why.
pub(crate) fn build_pure_for_wasm() -> Result<()> {
    match add_target(WASM) {
        Ok(()) => {
            let packages = PURE.iter().flat_map(|package| ["--package", package]);
            step(&["build", "--locked", "--target", WASM].into_iter().chain(packages).collect::<Vec<_>>(), &[])
        }
        Err(why) => {
            eprintln!("skipped: wasm32 build of codec, proto and retrieval: {why}");
            Ok(())
        }
    }
}

/// Makes sure that cargo can build for a target; else why it cannot.
pub(crate) fn add_target(target: &str) -> std::result::Result<(), String> {
    match Command::new("rustup").args(["target", "add", target]).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(last_line(&output)),
        Err(_) => Err("rustup is not installed".to_owned()),
    }
}

/// The pure crates depend on nothing that does input, output or timing.
pub(crate) fn pure_crates_are() -> Result<()> {
    PURE.into_iter().try_for_each(is_pure)
}

fn is_pure(package: &str) -> Result<()> {
    let output = cargo()
        .args(["tree", "--locked", "--package", package, "--edges", "normal", "--prefix", "none"])
        .output()
        .map_err(|error| Failure::say(format!("cargo cannot be started: {error}; install Rust")))?;
    if !output.status.success() {
        return Err(Failure::say(format!("`cargo tree --package {package}` failed: {}", last_line(&output))));
    }
    let tree = String::from_utf8_lossy(&output.stdout);
    match impure(&tree) {
        None => Ok(()),
        Some(name) => Err(Failure::say(format!(
            "{package} depends on `{name}`: move what needs it to another crate (`cargo tree -p {package} -i {name}`)"
        ))),
    }
}

/// The first crate in the output of `cargo tree --prefix none` that a pure crate must not see.
fn impure(tree: &str) -> Option<&str> {
    tree.lines().filter_map(|line| line.split_whitespace().next()).find(|name| IMPURE.contains(name))
}

/// The last thing a program said on its standard error.
pub(crate) fn last_line(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it did not say why").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impure_crates_are_found_by_their_whole_name() {
        let pure = "nestcast-codec v0.1.0 (somewhere/codec)\nbytes v1.10.1\nimage-webp v0.2.0\nort-sys v2.0.0\n";
        assert_eq!(impure(pure), None);
        assert_eq!(impure(&format!("{pure}image v0.25.10 (*)\n")), Some("image"));
    }
}
