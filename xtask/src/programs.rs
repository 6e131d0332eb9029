//! Finds other programs.

use std::process::Command;

/// Returns whether the program starts and prints its version.
pub(crate) fn starts(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}
