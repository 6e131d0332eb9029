//! The dashboard, the alert rules and the manual name figures that a sender has.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use nestcast_sender::OpenMetrics;
use nestcast_tests::broadcasts::{Plan, Running, identity};

/// Returns the words of `text` that begin as the figures do.
fn figures_in(text: &str) -> BTreeSet<&str> {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c| !is_of_word(c)).filter(|word| word.starts_with("nestcast_")).collect()
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
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    for (file, least) in [("monitoring/dashboard.json", 12), ("monitoring/alerts.yml", 5), ("run.md", 15)] {
        let text = fs::read_to_string(docs.join(file)).expect("a file");
        let named = figures_in(&text);
        let unknown: Vec<_> = named.iter().filter(|name| !known.contains(**name)).collect();
        assert!(unknown.is_empty(), "{file} names what no sender has: {unknown:?}");
        assert!(named.len() >= least, "{file} names {named:?}");
    }
}
