//! Trees of files for packages, with the same bytes each time.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    cargo,
    failure::{Failure, Result},
    runtime,
};

/// The version of all crates of the workspace.
pub(crate) const WORKSPACE_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Returns the folder of packages.
pub(crate) fn packages() -> Result<PathBuf> {
    let folder = runtime::target_folder()?.join("packages");
    fs::create_dir_all(&folder).map_err(Failure::at(&folder))?;
    Ok(folder)
}

/// Copies a file into a tree for a package.
pub(crate) fn install(from: &Path, to: &Path) -> Result<()> {
    let folder = to.parent().unwrap_or(to);
    fs::create_dir_all(folder).map_err(Failure::at(folder))?;
    fs::copy(from, to).map(drop).map_err(Failure::at(from))
}

/// Copies a program into a tree for a package, without the tables for debuggers: they are two thirds of its bytes. The
/// names of functions stay, for the report of a panic.
pub(crate) fn install_program(from: &Path, to: &Path) -> Result<()> {
    install(from, to)?;
    succeed(Command::new("strip").arg("--strip-debug").arg(to))
}

/// Returns the names in a folder, in order.
pub(crate) fn files(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).map_err(Failure::at(folder))?;
    let mut names: Vec<_> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}

/// Packs `name` of a folder, with root as the owner and the time of the commit, so that a second run gives the same
/// bytes.
pub(crate) fn tar(folder: &Path, name: &str, archive: &Path) -> Result<()> {
    let time = format!("--mtime=@{}", epoch());
    let owner = ["--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX", "--sort=name", "--format=gnu"];
    // `-n` leaves the time out of gzip's header.
    let mut command = Command::new("tar");
    command.arg("--create").args(owner).arg(time).arg("--use-compress-program=gzip -9n").arg("--file").arg(archive);
    succeed(command.arg("--directory").arg(folder).arg(name))
}

/// Runs a program of the system.
pub(crate) fn succeed(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| Failure::say(format!("{name} cannot be started: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    Err(Failure::say(format!("{name}: {}", cargo::last_line(&output))))
}

/// Returns the date of all files in seconds: `SOURCE_DATE_EPOCH`, else the time of the commit.
pub(crate) fn epoch() -> u64 {
    let told = env::var("SOURCE_DATE_EPOCH").ok().and_then(|told| told.parse().ok());
    told.or_else(commit_time).unwrap_or(0)
}

fn commit_time() -> Option<u64> {
    let output = Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(cargo::root()).output().ok()?;
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}
