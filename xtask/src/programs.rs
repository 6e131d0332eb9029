//! Which other programs are there.

use std::process::Command;

/// Whether it starts and says its version.
pub(crate) fn starts(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}
