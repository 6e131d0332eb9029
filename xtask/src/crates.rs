//! The crates that others can depend on: cargo packages each of them and builds it from its package and those of the
//! others, and none includes a file from outside its folder.

use std::{collections::BTreeSet, fs, path::Path};

use crate::{
    cargo::{self, cargo},
    failure::{Failure, Result},
};

/// The folders of the crates with `publish = true`; each crate is called `nestcast-FOLDER`.
const LIBRARY_FOLDERS: [&str; 11] =
    ["codec", "encode", "media", "models", "player", "proto", "receiver", "retrieval", "sender", "sound", "units"];
/// The fields of a manifest that a reader of a registry looks for.
const MANIFEST_FIELDS: [&str; 6] =
    ["description = ", "keywords = ", "categories = ", "readme = ", "include = ", "publish = true"];

/// What the manifest of a crate with features has, so that its documentation online shows what they add.
const FEATURES_FIELD: &str = "all-features = true";

/// Fails with the first crate that cannot be packaged or, if `builds`, built from its package, or with all files that
/// packages would lack. The builds fetch crates, and take two minutes of processor time at first, and half a minute after
/// that.
pub(crate) fn check(builds: bool) -> Result<()> {
    let root = cargo::root();
    let names: Vec<String> = LIBRARY_FOLDERS.iter().map(|folder| format!("nestcast-{folder}")).collect();
    // A lock file would make cargo ask a registry that does not have these crates yet.
    let mut arguments = vec!["--allow-dirty", "--exclude-lockfile"];
    // Without the lock file, builds take the newest crates that they may have, which may not be here.
    arguments.extend(if builds { &[][..] } else { &["--no-verify", "--offline"] });
    arguments.extend(names.iter().flat_map(|name| ["--package", name]));
    package(&arguments)?;
    let mut faults = Vec::new();
    for (folder, name) in LIBRARY_FOLDERS.iter().zip(&names) {
        let listed = package(&["--list", "--allow-dirty", "--offline", "--package", name])?;
        let files: BTreeSet<String> = listed.lines().map(|line| line.replace('\\', "/")).collect();
        faults.extend(faults_of(&root.join(folder), &files)?.into_iter().map(|fault| format!("{name}: {fault}")));
    }
    if faults.is_empty() {
        let built = if builds { ", and each builds from its package" } else { "" };
        println!("{} crates can be published{built}", LIBRARY_FOLDERS.len());
        return Ok(());
    }
    Err(Failure::say(faults.join("\n")))
}

/// Returns the output of `cargo package`.
fn package(arguments: &[&str]) -> Result<String> {
    let output = cargo()
        .arg("package")
        .args(arguments)
        .env("CARGO_PROFILE_DEV_DEBUG", "false")
        .current_dir(cargo::root())
        .output()
        .map_err(|error| Failure::say(format!("cargo cannot be started: {error}; install Rust")))?;
    if !output.status.success() {
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        let command = arguments.join(" ");
        return Err(Failure::say(format!("`cargo package {command}` failed: {}", cargo::last_line(&output))));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns what a package of these files lacks.
fn faults_of(folder: &Path, files: &BTreeSet<String>) -> Result<Vec<String>> {
    let read = |file: &str| {
        let path = folder.join(file);
        fs::read_to_string(&path).map_err(Failure::at(&path))
    };
    let manifest = read("Cargo.toml")?;
    let mut faults = missing_fields(&manifest);
    if !files.contains("README.md") {
        faults.push("README.md is not in the package".to_owned());
    }
    let mut has_example = files.iter().any(|file| file.starts_with("examples/"));
    for file in files.iter().filter(|file| file.ends_with(".rs")) {
        let source = read(file)?;
        has_example |= source.lines().any(|line| matches!(line.trim(), "//! ```" | "/// ```" | "//! ```no_run"));
        faults.extend(missing(file, &source, files));
    }
    if !has_example {
        faults.push("it has neither an example nor a doctest".to_owned());
    }
    Ok(faults)
}

/// Returns what a manifest lacks.
fn missing_fields(manifest: &str) -> Vec<String> {
    let has = |start: &str| manifest.lines().any(|line| line.starts_with(start));
    let shows_features = has("[features]").then_some(FEATURES_FIELD);
    let lacking = MANIFEST_FIELDS.into_iter().chain(shows_features).filter(|field| !has(field));
    lacking.map(|field| format!("Cargo.toml has no `{}`", field.trim_end_matches(" = "))).collect()
}

/// Returns the files that a source file includes and that the package lacks.
fn missing(file: &str, source: &str, files: &BTreeSet<String>) -> Vec<String> {
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let lacks = |included: &Included| match (resolve(folder, included.path), included.is_whole) {
        (None, _) => true,
        (Some(path), true) => !files.contains(&path),
        // A macro supplies the rest of the name.
        (Some(start), false) => !files.iter().any(|file| file.starts_with(&start)),
    };
    let found = includes(source);
    let lacking = found.iter().filter(|included| lacks(included));
    lacking.map(|included| format!("{file} includes {}, which is not in the package", included.path)).collect()
}

/// A path that a source file includes, or the first part of one.
#[derive(Debug, PartialEq, Eq)]
struct Included<'a> {
    path: &'a str,
    is_whole: bool,
}

fn includes(source: &str) -> Vec<Included<'_>> {
    let mut found = Vec::new();
    for start in ["include!(", "include_bytes!(", "include_str!("] {
        for (at, _) in source.match_indices(start) {
            let inner = source[at + start.len()..].trim_start();
            let joined = inner.strip_prefix("concat!(");
            let Some(quoted) = joined.unwrap_or(inner).trim_start().strip_prefix('"') else { continue };
            if let Some((path, _)) = quoted.split_once('"') {
                found.push(Included { path, is_whole: joined.is_none() });
            }
        }
    }
    found
}

/// Returns a path relative to a folder of the package; `None` if it leads out of the package.
fn resolve(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()?),
            "." => {}
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_resolved_and_do_not_leave_the_package() {
        assert_eq!(resolve("src/video", "../../tables/key.bin").as_deref(), Some("tables/key.bin"));
        assert_eq!(resolve("src", "./a.bin").as_deref(), Some("src/a.bin"));
        assert_eq!(resolve("src", "../../models/tables.bin"), None);
    }

    #[test]
    fn fields_that_a_manifest_lacks_are_named() {
        let whole = "description = \"\"\nkeywords = []\ncategories = []\nreadme = \"\"\ninclude = []\npublish = true\n";
        assert_eq!(missing_fields(whole), Vec::<String>::new());
        assert_eq!(missing_fields(&whole.replace("readme", "read_me")), ["Cargo.toml has no `readme`"]);
        let with_features = format!("{whole}[features]\naccess = []\n");
        assert_eq!(missing_fields(&with_features), ["Cargo.toml has no `all-features = true`"]);
        assert_eq!(
            missing_fields(&format!("{with_features}[package.metadata.docs.rs]\nall-features = true\n")),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_file_that_a_package_lacks_is_named() {
        let files: BTreeSet<String> = ["src/lib.rs", "src/in.bin", "data/photo/a.onnx"].map(str::to_owned).into();
        let sound = "include_bytes!(\"in.bin\") include_bytes!(concat!(\"../data/\", $name)) include_bytes!($name)";
        assert_eq!(missing("src/lib.rs", sound, &files), Vec::<String>::new());
        let broken =
            "include_str!(\n  \"../../README.md\") include_bytes!(\"out.bin\") include!(concat!(\"../none/\", $x))";
        let faults = missing("src/lib.rs", broken, &files);
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert!(faults.contains(&"src/lib.rs includes ../../README.md, which is not in the package".to_owned()));
    }
}
