//! Man pages and shell completions, from the definitions with which the program parses its arguments.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use crate::{
    cargo,
    failure::{Failure, Result},
    runtime,
};

/// The places where shells look for a user's completions.
const PLACES: &str = "\
Copy them to where your shell and `man` look, for one user:
  man/*.1                    ~/.local/share/man/man1/
  completions/nestcast.bash  ~/.local/share/bash-completion/completions/nestcast
  completions/nestcast.fish  ~/.config/fish/completions/
  completions/_nestcast      a folder of zsh's $fpath";

/// The profile in which the program that writes them is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// That of tests.
    Dev,
    /// That of a package, whose build has the same dependencies.
    Release,
}

/// Writes them for a program with these features, and prints where they belong.
pub(crate) fn write(features: &str) -> Result<()> {
    let folder = generate(features, Profile::Dev)?;
    println!("man pages and completions are in {}.\n{PLACES}", folder.display());
    Ok(())
}

/// Writes them for a program with these features; returns their folder.
pub(crate) fn generate(features: &str, profile: Profile) -> Result<PathBuf> {
    let folder = runtime::target_folder()?.join("manual");
    clear(&folder)?;
    let features = format!("{features} packaging");
    let profile = if profile == Profile::Release { "release" } else { "dev" };
    let program =
        ["run", "--locked", "--quiet", "--profile", profile, "--package", "nestcast", "--bin", "nestcast-manual"];
    let to = folder.to_str().ok_or_else(|| Failure::say(format!("{}: not a name in UTF-8", folder.display())))?;
    cargo::step(&[&program[..], &["--features", &features, "--", to]].concat(), &[])?;
    Ok(folder)
}

/// Removes an earlier run's folder.
pub(crate) fn clear(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Failure::at(folder)(error)),
        _ => Ok(()),
    }
}
