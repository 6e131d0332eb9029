//! What a release has for users: a Debian package, and an archive with a program that needs no library of the system.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    cargo, debian,
    failure::{Failure, Result},
    manual, runtime,
};

/// The features of the program that is packaged: all of them.
const FEATURES: &str = "full";
/// The target of the program that needs no library of the system.
const STATIC: &str = "x86_64-unknown-linux-musl";
/// The version of all crates of the workspace.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// What an archive has besides the program, its manual and its completions.
const DOCUMENTS: [&str; 4] = ["CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// Builds the Debian package, or with `--static` the archive.
pub(crate) fn run(arguments: &[OsString]) -> Result<()> {
    let words: Vec<_> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    let built = match words.as_slice() {
        [] if arguments.is_empty() => debian::package(&program(None)?, &manual::generate(FEATURES)?)?,
        ["--static"] => archive()?,
        _ => return Err(Failure::Usage("`package` takes nothing, or `--static`".to_owned())),
    };
    println!("{}", built.display());
    Ok(())
}

/// Builds the program in release and gives its path.
fn program(target: Option<&str>) -> Result<PathBuf> {
    let mut build = vec!["build", "--locked", "--release", "--package", "nestcast", "--bin", "nestcast"];
    build.extend(["--features", FEATURES]);
    build.extend(target.map(|target| ["--target", target]).into_iter().flatten());
    cargo::step(&build, &[])?;
    let folder = runtime::target_folder()?;
    let folder = target.map_or_else(|| folder.clone(), |target| folder.join(target));
    Ok(folder.join("release/nestcast"))
}

/// The archive `nestcast-VERSION-TARGET.tar.gz`.
fn archive() -> Result<PathBuf> {
    cargo::add_target(STATIC).map_err(|why| Failure::say(format!("cannot build for {STATIC}: {why}")))?;
    let program = program(Some(STATIC))?;
    let manual = manual::generate(FEATURES)?;
    let name = format!("nestcast-{VERSION}-{STATIC}");
    let packages = packages()?;
    let folder = packages.join(&name);
    manual::clear(&folder)?;
    install(&program, &folder.join("nestcast"))?;
    for part in ["man", "completions"] {
        for file in files(&manual.join(part))? {
            install(&manual.join(part).join(&file), &folder.join(part).join(&file))?;
        }
    }
    for document in DOCUMENTS {
        install(&cargo::root().join(document), &folder.join(document))?;
    }
    let archive = packages.join(format!("{name}.tar.gz"));
    tar(&packages, &name, &archive)?;
    Ok(archive)
}

/// Where packages are written.
pub(crate) fn packages() -> Result<PathBuf> {
    let folder = runtime::target_folder()?.join("packages");
    fs::create_dir_all(&folder).map_err(Failure::at(&folder))?;
    Ok(folder)
}

/// Copies a file into a tree that is packaged.
pub(crate) fn install(from: &Path, to: &Path) -> Result<()> {
    let folder = to.parent().unwrap_or(to);
    fs::create_dir_all(folder).map_err(Failure::at(folder))?;
    fs::copy(from, to).map(drop).map_err(Failure::at(from))
}

/// The names in a folder, in order.
pub(crate) fn files(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).map_err(Failure::at(folder))?;
    let mut names: Vec<_> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}

/// Packs `name` of a folder, with root as the owner and the time of the commit, so that a second run gives the same bytes.
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

/// The seconds that files are dated to: `SOURCE_DATE_EPOCH`, else the time of the commit.
pub(crate) fn epoch() -> u64 {
    let told = env::var("SOURCE_DATE_EPOCH").ok().and_then(|told| told.parse().ok());
    told.or_else(commit_time).unwrap_or(0)
}

fn commit_time() -> Option<u64> {
    let output = Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(cargo::root()).output().ok()?;
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}
