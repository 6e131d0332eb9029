//! The program as released, with all features, and its demonstration.

use std::ffi::OsString;

use crate::failure::Result;
use crate::{cargo, runtime};

/// The arguments that select all features.
pub(crate) const FULL_FEATURES: [&str; 2] = ["--features", "nestcast/full"];

/// The arguments that select the demonstration, in the profile that builds soonest.
const QUICK_DEMO: [&str; 4] = ["--profile", "quick", "--features", "nestcast/demo"];

/// Runs the program as released; builds it first if necessary.
pub(crate) fn run(arguments: &[OsString]) -> Result<()> {
    build_and_run(&[&["--release"], &FULL_FEATURES[..]].concat(), arguments)
}

/// Runs the demonstration; builds no more than it needs.
pub(crate) fn demo(arguments: &[OsString]) -> Result<()> {
    build_and_run(&QUICK_DEMO, arguments)
}

fn build_and_run(selection: &[&str], arguments: &[OsString]) -> Result<()> {
    let library = runtime::ensure_if_possible()?;
    let program = [&["--locked", "--package", "nestcast", "--bin", "nestcast"], selection].concat();
    // Building is a separate step, so that it shows its progress and running adds nothing to the output.
    cargo::step(&[&["build"], &program[..]].concat(), &[])?;
    cargo::hand_over(&[&["run", "--quiet"], &program[..], &["--"]].concat(), arguments, library.as_deref())
}
