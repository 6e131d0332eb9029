//! Broadcasts through relays of Media over QUIC: checks their crate and the program with it, and runs its tests, those
//! with `moq-relay` included. The crate has dependencies that nothing else needs, so no other command builds it.

use std::{env, path::PathBuf};

use crate::{
    cargo,
    failure::{Failure, Result},
    package::PACKAGED_FEATURES,
    runtime::target_folder,
};

/// The relay as cargo installs it. Its lock file names a crate that the registry has withdrawn, so there is no
/// `--locked`.
const INSTALL_RELAY: [&str; 8] =
    ["install", "moq-relay", "--version", "=0.17.10", "--no-default-features", "--features", "noq", "--root"];
/// Names an installed relay to test with, for the tests and for this command.
const RELAY_VARIABLE: &str = "NESTCAST_MOQ_RELAY";

/// Checks and tests.
pub(crate) fn test() -> Result<()> {
    for selected in [
        &["--package", "nestcast-moq", "--all-targets"][..],
        &["--package", "nestcast", "--features", PACKAGED_FEATURES],
    ] {
        cargo::step(&[&["clippy", "--locked"], selected, &["--", "-D", "warnings"]].concat(), &[])?;
    }
    let relay = relay("relays", &["--debug"])?;
    let variables = [(RELAY_VARIABLE, relay.as_os_str()), ("RUST_BACKTRACE", "0".as_ref())];
    let one_by_one = ["--include-ignored", "--test-threads", "1"];
    cargo::step(&[&["test", "--locked", "--package", "nestcast-moq", "--"], &one_by_one[..]].concat(), &variables)?;
    // Of the program's tests those with relays: the others are tested without this feature.
    let program = ["test", "--locked", "--package", "nestcast", "--features", "moq", "--test", "broadcasts", "--"];
    cargo::step(&[&program[..], &["live_relay::"], &one_by_one].concat(), &variables)
}

/// Measures: the tables of docs/measurements/relays.md.
pub(crate) fn measure() -> Result<()> {
    let relay = relay("relays-optimised", &[])?;
    let run = ["run", "--locked", "--release", "--package", "nestcast-moq", "--example", "measure"];
    cargo::step(&run, &[(RELAY_VARIABLE, relay.as_os_str())])
}

/// Returns the relay's program, and installs it with these options in this folder below the target folder if it is not
/// there.
fn relay(folder: &str, options: &[&str]) -> Result<PathBuf> {
    if let Some(named) = env::var_os(RELAY_VARIABLE) {
        return Ok(named.into());
    }
    let root = target_folder()?.join(folder);
    let program = root.join("bin").join(format!("moq-relay{}", env::consts::EXE_SUFFIX));
    if program.is_file() {
        return Ok(program);
    }
    println!("installing moq-relay, which takes some minutes once");
    let place = root.to_str().ok_or_else(|| Failure::say("the target folder's name is not UTF-8"))?;
    cargo::step(&[&INSTALL_RELAY[..], &[place], options].concat(), &[])?;
    Ok(program)
}
