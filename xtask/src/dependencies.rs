//! Rules on the program's dependencies: their number, no crate in two versions, and only licences that require no more
//! than attribution.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    cargo::{self, cargo},
    failure::{Failure, Result},
};

/// The most crates of the default program, including nestcast's own. Four are for browsers (decision 27), two for WebP,
/// two are `units` and the kept threads (decision 28), eight for sound (decision 32), and one is `relayed` (decision 38).
const MAX_CRATES: usize = 149;
/// Crates in two versions, because some users of the old version have not moved on: `getrandom` for `ring`.
const TWO_VERSIONS: [&str; 1] = ["getrandom"];
/// The allowed licences. `IJG` is that of libjpeg, `NCSA` that of libFuzzer, `CDLA-Permissive-2.0` that of the list of
/// authorities that a library for relays contains.
const ALLOWED_LICENCES: [&str; 12] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CDLA-Permissive-2.0",
    "IJG",
    "ISC",
    "MIT",
    "NCSA",
    "Unicode-3.0",
    "Zlib",
];

/// Fails with every crate that breaks a rule.
pub(crate) fn check() -> Result<()> {
    let all = tree(&["--workspace", "--edges", "normal,build,dev", "--target", "all"])?;
    let program = tree(&["--package", "nestcast", "--edges", "normal"])?;
    let mut faults = unlicensed(&all);
    faults.extend(twice(&program));
    let count = program.len();
    if count > MAX_CRATES {
        faults.push(format!(
            "the default program has {count} crates, over {MAX_CRATES}: put what few need into a feature"
        ));
    }
    if faults.is_empty() {
        println!("{count} crates in the default program, {} in all: licences and versions are as agreed", all.len());
        return Ok(());
    }
    Err(Failure::say(faults.join("\n")))
}

/// A crate as `cargo tree` prints it: name, version, licence.
type Crate = (String, String, String);

fn tree(arguments: &[&str]) -> Result<BTreeSet<Crate>> {
    let output = cargo()
        .args(["tree", "--locked", "--prefix", "none", "--no-dedupe", "--format", "{p}|{l}"])
        .args(arguments)
        .output()
        .map_err(|error| Failure::say(format!("cargo cannot be started: {error}; install Rust")))?;
    if !output.status.success() {
        return Err(Failure::say(format!("`cargo tree` failed: {}", cargo::last_line(&output))));
    }
    Ok(crates(&String::from_utf8_lossy(&output.stdout)))
}

fn crates(tree: &str) -> BTreeSet<Crate> {
    let parsed = tree.lines().filter_map(|line| {
        let (package, licence) = line.split_once('|')?;
        let mut words = package.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.to_owned(), licence.trim().to_owned()))
    });
    parsed.collect()
}

fn unlicensed(crates: &BTreeSet<Crate>) -> Vec<String> {
    let refused = crates.iter().filter(|(.., licence)| !is_allowed(licence));
    refused
        .map(|(name, version, licence)| format!("{name} {version} is under `{licence}`, which is not agreed"))
        .collect()
}

fn twice(crates: &BTreeSet<Crate>) -> Vec<String> {
    let mut versions = BTreeMap::<&str, Vec<&str>>::new();
    for (name, version, _) in crates {
        versions.entry(name).or_default().push(version);
    }
    let several = versions.into_iter().filter(|(name, versions)| versions.len() > 1 && !TWO_VERSIONS.contains(name));
    several
        .map(|(name, versions)| format!("{name} is there as {}: find who needs which", versions.join(" and ")))
        .collect()
}

/// Returns whether an SPDX expression can be satisfied: one of several alternatives, all of what AND joins.
fn is_allowed(expression: &str) -> bool {
    let expression = expression.trim();
    // The old form of alternatives.
    let expression = &expression.replace('/', " OR ");
    let any = parts(expression, " OR ");
    if any.len() > 1 {
        return any.into_iter().any(is_allowed);
    }
    let all = parts(expression, " AND ");
    if all.len() > 1 {
        return all.into_iter().all(is_allowed);
    }
    match expression.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        Some(inner) => is_allowed(inner),
        None => ALLOWED_LICENCES.contains(&expression.as_str()),
    }
}

/// Splits at a word outside all parentheses.
fn parts<'a>(expression: &'a str, word: &str) -> Vec<&'a str> {
    let mut depth = 0_usize;
    let mut from = 0;
    let mut parts = Vec::new();
    for (at, letter) in expression.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 && at >= from && expression[at..].starts_with(word) => {
                parts.push(&expression[from..at]);
                from = at + word.len();
            }
            _ => {}
        }
    }
    parts.push(&expression[from..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licences_are_those_agreed() {
        for allowed in ["MIT", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "(MIT OR Apache-2.0) AND Unicode-3.0", "ISC AND MIT"]
        {
            assert!(is_allowed(allowed), "{allowed}");
        }
        for refused in ["", "GPL-3.0", "MIT AND GPL-3.0", "(GPL-3.0 OR LGPL-3.0) AND MIT", "MITX"] {
            assert!(!is_allowed(refused), "{refused}");
        }
    }

    #[test]
    fn crates_in_two_versions_are_named() {
        let tree = "a v1.0.0|MIT\nb v0.2.0 (proc-macro)|MIT\na v2.0.0|GPL-3.0\nb v0.2.0|MIT\ngetrandom v1|MIT\ngetrandom v2|MIT\n";
        let crates = crates(tree);
        assert_eq!(crates.len(), 5);
        assert_eq!(twice(&crates), ["a is there as v1.0.0 and v2.0.0: find who needs which"]);
        assert_eq!(unlicensed(&crates), ["a v2.0.0 is under `GPL-3.0`, which is not agreed"]);
    }
}
