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
const COMPLETION_PLACES: &str = "\
Copy them to where your shell and `man` look, for one user:
  man/*.1                    ~/.local/share/man/man1/
  completions/nestcast.bash  ~/.local/share/bash-completion/completions/nestcast
  completions/nestcast.fish  ~/.config/fish/completions/
  completions/_nestcast      a folder of zsh's $fpath";

/// The build of the program that writes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// That of tests.
    Dev,
    /// That of a package, whose build has the same dependencies.
    Release,
    /// The same for this target, whose programs run here.
    ReleaseFor(&'static str),
}

/// Writes them for a program with these features, and prints where they belong.
pub(crate) fn write(features: &str) -> Result<()> {
    let folder = generate(features, Profile::Dev)?;
    println!("man pages and completions are in {}.\n{COMPLETION_PLACES}", folder.display());
    Ok(())
}

/// Writes them for a program with these features; returns their folder.
pub(crate) fn generate(features: &str, profile: Profile) -> Result<PathBuf> {
    let folder = runtime::target_folder()?.join("manual");
    clear(&folder)?;
    let features = format!("{features} packaging");
    let (profile, target) = match profile {
        Profile::Dev => ("dev", None),
        Profile::Release => ("release", None),
        Profile::ReleaseFor(target) => ("release", Some(target)),
    };
    let program =
        ["run", "--locked", "--quiet", "--profile", profile, "--package", "nestcast", "--bin", "nestcast-manual"];
    let target: Vec<_> = target.map(|target| ["--target", target]).into_iter().flatten().collect();
    let to = folder.to_str().ok_or_else(|| Failure::say(format!("{}: not a name in UTF-8", folder.display())))?;
    cargo::step(&[&program[..], &target, &["--features", &features, "--", to]].concat(), &[])?;
    Ok(folder)
}

/// Removes an earlier run's folder.
pub(crate) fn clear(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Failure::at(folder)(error)),
        _ => Ok(()),
    }
}
