//! Which files of a crate use which, read from their sources.
//!
//! A path in a `use` or an expression leads to the file that defines the name, also through files that only re-export
//! it (`pub use`). Declaring a module does not use it. Tests are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Files that are tests, or stand in for something in tests.
const TESTS: [&str; 3] = ["tests", "naive", "testdata"];

/// The files of a crate by module path; the path of `lib.rs` or `main.rs` is empty.
pub struct Sources {
    modules: BTreeMap<String, Module>,
}

/// The names in a file.
struct Module {
    paths: Vec<Vec<String>>,
    /// Imported names, with their origin.
    imports: BTreeMap<String, Vec<String>>,
}

impl Sources {
    /// Reads the files below a crate's `src`.
    ///
    /// # Panics
    /// If they cannot be read.
    #[must_use]
    pub fn of(source: &Path) -> Self {
        let files = files_below(source);
        let files = files.iter().filter_map(|file| Some((module_path(source, file)?, file)));
        let read =
            |file: &PathBuf| fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        Self { modules: files.map(|(path, file)| (path, Module::parse(&read(file)))).collect() }
    }

    /// Returns the number of files.
    #[must_use]
    pub fn count(&self) -> usize {
        self.modules.len()
    }

    /// Returns every file with the others that it uses.
    #[must_use]
    pub fn uses(&self) -> BTreeMap<&str, BTreeSet<String>> {
        let used = |name: &String, module: &Module| {
            let found = module.paths.iter().filter_map(|path| self.resolve(name, path, 0));
            found.filter(|other| other != name).collect()
        };
        self.modules.iter().map(|(name, module)| (name.as_str(), used(name, module))).collect()
    }

    /// Returns the files that use each other in circles, each with what it uses of the others; empty if there is no
    /// circle.
    #[must_use]
    pub fn circles(&self) -> BTreeMap<&str, BTreeSet<String>> {
        let mut left = self.uses();
        loop {
            let before = left.len();
            let names: BTreeSet<String> = left.keys().map(|name| (*name).to_owned()).collect();
            left.values_mut().for_each(|used| used.retain(|other| names.contains(other)));
            left.retain(|_, used| !used.is_empty());
            let used: BTreeSet<String> = left.values().flatten().cloned().collect();
            left.retain(|name, _| used.contains(*name));
            if left.len() == before {
                return left;
            }
        }
    }

    /// Returns the file that defines what `path` names in file `module`.
    fn resolve(&self, module: &str, path: &[String], depth: usize) -> Option<String> {
        // Two files that import each other's names would recurse for ever.
        if depth > 8 {
            return None;
        }
        let (mut place, mut rest) = start(module, path);
        while let Some((first, following)) = rest.split_first() {
            let inner = join(&place, first);
            if !self.modules.contains_key(&inner) {
                break;
            }
            place = inner;
            rest = following;
        }
        let is_inside = path.first().is_some_and(|first| is_keyword(first)) || rest.len() < path.len();
        let imports = &self.modules.get(&place)?.imports;
        if let Some((name, following)) = rest.split_first()
            && let Some(from) = imports.get(name)
        {
            let whole = [from.as_slice(), following].concat();
            return self.resolve(&place, &whole, depth + 1).or_else(|| is_inside.then_some(place));
        }
        is_inside.then_some(place)
    }
}

impl Module {
    fn parse(source: &str) -> Self {
        let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let code = lines.collect::<Vec<_>>().join("\n");
        let mut module = Self { paths: Vec::new(), imports: BTreeMap::new() };
        let mut body = String::new();
        let mut rest = code.as_str();
        while let Some((before, tree, following)) = next_use(rest) {
            body.push_str(before);
            module.import(tree, &[]);
            rest = following;
        }
        body.push_str(rest);
        module.paths.extend(paths(&body));
        module
    }

    /// Records all paths of the tree after `use`; `prefix` precedes them.
    fn import(&mut self, tree: &str, prefix: &[String]) {
        let tree = tree.trim();
        if let Some((head, list)) = tree.split_once('{') {
            let prefix = [prefix, &segments(head)].concat();
            let list = list.trim_end().strip_suffix('}').unwrap_or(list);
            items(list).into_iter().for_each(|item| self.import(item, &prefix));
            return;
        }
        let (path, alias) = tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias)));
        let mut path = [prefix, &segments(path)].concat();
        if path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let Some(last) = path.last() else { return };
        let name = alias.map_or_else(|| last.clone(), |alias| alias.trim().to_owned());
        // `use name::{self}` of a module of the same name leads nowhere else.
        if path.len() > 1 {
            self.imports.insert(name, path.clone());
        }
        self.paths.push(path);
    }
}

/// Returns the code before the next `use`, what it names, and what follows.
fn next_use(code: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let at = from + code[from..].find("use ")?;
        let begins = code[..at].chars().next_back().is_none_or(|c| c.is_whitespace());
        let line = code[..at].rsplit('\n').next().unwrap_or_default().trim_start();
        if begins && (line.is_empty() || line.starts_with("pub")) {
            let (tree, following) = code[at + 4..].split_once(';')?;
            return Some((&code[..at], tree, following));
        }
        from = at + 4;
    }
}

/// Returns the paths of more than one name in code, such as `stream::Header` in `stream::Header::parse(x)`.
fn paths(code: &str) -> Vec<Vec<String>> {
    let words = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
    let paths = words.filter(|word| word.contains("::") && !word.starts_with("::"));
    paths.map(segments).filter(|path| path.len() > 1).collect()
}

fn segments(path: &str) -> Vec<String> {
    path.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Returns the items of a list in braces; a list inside it is part of an item.
fn items(list: &str) -> Vec<&str> {
    let mut depth = 0;
    let outer = list.split(|c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    });
    outer.map(str::trim).filter(|item| !item.is_empty()).collect()
}

fn is_keyword(name: &str) -> bool {
    matches!(name, "crate" | "self" | "super")
}

/// Returns the module in which a file's path begins, and the rest of the path.
fn start<'a>(module: &str, path: &'a [String]) -> (String, &'a [String]) {
    let mut place = module.to_owned();
    let mut rest = path;
    while let Some((first, following)) = rest.split_first().filter(|(first, _)| is_keyword(first)) {
        match first.as_str() {
            "crate" => place = String::new(),
            "super" => place = place.rsplit_once("::").map_or_else(String::new, |(outer, _)| outer.to_owned()),
            _ => {}
        }
        rest = following;
    }
    (place, rest)
}

fn join(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") }
}

/// Returns `room::file` for `src/room/file.rs`; `None` for tests.
fn module_path(source: &Path, file: &Path) -> Option<String> {
    let name = file.strip_prefix(source).expect("below the root").with_extension("");
    let mut parts: Vec<String> = name.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let last = parts.last().cloned().unwrap_or_default();
    if TESTS.contains(&last.as_str()) {
        return None;
    }
    if last == "mod" || (parts.len() == 1 && (last == "lib" || last == "main")) {
        parts.pop();
    }
    Some(parts.join("::"))
}

/// Returns all Rust files below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let below = |path: PathBuf| if path.is_dir() { files_below(&path) } else { vec![path] };
    paths.flat_map(below).filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(files: &[(&str, &str)]) -> Sources {
        Sources { modules: files.iter().map(|(name, code)| ((*name).to_owned(), Module::parse(code))).collect() }
    }

    fn uses(files: &[(&str, &str)], module: &str) -> Vec<String> {
        sources(files).uses()[module].iter().cloned().collect()
    }

    #[test]
    fn names_lead_to_the_files_that_define_them() {
        let files = [
            ("", "mod a;\npub mod b;\npub use a::Thing;\nuse b::c::{self, Other as Renamed};"),
            ("a", "use crate::b::{Deep, c::Other};\npub struct Thing;\nfn f() { b::g() }"),
            ("b", "pub(crate) use c::Deep;\npub mod c;\nfn g() {}"),
            ("b::c", "use std::fs;\nuse super::g;\n// crate::a::Thing\nfn f() -> crate::Thing { c::x() }"),
        ];
        assert_eq!(uses(&files, ""), ["a", "b::c"]);
        assert_eq!(uses(&files, "a"), ["b::c"], "`b::Deep` is given on, and no module `b` is below `a`");
        assert_eq!(uses(&files, "b"), ["b::c"]);
        assert_eq!(uses(&files, "b::c"), ["a", "b"]);
    }

    #[test]
    fn circles_are_found_and_what_only_leads_to_them_is_not_named() {
        let circle = [
            ("a", "use crate::b::X;"),
            ("b", "use crate::c::Z;\nstruct X;"),
            ("c", "use crate::b::X;\nstruct Z;"),
            ("d", "use crate::e::X;"),
            ("e", "use crate::f::X;"),
            ("f", "struct X;"),
        ];
        assert_eq!(sources(&circle).circles().keys().copied().collect::<Vec<_>>(), ["b", "c"]);
        let given_on = [("", "mod a;\npub use a::X;"), ("a", "use crate::Y;")];
        assert_eq!(sources(&given_on).circles().len(), 2, "`Y` is nowhere else");
    }
}
