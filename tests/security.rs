//! SECURITY.md names a test for each promise, and each of these tests exists. So does each that docs/run.md names.

use std::fs;
use std::path::Path;

/// Returns what SECURITY.md names in backquotes as `FILE.rs::TEST`.
fn named(text: &str) -> Vec<(&str, &str)> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter_map(|name| name.split_once("::")).filter(|(file, _)| file.ends_with(".rs")).collect()
}

/// Returns whether a source file has a test of this name: a function with the attribute of a test above it, and no
/// `#[ignore]`.
fn has_test(source: &str, name: &str) -> bool {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let function = [format!("fn {name}("), format!("async fn {name}(")];
    let is_function = |line: &&str| function.iter().any(|start| line.starts_with(start));
    let Some(at) = lines.iter().position(is_function) else { return false };
    let above: Vec<_> = lines[..at].iter().rev().take_while(|line| line.starts_with("#[")).collect();
    let test = |line: &&&str| line.starts_with("#[test]") || line.starts_with("#[tokio::test");
    above.iter().any(test) && !above.iter().any(|line| line.starts_with("#[ignore"))
}

#[test]
fn every_promise_names_tests_that_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = fs::read_to_string(root.join("SECURITY.md")).expect("SECURITY.md");
    let promised = text.split("## What is promised").nth(1).and_then(|rest| rest.split("\n## ").next());
    let promises = promised.expect("a section `What is promised`").split("\n- **").skip(1);
    let mut count = 0;
    for promise in promises {
        let tests = named(promise);
        assert!(!tests.is_empty(), "no test is named for: {promise}");
        for (file, name) in tests {
            let source = fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
            assert!(has_test(&source, name), "SECURITY.md names {name}, which is no test in {file}");
        }
        count += 1;
    }
    assert!(count >= 10, "{count} promises were found");
}

#[test]
fn every_test_that_the_manual_of_senders_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = fs::read_to_string(root.join("docs/run.md")).expect("the page");
    let tests = named(&text);
    assert!(tests.len() >= 6, "{tests:?}");
    for (file, name) in tests {
        let source = fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(has_test(&source, name), "docs/run.md names {name}, which is no test in {file}");
    }
}

#[test]
fn the_bytes_of_a_message_are_those_of_the_code() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../SECURITY.md")).expect("SECURITY.md");
    let stated = text.split_once("a message has ").and_then(|(_, rest)| rest.split(' ').next());
    assert_eq!(stated, Some(&*nestcast_proto::MAX_MESSAGE.to_string()));
}

#[test]
fn what_is_no_test_is_found() {
    let source = "fn helper() {}\n#[test]\nfn holds() {}\n#[tokio::test(flavor = \"multi_thread\")]\nasync fn waits() {}\n\
                  #[test]\n#[ignore = \"takes long\"]\nfn left_out() {}\n";
    let found = ["holds", "waits", "helper", "left_out", "hold"].map(|name| has_test(source, name));
    assert_eq!(found, [true, true, false, false, false]);
    assert_eq!(named("`--json`, `a.rs::one`, `b/c.rs::two`, `x::y`"), [("a.rs", "one"), ("b/c.rs", "two")]);
}
