//! The rooms of this crate: which may use which, and no circle between files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// From the ground up: a room may use itself and those that it names. Files outside the rooms are rooms of one file.
const ARROWS: [(&str, &[&str]); 21] = [
    ("error", &[]),
    ("parallel", &[]),
    ("scratch", &[]),
    ("simd", &[]),
    ("entropy", &[]),
    ("picture", &["error"]),
    ("colour", &["error", "picture", "scratch", "simd"]),
    ("subband", &["error", "simd", "picture", "colour"]),
    ("wavelet", &["parallel", "scratch", "simd", "picture", "colour", "subband"]),
    ("post_filter", &["error", "scratch", "simd"]),
    ("model", &["error", "subband", "wavelet", "post_filter"]),
    ("transform", &["error", "picture", "model", "subband"]),
    (
        "linear",
        &[
            "error",
            "parallel",
            "scratch",
            "picture",
            "colour",
            "subband",
            "wavelet",
            "post_filter",
            "model",
            "transform",
        ],
    ),
    ("bitplane", &["simd", "picture", "entropy", "subband", "model"]),
    ("stream", &["error", "parallel", "picture", "colour", "entropy", "subband", "model", "transform", "bitplane"]),
    (
        "residual",
        &["error", "parallel", "scratch", "simd", "picture", "subband", "wavelet", "model", "transform", "stream"],
    ),
    ("motion", &["error", "parallel", "simd", "picture", "entropy"]),
    (
        "video",
        &[
            "error",
            "parallel",
            "scratch",
            "simd",
            "picture",
            "colour",
            "subband",
            "wavelet",
            "post_filter",
            "model",
            "transform",
            "stream",
            "residual",
            "motion",
        ],
    ),
    ("codec", &["picture", "model", "transform", "linear", "stream"]),
    (
        "training",
        &[
            "error",
            "entropy",
            "picture",
            "colour",
            "bitplane",
            "subband",
            "post_filter",
            "model",
            "transform",
            "linear",
            "stream",
            "residual",
            "motion",
            "video",
        ],
    ),
    (
        "lib",
        &[
            "error",
            "picture",
            "colour",
            "subband",
            "post_filter",
            "model",
            "transform",
            "linear",
            "stream",
            "codec",
            "motion",
            "video",
            "training",
        ],
    ),
];

/// The source files, by module path, without their tests.
fn modules() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![root.clone()];
    let mut modules = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path: PathBuf = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(&root).expect("below the root").with_extension("");
            let parts: Vec<_> = name.iter().map(|part| part.to_string_lossy()).collect();
            if !matches!(parts.last().map(|part| &**part), Some("tests" | "naive")) {
                let text = fs::read_to_string(&path).expect("a source file");
                let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
                let name = parts.join("::");
                modules.insert(name.strip_suffix("::mod").unwrap_or(&name).to_owned(), code);
            }
        }
    }
    modules
}

/// The modules that a file names behind `crate::`, as far as they are modules.
fn uses(code: &str, modules: &BTreeMap<String, String>) -> BTreeSet<String> {
    let code: String = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let mut found = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(rest.len());
        let path: Vec<&str> = rest[..end].split("::").filter(|part| !part.is_empty()).collect();
        let named =
            (1..=path.len()).rev().map(|count| path[..count].join("::")).find(|path| modules.contains_key(path));
        // `crate::room::{a::X, b::Y}` names files too.
        if rest[end..].starts_with('{') {
            let list = rest[end + 1..].split('}').next().unwrap_or_default();
            let items = list.split(',').map(|item| item.trim().split("::").next().unwrap_or_default());
            found.extend(
                items.map(|item| format!("{}::{item}", path.join("::"))).filter(|path| modules.contains_key(path)),
            );
        }
        found.extend(named);
    }
    found
}

fn room(module: &str) -> &str {
    module.split("::").next().unwrap_or(module)
}

#[test]
fn arrows_between_rooms_lead_downwards() {
    let modules = modules();
    for (position, (room, below)) in ARROWS.iter().enumerate() {
        let lower: Vec<_> = ARROWS[..position].iter().map(|(room, _)| *room).collect();
        assert!(below.iter().all(|other| lower.contains(other)), "{room}: an arrow of the table leads upwards");
    }
    for (module, code) in &modules {
        let own = room(module);
        let (_, allowed) = ARROWS.iter().find(|(room, _)| *room == own).unwrap_or_else(|| panic!("{own}: a new room"));
        for used in uses(code, &modules) {
            let other = room(&used);
            assert!(other == own || allowed.contains(&other), "{module} uses {used}: {own} may not see {other}");
        }
    }
}

#[test]
fn files_use_each_other_in_no_circle() {
    let modules = modules();
    let mut left: BTreeMap<&String, BTreeSet<String>> =
        modules.iter().map(|(module, code)| (module, uses(code, &modules))).collect();
    while !left.is_empty() {
        let names: BTreeSet<String> = left.keys().map(|name| (*name).clone()).collect();
        let before = left.len();
        left.retain(|module, used| used.iter().any(|other| other != *module && names.contains(other)));
        assert!(left.len() < before, "a circle between some of {:?}", left.keys());
    }
}

/// The map of arrows is read from the sources, so it must find them.
#[test]
fn uses_are_found() {
    let modules = modules();
    assert!(modules.len() > 30, "{} files", modules.len());
    assert!(uses(&modules["bitplane::scan"], &modules).contains("bitplane::passes"));
    assert!(uses(&modules["linear"], &modules).contains("wavelet::analysis"));
    assert!(uses("let x = crate::stream::header::MAX_HEADER;", &modules).contains("stream::header"));
}
