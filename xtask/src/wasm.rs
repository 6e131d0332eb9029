//! The crates that need nothing of a host: their dependencies, and a broadcast with them in a WebAssembly module
//! without imports.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output},
};

use crate::{
    cargo,
    failure::{Failure, Result},
    programs, runtime,
};

/// The crates that know no operating system.
const PURE_CRATES: [&str; 5] =
    ["nestcast-codec", "nestcast-encode", "nestcast-player", "nestcast-proto", "nestcast-retrieval"];
/// Crates that depend on an operating system, a network or an image file format.
const IMPURE_CRATES: [&str; 4] = ["tokio", "quinn", "ort", "image"];
/// This crate reads y4m through the crate that also reads images.
const MAY_READ_IMAGES: &str = "nestcast-encode";
const WASM_TARGET: &str = "wasm32-unknown-unknown";
/// The package of the module that runs a broadcast.
const MODULE_PACKAGE: &str = "nestcast-wasm";
/// A module's first bytes, and the number of the section of its imports (WebAssembly Core Specification 1.0, section
/// 5.5).
const MODULE_MAGIC: &[u8] = b"\0asm\x01\0\0\0";
const IMPORT_SECTION: u8 = 2;
/// Runs a module without imports; a panic in it traps.
const RUNNER_SCRIPT: &str = "\
    const bytes = require('node:fs').readFileSync(process.argv[1]);\
    WebAssembly.instantiate(bytes, {}).then(({ instance }) => process.exit(instance.exports.main(0, 0)));";

/// Checks that the pure crates depend on nothing that does input, output or timing.
pub(crate) fn pure_crates_are() -> Result<()> {
    PURE_CRATES.into_iter().try_for_each(is_pure)
}

/// Checks that the pure crates build for WebAssembly, and that the module that broadcasts with them imports nothing and
/// runs. Prints that it skips what this machine lacks.
pub(crate) fn needs_no_host() -> Result<()> {
    if let Err(why) = cargo::add_target(WASM_TARGET) {
        eprintln!("skipped: pure crates in WebAssembly: {why}");
        return Ok(());
    }
    let packages = PURE_CRATES.iter().chain(&[MODULE_PACKAGE]).flat_map(|package| ["--package", package]);
    // The module runs for a second: compilers would take longer for the last half of it.
    let build = ["build", "--locked", "--target", WASM_TARGET, "--config", "profile.dev.opt-level=1"];
    cargo::step(&build.into_iter().chain(packages).collect::<Vec<_>>(), &[])?;
    let module = module()?;
    let bytes = fs::read(&module).map_err(|error| Failure::say(format!("{}: {error}", module.display())))?;
    if has_imports(&bytes).ok_or(Failure::say(format!("{} is no WebAssembly module", module.display())))? {
        return Err(Failure::say(format!(
            "{MODULE_PACKAGE} imports from its host: find what needs it (`wasm-objdump -j Import -x {}`), and move that out of {}",
            module.display(),
            PURE_CRATES.join(", ")
        )));
    }
    if !programs::starts("node") {
        eprintln!("skipped: running a broadcast in WebAssembly: install Node.js 20 or later");
        return Ok(());
    }
    let ran = Command::new("node").args(["-e", RUNNER_SCRIPT]).arg(&module).output();
    match ran {
        Ok(Output { status, .. }) if status.success() => Ok(()),
        Ok(output) => Err(Failure::say(format!("a broadcast in WebAssembly broke off: {}", cargo::last_line(&output)))),
        Err(error) => Err(Failure::say(format!("node cannot be started: {error}"))),
    }
}

/// Returns the path of the module that cargo builds.
fn module() -> Result<PathBuf> {
    Ok(runtime::target_folder()?.join(WASM_TARGET).join("debug").join(format!("{MODULE_PACKAGE}.wasm")))
}

/// Returns whether a module imports anything; `None` if it is no module.
fn has_imports(bytes: &[u8]) -> Option<bool> {
    let mut rest = bytes.strip_prefix(MODULE_MAGIC)?;
    while let Some((&section, after)) = rest.split_first() {
        let (length, after) = leb128(after)?;
        if section == IMPORT_SECTION {
            let (count, _) = leb128(after)?;
            return Some(count > 0);
        }
        rest = after.get(length..)?;
    }
    Some(false)
}

/// Reads an unsigned number of 32 bits in LEB128, and returns what follows.
fn leb128(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let length = bytes.iter().take(5).position(|byte| byte & 0x80 == 0)? + 1;
    let (number, rest) = bytes.split_at(length);
    let add = |sum: u64, (at, byte): (usize, &u8)| sum | u64::from(byte & 0x7F) << (7 * at);
    Some((usize::try_from(number.iter().enumerate().fold(0, add)).ok()?, rest))
}

fn is_pure(package: &str) -> Result<()> {
    let output = cargo::cargo()
        .args(["tree", "--locked", "--package", package, "--edges", "normal", "--prefix", "none"])
        .output()
        .map_err(|error| Failure::say(format!("cargo cannot be started: {error}; install Rust")))?;
    if !output.status.success() {
        let why = cargo::last_line(&output);
        return Err(Failure::say(format!("`cargo tree --package {package}` failed: {why}")));
    }
    let tree = String::from_utf8_lossy(&output.stdout);
    match impure(package, &tree) {
        None => Ok(()),
        Some(name) => Err(Failure::say(format!(
            "{package} depends on `{name}`: move what needs it to another crate (`cargo tree -p {package} -i {name}`)"
        ))),
    }
}

/// Returns the first crate in the output of `cargo tree --prefix none` that a pure crate must not depend on.
fn impure<'a>(package: &str, tree: &'a str) -> Option<&'a str> {
    let mut names = tree.lines().filter_map(|line| line.split_whitespace().next());
    names.find(|name| IMPURE_CRATES.contains(name) && !(package == MAY_READ_IMAGES && *name == "image"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impure_crates_are_found_by_their_whole_name() {
        let pure = "nestcast-codec v0.1.0 (somewhere/codec)\nbytes v1.10.1\nimage-webp v0.2.0\nort-sys v2.0.0\n";
        assert_eq!(impure("nestcast-codec", pure), None);
        let with_images = format!("{pure}image v0.25.10 (*)\n");
        assert_eq!(impure("nestcast-codec", &with_images), Some("image"));
        assert_eq!(impure(MAY_READ_IMAGES, &with_images), None);
        assert_eq!(impure(MAY_READ_IMAGES, &format!("{with_images}tokio v1.48.0\n")), Some("tokio"));
    }

    #[test]
    fn imports_of_a_module_are_found() {
        let module = |sections: &[u8]| [MODULE_MAGIC, sections].concat();
        assert_eq!(has_imports(b"\x7fELF"), None);
        assert_eq!(has_imports(&module(&[])), Some(false));
        assert_eq!(has_imports(&module(&[1, 0x82, 0, 7, 7, 2, 1, 0])), Some(false), "an empty list");
        assert_eq!(has_imports(&module(&[1, 2, 7, 7, 2, 9, 1, 1, b'a', 1, b'b', 0, 0])), Some(true));
        assert_eq!(has_imports(&module(&[1, 9, 7])), None, "it breaks off");
    }
}
