//! The files of a release: a Debian package, and an archive with a program that needs no library of the system.

use std::{ffi::OsString, path::PathBuf};

use crate::{
    cargo, debian,
    failure::{Failure, Result},
    manual::{self, Profile},
    programs, runtime,
    staging::{WORKSPACE_VERSION, files, install, install_program, packages, tar},
};

/// The features of the packaged program: all. Relays are apart from the others, because they add 80 crates to a build.
pub(crate) const PACKAGED_FEATURES: &str = "full,moq";
/// The target of the program that needs no library of the system.
const STATIC_TARGET: &str = "x86_64-unknown-linux-musl";
/// The contents of an archive in addition to the program, its manual and its completions.
const ARCHIVED_DOCUMENTS: [&str; 4] = ["CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// Builds the Debian package; with `--static`, builds the archive.
pub(crate) fn run(arguments: &[OsString]) -> Result<()> {
    let words: Vec<_> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    let built = match words.as_slice() {
        [] if arguments.is_empty() => {
            debian::package(&program(None)?, &manual::generate(PACKAGED_FEATURES, Profile::Release)?)?
        }
        ["--static"] => archive()?,
        _ => return Err(Failure::Usage("`package` takes nothing, or `--static`".to_owned())),
    };
    println!("{}", built.display());
    Ok(())
}

/// Builds the program in release and returns its path.
fn program(target: Option<&str>) -> Result<PathBuf> {
    let mut build = vec!["build", "--locked", "--release", "--package", "nestcast", "--bin", "nestcast"];
    build.extend(["--features", PACKAGED_FEATURES]);
    build.extend(target.map(|target| ["--target", target]).into_iter().flatten());
    cargo::step(&build, &[])?;
    let folder = runtime::target_folder()?;
    let folder = target.map_or_else(|| folder.clone(), |target| folder.join(target));
    Ok(folder.join("release/nestcast"))
}

/// Builds the archive `nestcast-VERSION-TARGET.tar.gz`.
fn archive() -> Result<PathBuf> {
    if !programs::starts("musl-gcc") {
        return Err(Failure::say("the static program needs musl-gcc: install what Debian calls musl-tools"));
    }
    cargo::add_target(STATIC_TARGET).map_err(|why| Failure::say(format!("cannot build for {STATIC_TARGET}: {why}")))?;
    let program = program(Some(STATIC_TARGET))?;
    let manual = manual::generate(PACKAGED_FEATURES, Profile::ReleaseFor(STATIC_TARGET))?;
    let name = format!("nestcast-{WORKSPACE_VERSION}-{STATIC_TARGET}");
    let packages = packages()?;
    let folder = packages.join(&name);
    manual::clear(&folder)?;
    install_program(&program, &folder.join("nestcast"))?;
    for part in ["man", "completions"] {
        for file in files(&manual.join(part))? {
            install(&manual.join(part).join(&file), &folder.join(part).join(&file))?;
        }
    }
    for document in ARCHIVED_DOCUMENTS {
        install(&cargo::root().join(document), &folder.join(document))?;
    }
    let archive = packages.join(format!("{name}.tar.gz"));
    tar(&packages, &name, &archive)?;
    Ok(archive)
}
