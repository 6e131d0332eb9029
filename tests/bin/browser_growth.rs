//! Watches a broadcast of a stored video, 320x180 at 30 frames a second, in Chromium, and prints once a minute what the
//! browser's memory holds: `browser-growth MINUTES`. Linux only.

use std::collections::HashMap;
use std::fs;
use std::io::Write as _;
use std::time::Duration;

use nestcast_sender::Browsers;
use nestcast_tests::broadcasts::{Plan, Running, identity};
use nestcast_tests::browser::{self, Engine};
use nestcast_tests::live_page::open;
use nestcast_tests::stored_video::{grain, repeated};

/// Seconds of video that are repeated.
const FILM_SECONDS: u32 = 20;
/// Longer than from one post of the page to the next.
const PATIENCE: Duration = Duration::from_secs(180);

/// Returns the kilobytes of a process and of all that it started, with shared pages counted once.
fn kilobytes(process: u32) -> u64 {
    let mut parents = HashMap::new();
    for entry in fs::read_dir("/proc").expect("Linux").flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        parents.extend(parent.map(|parent| (id, parent)));
    }
    let is_below = |mut id: u32| loop {
        if id == process {
            return true;
        }
        let Some(parent) = parents.get(&id) else { return false };
        id = *parent;
    };
    let proportional = |id: &u32| {
        let sizes = fs::read_to_string(format!("/proc/{id}/smaps_rollup")).unwrap_or_default();
        let line = sizes.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap_or_default();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or_default()
    };
    parents.keys().filter(|id| is_below(**id)).map(proportional).sum()
}

#[tokio::main]
async fn main() {
    let minutes: u32 = std::env::args().nth(1).and_then(|text| text.parse().ok()).expect("a number of minutes");
    let source = repeated(grain(FILM_SECONDS)).expect("a stored video");
    let broadcast = Plan { browsers: Some(Browsers::default()), ..Plan::new(&identity()) }.listen_to(source);
    let certificate = broadcast.browser_certificate();
    let running = Running::run(broadcast);
    let fingerprint = certificate.made().expect("one is made").0;
    let link = format!("src=https://{}/&fingerprint={fingerprint}", running.address);
    tokio::task::spawn_blocking(move || watch(&link, minutes)).await.expect("no panic");
    running.stop().await;
}

fn watch(link: &str, minutes: u32) {
    let opened = open(Engine::Chromium, include_str!("../web/growth.js"), link);
    let (browser, posted) = opened.expect("Chromium is installed");
    println!(
        "| minute | page's heap, kB | heaps of page and workers, kB | all that the page holds, kB | WebAssembly, kB | \
         browser, MB | pictures shown | late | concealed |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for minute in 1..=minutes {
        let lines = browser::lines(&posted, PATIENCE);
        let words: Vec<&str> = lines[0].split(' ').collect();
        let [values @ .., state] = &words[..] else { panic!("nine values: {lines:?}") };
        assert_eq!(*state, "playing");
        let mut numbers: Vec<u64> = values.iter().map(|word| word.parse().expect("a number")).collect();
        numbers[..4].iter_mut().for_each(|bytes| *bytes /= 1000);
        numbers.insert(4, kilobytes(browser.id()) / 1000);
        let cells: Vec<_> = numbers.iter().map(u64::to_string).collect();
        println!("| {minute} | {} |", cells.join(" | "));
        let _ = std::io::stdout().flush();
    }
}
