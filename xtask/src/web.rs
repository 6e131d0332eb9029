//! Builds the WebAssembly module of the browser viewer. The module is committed, so that nobody else needs its target. One
//! check compares its sources with those of the commit, another builds it again and compares the bytes.

use std::{env, ffi::OsString, fs, path::PathBuf};

use crate::{
    cargo,
    failure::{Failure, Result},
    runtime,
    web_sources::{self, MODULE_PACKAGE, Origin, WASM_TARGET},
};

const MODULE_PROFILE: &str = "web";
/// Vectors; 2 GiB at most; addresses in as few bytes as they need, not in five; less inlining and unrolling than usual,
/// which saves a fifth of the bytes at the same speed.
const COMPILER_FLAGS: [&str; 5] = [
    "-Ctarget-feature=+simd128",
    "-Clink-arg=--max-memory=2147483648",
    "-Clink-arg=--compress-relocations",
    "-Cllvm-args=-inline-threshold=20",
    "-Cllvm-args=-unroll-threshold=60",
];
const MODULE_FILE: &str = "web/dist/nestcast.wasm";
/// The same in gzip, made smaller than a server makes it while it runs: every viewer loads it.
const PACKED_FILE: &str = "web/dist/nestcast.wasm.gz";
/// What the module was built from.
const ORIGIN_FILE: &str = "web/dist/sources.sha256";

/// Builds the module, packs it, and records what it was built from.
#[cfg(feature = "pack")]
pub(crate) fn build() -> Result<()> {
    let bytes = compile()?;
    let mut packed = Vec::new();
    zopfli::compress(zopfli::Options::default(), zopfli::Format::Gzip, &*bytes, &mut packed)
        .map_err(Failure::at(std::path::Path::new(PACKED_FILE)))?;
    write(MODULE_FILE, &bytes)?;
    write(PACKED_FILE, &packed)?;
    write(ORIGIN_FILE, Origin::of(&bytes, &COMPILER_FLAGS)?.to_string().as_bytes())?;
    let (whole, packed) = (bytes.len(), packed.len());
    println!("{MODULE_FILE}: {whole} bytes, {packed} packed; `nestcast web-viewer -o DIR` writes it with the page");
    Ok(())
}

/// Runs an `xtask` with the feature `pack`. Nobody else has to build the crate that packs.
#[cfg(not(feature = "pack"))]
pub(crate) fn build() -> Result<()> {
    cargo::step(&["run", "--locked", "--quiet", "--package", "xtask", "--features", "pack", "--", "web"], &[])
}

/// Builds the module again, and fails if the committed one has other bytes. Another compiler makes others; this then says
/// that it compared nothing.
pub(crate) fn check_bytes() -> Result<()> {
    check_origin()?;
    let (noted, compiler) = (noted()?, web_sources::compiler()?);
    if noted.compiler != compiler {
        eprintln!("skipped: the bytes of {MODULE_FILE}: it was built by {}, and this is {compiler}", noted.compiler);
        return Ok(());
    }
    let (built, committed) = (compile()?, committed()?);
    if built == committed {
        println!("{MODULE_FILE}: {compiler} builds the same {} bytes", built.len());
        return Ok(());
    }
    let first = built.iter().zip(&committed).position(|(one, other)| one != other).unwrap_or(0);
    Err(Failure::say(format!(
        "{MODULE_FILE} has {} bytes, and {compiler} builds {}, of which byte {first} is another: run `cargo xtask web` and \
         commit {MODULE_FILE}, {PACKED_FILE} and {ORIGIN_FILE}",
        committed.len(),
        built.len()
    )))
}

fn compile() -> Result<Vec<u8>> {
    cargo::add_target(WASM_TARGET)
        .map_err(|why| Failure::say(format!("Rust's library for {WASM_TARGET} cannot be had: {why}")))?;
    let what = ["rustc", "--locked", "--package", MODULE_PACKAGE, "--lib", "--crate-type", "cdylib"];
    let how = ["--target", WASM_TARGET, "--profile", MODULE_PROFILE];
    cargo::step(&[&what[..], &how].concat(), &[("CARGO_ENCODED_RUSTFLAGS", flags().as_os_str())])?;
    let built = runtime::target_folder()?.join(WASM_TARGET).join(MODULE_PROFILE).join("nestcast_web.wasm");
    fs::read(&built).map_err(Failure::at(&built))
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
    check_origin()?;
    clippy()
}

fn check_origin() -> Result<()> {
    let (noted, now) = (noted()?, Origin::of(&committed()?, &COMPILER_FLAGS)?);
    match noted.fault(&now) {
        None => Ok(()),
        Some(fault) => Err(Failure::say(format!(
            "{MODULE_FILE} {fault}: run `cargo xtask web` and commit {MODULE_FILE}, {PACKED_FILE} and {ORIGIN_FILE}"
        ))),
    }
}

fn committed() -> Result<Vec<u8>> {
    let path = cargo::root().join(MODULE_FILE);
    fs::read(&path).map_err(Failure::at(&path))
}

fn noted() -> Result<Origin> {
    let path = cargo::root().join(ORIGIN_FILE);
    let text = fs::read_to_string(&path).map_err(Failure::at(&path))?;
    Ok(Origin::parse(&text))
}

fn clippy() -> Result<()> {
    if let Err(why) = cargo::add_target(WASM_TARGET) {
        eprintln!("skipped: clippy of the browser viewer's module: {why}");
        return Ok(());
    }
    let clippy = ["clippy", "--locked", "--package", MODULE_PACKAGE, "--target", WASM_TARGET, "--", "-D", "warnings"];
    cargo::step(&clippy, &[])
}

#[cfg(feature = "pack")]
fn write(name: &str, bytes: &[u8]) -> Result<()> {
    let path = cargo::root().join(name);
    fs::create_dir_all(path.parent().unwrap_or(&path)).map_err(Failure::at(&path))?;
    fs::write(&path, bytes).map_err(Failure::at(&path))
}
