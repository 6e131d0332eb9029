//! Builds the WebAssembly module of the browser viewer. The module is committed, so that nobody else needs its target,
//! and a check compares it with the sources.

use std::{
    env,
    ffi::OsString,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use crate::{
    cargo,
    failure::{Failure, Result},
    runtime,
};

const WASM_TARGET: &str = "wasm32-unknown-unknown";
const MODULE_PROFILE: &str = "web";
/// Vectors; 2 GiB at most; less inlining and unrolling than usual, which saves a fifth of the bytes at the same speed.
const COMPILER_FLAGS: [&str; 4] = [
    "-Ctarget-feature=+simd128",
    "-Clink-arg=--max-memory=2147483648",
    "-Cllvm-args=-inline-threshold=20",
    "-Cllvm-args=-unroll-threshold=60",
];
/// The crates whose code is in the module.
const MODULE_CRATES: [&str; 7] = ["codec", "media", "player", "proto", "relayed", "units", "web"];
const MODULE_FILE: &str = "web/dist/nestcast.wasm";
/// The digest of the sources that the module was built from.
const SOURCES_DIGEST: &str = "web/dist/sources.sha256";

/// Builds the module, and records the digest of its sources.
pub(crate) fn build() -> Result<()> {
    cargo::add_target(WASM_TARGET)
        .map_err(|why| Failure::say(format!("Rust's library for {WASM_TARGET} cannot be had: {why}")))?;
    let what = ["rustc", "--locked", "--package", "nestcast-web", "--lib", "--crate-type", "cdylib"];
    let how = ["--target", WASM_TARGET, "--profile", MODULE_PROFILE];
    cargo::step(&[&what[..], &how].concat(), &[("CARGO_ENCODED_RUSTFLAGS", flags().as_os_str())])?;
    let built = runtime::target_folder()?.join(WASM_TARGET).join(MODULE_PROFILE).join("nestcast_web.wasm");
    let bytes = fs::read(&built).map_err(Failure::at(&built))?;
    write(MODULE_FILE, &bytes)?;
    write(SOURCES_DIGEST, format!("{}\n", digest()?).as_bytes())?;
    println!("{MODULE_FILE}: {} bytes; `nestcast web-viewer -o DIR` writes it with the page", bytes.len());
    Ok(())
}

/// Returns the flags as cargo separates them. Messages of panics in other crates name no folder of this machine.
fn flags() -> OsString {
    let mut flags = OsString::from(COMPILER_FLAGS.join("\x1f"));
    let home = env::var_os("HOME").or_else(|| env::var_os("USERPROFILE"));
    let of_cargo = env::var_os("CARGO_HOME").map(PathBuf::from).or(home.map(|home| PathBuf::from(home).join(".cargo")));
    if let Some(of_cargo) = of_cargo {
        flags.push("\x1f--remap-path-prefix=");
        flags.push(of_cargo);
        flags.push("=cargo");
    }
    flags
}

/// Fails if the committed module was built from other sources, or if clippy warns about the module's own code.
pub(crate) fn check() -> Result<()> {
    let path = cargo::root().join(SOURCES_DIGEST);
    let noted = fs::read_to_string(&path).map_err(Failure::at(&path))?;
    if noted.trim() == digest()? {
        return clippy();
    }
    Err(Failure::say(format!(
        "{MODULE_FILE} is not of these sources: run `cargo xtask web` and commit {MODULE_FILE} and {SOURCES_DIGEST}"
    )))
}

fn clippy() -> Result<()> {
    if let Err(why) = cargo::add_target(WASM_TARGET) {
        eprintln!("skipped: clippy of the browser viewer's module: {why}");
        return Ok(());
    }
    let clippy = ["clippy", "--locked", "--package", "nestcast-web", "--target", WASM_TARGET, "--", "-D", "warnings"];
    cargo::step(&clippy, &[])
}

fn write(name: &str, bytes: &[u8]) -> Result<()> {
    let path = cargo::root().join(name);
    fs::create_dir_all(path.parent().unwrap_or(&path)).map_err(Failure::at(&path))?;
    fs::write(&path, bytes).map_err(Failure::at(&path))
}

/// Returns the SHA-256 of all code in the module, without comments, tests and spaces around lines.
fn digest() -> Result<String> {
    let mut files = Vec::new();
    for folder in MODULE_CRATES {
        collect(&cargo::root().join(folder).join("src"), &mut files)?;
    }
    files.sort();
    let mut hash = Sha256::new();
    for path in files {
        let text = fs::read_to_string(&path).map_err(Failure::at(&path))?;
        code(&text).for_each(|line| hash.update(line));
    }
    Ok(hash.finalize().iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// Returns the lines of a file that reach the compiler's output.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or_default();
    code.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"))
}

/// Collects all Rust files in a folder and its subfolders, except those of tests.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(Failure::at(folder))? {
        let path = entry.map_err(Failure::at(folder))?.path();
        let is_of_tests = path.file_stem().is_some_and(|stem| stem == "tests");
        if path.is_dir() && !is_of_tests {
            collect(&path, files)?;
        } else if !is_of_tests && path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_changes_the_digest_and_comments_and_tests_do_not() {
        let lines = |text| code(text).collect::<Vec<_>>();
        let text = "//! A file.\n\nfn a() {\n    // Why.\n    b();\n}\n#[cfg(test)]\nmod tests {}\n";
        assert_eq!(lines(text), ["fn a() {", "b();", "}"]);
        assert_ne!(lines(text), lines(&text.replace("b();", "c();")));
    }
}
