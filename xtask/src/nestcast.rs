//! The program as released, with all that it can have.

use std::ffi::OsString;

use crate::failure::Result;
use crate::{cargo, runtime};

/// The features of all that it can have.
pub(crate) const FULL: [&str; 2] = ["--features", "nestcast/full"];

/// Runs it; builds it before, if need be.
pub(crate) fn run(arguments: &[OsString]) -> Result<()> {
    let library = runtime::ensure()?;
    let program = [&["--locked", "--release", "--package", "nestcast", "--bin", "nestcast"], &FULL[..]].concat();
    // Built apart from running, so that building shows its progress and running adds nothing to the output.
    cargo::step(&[&["build"], &program[..]].concat(), &[])?;
    cargo::hand_over(&[&["run", "--quiet"], &program[..], &["--"]].concat(), arguments, &library)
}
