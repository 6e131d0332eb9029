//! The dashboard, the alert rules and the manual name figures that a sender has.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use nestcast_proto::Close;
use nestcast_sender::{Denial, OpenMetrics};
use nestcast_tests::broadcasts::{Plan, Running, identity};

/// Returns the words of `text` that begin as the figures do.
fn figures_in(text: &str) -> BTreeSet<&str> {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c| !is_of_word(c)).filter(|word| word.starts_with("nestcast_")).collect()
}

/// Figures that the dashboard leaves out: others there say the same in another way.
const NOT_ON_DASHBOARD: [&str; 7] = [
    "nestcast_encoded_bytes_total",
    "nestcast_receiver_frames_cut_total",
    "nestcast_receiver_frames_skipped_total",
    "nestcast_receiver_frames_total",
    "nestcast_receiver_rendition",
    "nestcast_receiver_useful_bytes",
    "nestcast_renditions",
];

/// Returns a file of the documents.
fn document(name: &str) -> String {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    fs::read_to_string(docs.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[tokio::test]
async fn dashboard_alerts_and_manual_name_figures_that_a_sender_has() {
    let broadcast = Plan::new(&identity()).listen();
    let page = OpenMetrics::new(broadcast.monitors()).page();
    drop(Running::run(broadcast));
    let known: BTreeSet<String> = page
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .filter_map(|line| line.split_once(' '))
        .map(|(name, kind)| if kind == "counter" { format!("{name}_total") } else { name.to_owned() })
        .collect();
    assert!(known.len() > 20, "{known:?}");
    for (file, least) in [("monitoring/dashboard.json", 12), ("monitoring/alerts.yml", 5), ("run.md", 15)] {
        let text = document(file);
        let named = figures_in(&text);
        let unknown: Vec<_> = named.iter().filter(|name| !known.contains(**name)).collect();
        assert!(unknown.is_empty(), "{file} names what no sender has: {unknown:?}");
        assert!(named.len() >= least, "{file} names {named:?}");
    }
    let names_all = |file: &str, left_out: &[&str]| {
        let text = document(file);
        let named = figures_in(&text);
        let missing: Vec<_> = known.iter().map(String::as_str).filter(|name| !named.contains(name)).collect();
        assert_eq!(missing, left_out, "{file} leaves figures out, or no longer does");
    };
    names_all("run.md", &[]);
    names_all("monitoring/dashboard.json", &NOT_ON_DASHBOARD);
}

#[test]
fn the_manual_has_the_rules_for_alerts_and_that_for_tokens_has_each_refusal() {
    let (rules, manual) = (document("monitoring/alerts.yml"), document("run.md").replace("\\|", "|"));
    let expressions: Vec<_> = rules.lines().filter_map(|line| line.trim().strip_prefix("expr: ")).collect();
    assert!(expressions.len() >= 7, "{expressions:?}");
    for expression in &expressions {
        assert!(manual.contains(&format!("`{expression}`")), "docs/run.md lacks the expression {expression}");
    }
    let tokens = expressions.iter().find_map(|rule| rule.split("code=~\"").nth(1)?.split('"').next());
    let mut named: Vec<_> = tokens.expect("a rule for tokens").split('|').collect();
    named.sort_unstable();
    // Receivers that wait for another token come again with one that has expired.
    let denials = [Denial::Token, Denial::Key, Denial::Audience, Denial::Used, Denial::Refused];
    let mut codes = denials.map(|denial| Close::from(denial).code.name());
    codes.sort_unstable();
    assert_eq!(named, codes);
}
