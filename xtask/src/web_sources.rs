//! What the WebAssembly module of the browser viewer was built from: the code, the crates and their features, the settings
//! of the build, and the compiler.

use std::{
    collections::BTreeSet,
    fmt::{self, Write as _},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use sha2::{Digest as _, Sha256};

use crate::{
    cargo,
    failure::{Failure, Result},
};

pub(crate) const WASM_TARGET: &str = "wasm32-unknown-unknown";
/// The crate of the module.
pub(crate) const MODULE_PACKAGE: &str = "nestcast-web";
/// The folders of the crates whose code is in the module.
const MODULE_FOLDERS: [&str; 7] = ["codec", "media", "player", "proto", "relayed", "units", "web"];
/// The profiles that the module is built with, as the manifest's sections begin.
const PROFILES: [&str; 2] = ["[profile.release", "[profile.web"];

/// What a module was built from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The SHA-256 of code, crates and settings.
    pub(crate) sources: String,
    /// The SHA-256 of the module itself.
    pub(crate) module: String,
    /// The compiler, as it calls itself.
    pub(crate) compiler: String,
}

impl Origin {
    /// Returns that of a module that is built now, with these flags of the compiler.
    pub(crate) fn of(module: &[u8], flags: &[&str]) -> Result<Self> {
        Ok(Self { sources: digest(flags)?, module: hexadecimal(Sha256::digest(module)), compiler: compiler()? })
    }

    /// Reads what `to_string` writes; what is missing is empty.
    pub(crate) fn parse(text: &str) -> Self {
        let line = |name: &str| {
            let found = text.lines().find_map(|line| line.strip_suffix(name)).unwrap_or_default();
            found.trim().to_owned()
        };
        Self { sources: line("  sources"), module: line("  nestcast.wasm"), compiler: line("  compiler") }
    }

    /// Returns what differs in the sources or the module. Compilers may differ.
    pub(crate) fn fault(&self, now: &Self) -> Option<&'static str> {
        if self.sources != now.sources {
            return Some("is not of these sources");
        }
        (self.module != now.module).then_some("is not the module that was built")
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sources, module, compiler } = self;
        write!(f, "{sources}  sources\n{module}  nestcast.wasm\n{compiler}  compiler\n")
    }
}

/// Returns the name and version of the compiler.
pub(crate) fn compiler() -> Result<String> {
    Ok(run(Command::new("rustc").arg("-V"))?.trim().to_owned())
}

/// Returns the SHA-256 of all code in the module, without comments, tests and spaces around lines, of its crates with their
/// versions and features, and of the settings of its build.
fn digest(flags: &[&str]) -> Result<String> {
    let mut hash = Sha256::new();
    let manifest = read(&cargo::root().join("Cargo.toml"))?;
    let crates = crates()?;
    flags.iter().copied().chain(profiles(&manifest)).chain(crates.iter().map(String::as_str)).for_each(|line| {
        hash.update(line);
        hash.update("\n");
    });
    let mut files = Vec::new();
    for folder in MODULE_FOLDERS {
        collect(&cargo::root().join(folder).join("src"), &mut files)?;
    }
    files.sort();
    for path in files {
        code(&read(&path)?).for_each(|line| hash.update(line));
    }
    Ok(hexadecimal(hash.finalize()))
}

fn hexadecimal(bytes: impl IntoIterator<Item = u8>) -> String {
    bytes.into_iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns the crates that the lock file gives to the module.
fn crates() -> Result<BTreeSet<String>> {
    let which = ["tree", "--locked", "--package", MODULE_PACKAGE, "--edges", "normal,build", "--target", WASM_TARGET];
    let how = ["--prefix", "none", "--format", "{p} {f}"];
    Ok(crates_of(&run(cargo::cargo().args(which).args(how).current_dir(cargo::root()))?))
}

/// Returns the names, versions and features of crates in the output of `cargo tree`, without folders.
fn crates_of(tree: &str) -> BTreeSet<String> {
    let described = |line: &str| {
        let line = line.trim().trim_end_matches("(*)").trim();
        match (line.split_once(" ("), line.rsplit_once(')')) {
            (Some((named, _)), Some((_, features))) => format!("{named}{features}"),
            _ => line.to_owned(),
        }
    };
    tree.lines().map(described).filter(|line| !line.is_empty()).collect()
}

/// Returns the lines of the manifest's sections about the profiles of the module.
fn profiles(manifest: &str) -> impl Iterator<Item = &str> {
    let lines = manifest.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut is_inside = false;
    lines.filter(move |line| {
        if line.starts_with('[') {
            is_inside = PROFILES.iter().any(|profile| line.starts_with(profile));
        }
        is_inside
    })
}

fn run(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.output() {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        Ok(output) => Err(Failure::say(format!("{name} failed: {}", cargo::last_line(&output)))),
        Err(error) => Err(Failure::say(format!("{name} cannot be started: {error}; install Rust"))),
    }
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(Failure::at(path))
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
    fn what_a_module_was_built_from_is_written_and_read_again() {
        let origin =
            Origin { sources: "12".to_owned(), module: "ab".to_owned(), compiler: "rustc 1.95.0 (x)".to_owned() };
        assert_eq!(Origin::parse(&origin.to_string()), origin);
        let with = |sources: &str, module: &str, compiler: &str| Origin {
            sources: sources.to_owned(),
            module: module.to_owned(),
            compiler: compiler.to_owned(),
        };
        assert_eq!(origin.fault(&with("12", "ab", "another")), None);
        assert_eq!(origin.fault(&with("13", "ab", "another")), Some("is not of these sources"));
        assert_eq!(origin.fault(&with("12", "ac", "another")), Some("is not the module that was built"));
        // A file of before, with the sources' digest alone.
        assert!(Origin::parse("12\n").fault(&origin).is_some());
    }

    #[test]
    fn profiles_and_crates_of_the_module_are_found() {
        let manifest = "[profile.release]\nlto = \"thin\"\n\n# Why.\n[profile.web.package.\"*\"]\nopt-level = \"s\"\n\
                        [profile.dev]\ndebug = false\n";
        assert_eq!(
            profiles(manifest).collect::<Vec<_>>(),
            ["[profile.release]", "lto = \"thin\"", "[profile.web.package.\"*\"]", "opt-level = \"s\""]
        );
        let tree = "nestcast-web v0.1.0 (/home/a b/web) \nbytes v1.12.1 default,std\nsyn v3.0.9 full (*)\n\
                    thiserror-impl v2.0.21 (proc-macro) \nbytes v1.12.1 default,std (*)\n";
        let crates = ["bytes v1.12.1 default,std", "nestcast-web v0.1.0", "syn v3.0.9 full", "thiserror-impl v2.0.21"];
        assert_eq!(crates_of(tree).into_iter().collect::<Vec<_>>(), crates);
    }

    #[test]
    fn code_changes_the_digest_and_comments_and_tests_do_not() {
        let lines = |text| code(text).collect::<Vec<_>>();
        let text = "//! A file.\n\nfn a() {\n    // Why.\n    b();\n}\n#[cfg(test)]\nmod tests {}\n";
        assert_eq!(lines(text), ["fn a() {", "b();", "}"]);
        assert_ne!(lines(text), lines(&text.replace("b();", "c();")));
    }
}
