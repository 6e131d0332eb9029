//! Runs cargo and rustup as steps that pass or fail.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::Path,
    process::{Command, Output},
};

use crate::{
    failure::{Failure, Result},
    platform::RUNTIME_VARIABLE,
};

/// Returns the folder of the workspace.
pub(crate) fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

pub(crate) fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs cargo with its output shown; its failure is this program's.
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

/// Runs a program of the workspace through cargo, with its own output and exit status, and with this ONNX Runtime.
pub(crate) fn hand_over(cargo_arguments: &[&str], arguments: &[OsString], library: Option<&Path>) -> Result<()> {
    let status = cargo()
        .args(cargo_arguments)
        .args(arguments)
        .envs(library.map(|library| (RUNTIME_VARIABLE, library)))
        .status()
        .map_err(|error| Failure::say(format!("cargo cannot be started: {error}; install Rust")))?;
    if status.success() {
        return Ok(());
    }
    // Without a status, a signal such as the user's interrupt ended it.
    Err(Failure::Exit(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}

/// Makes sure that cargo can build for a target; the error says why it cannot.
pub(crate) fn add_target(target: &str) -> std::result::Result<(), String> {
    match Command::new("rustup").args(["target", "add", target]).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(last_line(&output)),
        Err(_) => Err("rustup is not installed".to_owned()),
    }
}

/// Returns the last line of a program's standard error.
pub(crate) fn last_line(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it did not say why").to_owned()
}
