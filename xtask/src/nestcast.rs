//! The program as released, with all features.

use std::ffi::OsString;

use crate::failure::Result;
use crate::{cargo, runtime};

/// The arguments that select all features.
pub(crate) const FULL: [&str; 2] = ["--features", "nestcast/full"];

/// Runs the program; builds it first if necessary.
pub(crate) fn run(arguments: &[OsString]) -> Result<()> {
    let library = runtime::ensure()?;
    let program = [&["--locked", "--release", "--package", "nestcast", "--bin", "nestcast"], &FULL[..]].concat();
    // Building is a separate step, so that it shows its progress and running adds nothing to the output.
    cargo::step(&[&["build"], &program[..]].concat(), &[])?;
    cargo::hand_over(&[&["run", "--quiet"], &program[..], &["--"]].concat(), arguments, &library)
}
