//! Python, only for pip and the zip reader: any CPython from 3.8 on works.

use std::{
    io::{self, IsTerminal},
    path::Path,
    process::{Command, Output, Stdio},
};

use crate::{
    cargo::last_line,
    failure::{Failure, Result},
    platform::{Platform, RUNTIME_VARIABLE, RUNTIME_VERSION},
};

/// The commands that may start Python 3, in the order of preference.
const PYTHON_COMMANDS: &[&[&str]] =
    if cfg!(windows) { &[&["py", "-3"], &["python"], &["python3"]] } else { &[&["python3"], &["python"]] };

/// Copies one member of a zip file: archive, member and destination are its arguments.
const EXTRACT_SCRIPT: &str = "\
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as archive, archive.open(sys.argv[2]) as source, open(sys.argv[3], 'wb') as target:
    shutil.copyfileobj(source, target)
";

/// A Python that has pip.
pub(crate) struct Python(&'static [&'static str]);

impl Python {
    pub(crate) fn find() -> Result<Self> {
        let mut without_pip = None;
        for &command in PYTHON_COMMANDS {
            let python = Self(command);
            if python.succeeds(&["-m", "pip", "--version"]) {
                return Ok(python);
            }
            if without_pip.is_none() && python.succeeds(&["-c", "import sys; sys.exit(sys.version_info < (3,))"]) {
                without_pip = Some(command.join(" "));
            }
        }
        Err(Failure::say(missing(without_pip.as_deref())))
    }

    fn succeeds(&self, arguments: &[&str]) -> bool {
        self.command().args(arguments).output().is_ok_and(|output| output.status.success())
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(self.0[0]);
        command.args(&self.0[1..]).stdin(Stdio::null());
        command
    }

    /// Downloads the platform's wheel into `folder`; pip checks its hash.
    pub(crate) fn download(&self, platform: &Platform, requirements: &Path, folder: &Path) -> Result<()> {
        // Standard output may be a picture in a pipe, so pip's progress bar goes to standard error.
        let progress = if io::stderr().is_terminal() { io::stderr().into() } else { Stdio::null() };
        let output = self
            .command()
            .args(["-m", "pip", "--disable-pip-version-check", "--no-input", "download"])
            .args(["--no-deps", "--require-hashes", "--only-binary=:all:", "--python-version", "3.11"])
            .args(["--implementation", "cp", "--abi", "cp311", "--platform", platform.pip_tag])
            .arg("-r")
            .arg(requirements)
            .arg("-d")
            .arg(folder)
            .env("PIP_REQUIRE_VIRTUALENV", "0")
            .stdout(progress)
            .stderr(Stdio::piped())
            .spawn()
            .and_then(|child| child.wait_with_output())
            .map_err(|error| Failure::say(format!("{} cannot be started: {error}", self.0.join(" "))))?;
        if output.status.success() {
            return Ok(());
        }
        Err(Failure::say(format!(
            "pip cannot fetch onnxruntime {RUNTIME_VERSION} ({}): check the network and repeat, or set {RUNTIME_VARIABLE}",
            complaint(&output)
        )))
    }

    /// Copies `member` out of the zip file `archive` to `target`.
    pub(crate) fn extract(&self, archive: &Path, member: &str, target: &Path) -> Result<()> {
        let output = self.command().args(["-c", EXTRACT_SCRIPT]).arg(archive).arg(member).arg(target).output();
        match output {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(Failure::say(format!("{}: {}", archive.display(), last_line(&output)))),
            Err(error) => Err(Failure::say(format!("{} cannot be started: {error}", self.0.join(" ")))),
        }
    }
}

fn missing(without_pip: Option<&str>) -> String {
    match without_pip {
        Some(command) => format!(
            "{command} has no pip, which fetches ONNX Runtime: install it (on Debian and Ubuntu the package \
             python3-pip), or set {RUNTIME_VARIABLE} to an ONNX Runtime library"
        ),
        None => format!(
            "Python 3 is missing, whose pip fetches ONNX Runtime: install it (on Debian and Ubuntu the package \
             python3-pip), or set {RUNTIME_VARIABLE} to an ONNX Runtime library"
        ),
    }
}

/// Returns the first sentence of the last line that pip marks as an error, else its last line.
fn complaint(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let marked = said.lines().rev().find_map(|line| line.trim().strip_prefix("ERROR: "));
    let sentence = |line: &str| line.split(". ").next().unwrap_or(line).to_owned();
    marked.map_or_else(|| last_line(output), sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_one_line_naming_package_and_variable() {
        for message in [missing(None), missing(Some("py -3"))] {
            assert!(!message.contains('\n') && !message.contains("  "), "{message:?}");
            assert!(message.contains("python3-pip") && message.contains("ORT_DYLIB_PATH"), "{message}");
        }
    }
}
