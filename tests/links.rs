//! Broadcasts over real kernels' links: constant, stepping and recorded rates. Without root or `tc` they are skipped, and
//! say so.
#![cfg(target_os = "linux")]

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use nestcast_tests::bed::{Bed, End};
use nestcast_tests::broadcasts::{Counts, Plan, Running, config, count, identity};

const PORT: u16 = 4433;
/// Before the links are known, and until the first count.
const START: Duration = Duration::from_secs(2);

/// One at a time: they share what cores there are.
static TURN: Mutex<()> = Mutex::new(());

/// A rate for each moment from which on it holds.
type Rates = Vec<(Duration, u64)>;

/// Broadcasts over one link for each of `links` for `time`; gives what their receivers counted, or says that it cannot.
fn broadcast(name: &str, links: &[Rates], time: Duration) -> Option<Vec<Counts>> {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let first: Vec<u64> = links.iter().map(|rates| rates[0].1).collect();
    let bed = match Bed::new(&first) {
        Ok(bed) => bed,
        Err(why) => {
            // Past the capture of a test's output.
            let _ = writeln!(std::io::stderr(), "skipped: {name}: {why}");
            return None;
        }
    };
    let identity = identity();
    let (ended, wait) = std::sync::mpsc::channel::<()>();
    let plan = Plan {
        listen: SocketAddr::from(([0, 0, 0, 0], PORT)),
        size: (320, 240),
        moving: false,
        ..Plan::new(&identity)
    };
    let sender = bed.at(End::Sender, move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let running = Running::start(plan);
            let _ = tokio::task::spawn_blocking(move || wait.recv()).await;
            running.stop().await;
        });
    });
    std::thread::sleep(Duration::from_millis(300));
    let began = Instant::now();
    let receivers: Vec<_> = (0..links.len())
        .map(|link| {
            let config = config(bed.address(link, PORT), &identity);
            bed.at(End::Receiver, move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
                runtime.block_on(count(config, began, time)).expect("the broadcast goes on")
            })
        })
        .collect();
    let mut changes: Vec<_> = links
        .iter()
        .enumerate()
        .flat_map(|(link, rates)| rates.iter().skip(1).map(move |&(at, rate)| (at, link, rate)))
        .collect();
    changes.sort_unstable();
    for (at, link, rate) in changes.into_iter().take_while(|(at, ..)| *at < time) {
        std::thread::sleep(at.saturating_sub(began.elapsed()));
        bed.set_rate(link, rate).expect("it was set before");
    }
    let counts = receivers.into_iter().map(|receiver| receiver.join().expect("no panic")).collect();
    let _ = ended.send(());
    sender.join().expect("no panic");
    Some(counts)
}

/// Bits that a link of these rates carries between two moments.
fn capacity(rates: &Rates, from: Duration, to: Duration) -> f64 {
    let ends = rates.iter().skip(1).map(|(at, _)| *at).chain([Duration::MAX]);
    let pieces = rates.iter().zip(ends).map(|(&(begin, rate), end)| {
        let time = end.min(to).saturating_sub(begin.max(from));
        rate as f64 * time.as_secs_f64()
    });
    pieces.sum()
}

/// Of what the link carried so much was of use between two moments.
fn share(counts: &Counts, rates: &Rates, from: Duration, to: Duration) -> f64 {
    let (bits, [first, last]) = counts.goodput(from, to);
    let share = bits / capacity(rates, first, last).max(1.0);
    println!("{share:.3} of the link from {first:?} to {last:?}: {:?}", counts.last());
    share
}

/// At most one in `of` frames did not come. In virtual time it is none; here a machine may stand still for longer than a
/// feed can make good.
fn few_blank(counts: &Counts, of: u64) -> bool {
    let received = counts.last().received;
    received.shown > 30 && received.blank * of <= received.shown
}

fn constant(rate: u64) -> Rates {
    vec![(Duration::ZERO, rate)]
}

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

#[test]
fn links_of_constant_rate_are_used_and_no_frame_lacks_its_base() {
    let rates = [300_000, 1_000_000, 4_000_000, 10_000_000];
    let time = seconds(8.0);
    let Some(counts) = broadcast("links of constant rate", &rates.map(constant), time) else { return };
    for (rate, counts) in rates.into_iter().zip(&counts) {
        let share = share(counts, &constant(rate), START, time);
        assert!((0.8..=1.0).contains(&share), "{rate}: {share}");
        assert!(few_blank(counts, 100), "{rate}: {:?}", counts.last());
    }
}

#[test]
fn every_frame_has_its_base_after_a_step_down_and_up() {
    let steps = vec![(seconds(0.0), 4_000_000), (seconds(4.0), 1_000_000), (seconds(8.0), 10_000_000)];
    let time = seconds(12.0);
    let Some(counts) = broadcast("a step down and up", std::slice::from_ref(&steps), time) else { return };
    for (from, to) in [(2.0, 4.0), (4.5, 8.0), (9.0, 12.0)] {
        let share = share(&counts[0], &steps, seconds(from), seconds(to));
        assert!((0.8..=1.1).contains(&share), "{from} s to {to} s: {share}");
    }
    assert!(few_blank(&counts[0], 100), "{:?}", counts[0].last());
}

#[test]
fn large_falls_cost_next_to_no_frame() {
    let falls = [(10_000_000, 1_000_000), (4_000_000, 300_000)];
    let steps = falls.map(|(before, after)| vec![(seconds(0.0), before), (seconds(4.0), after)]);
    let Some(counts) = broadcast("falls to a tenth", &steps, seconds(9.0)) else { return };
    for (rates, counts) in steps.iter().zip(&counts) {
        let share = share(counts, rates, seconds(5.5), seconds(9.0));
        assert!((0.8..=1.1).contains(&share), "{share}");
        assert!(few_blank(counts, 100), "{:?}", counts.last());
    }
}

/// One 1500-byte packet on each line, by its millisecond; in steps of half a second from `begin` on.
fn mahimahi(text: &str, begin: u64, steps: u64) -> Rates {
    let packets: Vec<u64> = text.lines().filter_map(|line| line.parse().ok()).collect();
    let rate = |step| {
        let from = begin + step * 500;
        packets.iter().filter(|at| (from..from + 500).contains(*at)).count() as u64 * 1500 * 8 * 2
    };
    (0..steps).map(|step| (Duration::from_millis(step * 500), rate(step))).collect()
}

/// Seconds and Mbit/s on each line.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates are positive and small")]
fn columns(text: &str) -> Rates {
    let numbers = |line: &str| {
        let mut numbers = line.split_whitespace().map(str::parse::<f64>);
        Some((seconds(numbers.next()?.ok()?), (numbers.next()?.ok()? * 1e6) as u64))
    };
    text.lines().filter_map(numbers).collect()
}

#[test]
fn recorded_links_are_used() {
    let mut traces = vec![
        ("Norway, by bus", columns(include_str!("traces/norway_bus_14.txt"))),
        ("Norway, by metro", columns(include_str!("../benches/live/data/norway_metro_2.txt"))),
    ];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/traces/mahimahi");
    // Its licence does not allow a copy here.
    match std::fs::read_to_string(folder.join("ATT-LTE-driving-2016.down")) {
        Ok(text) => traces.push(("AT&T, by car", mahimahi(&text, 5000, 40))),
        Err(_) => drop(writeln!(std::io::stderr(), "skipped: the AT&T trace: it is not in ../shared/data")),
    }
    let time = seconds(16.0);
    let links: Vec<_> = traces.iter().map(|(_, rates)| rates.clone()).collect();
    let Some(counts) = broadcast("recorded links", &links, time) else { return };
    for ((name, rates), counts) in traces.iter().zip(&counts) {
        let share = share(counts, rates, START, time);
        assert!((0.8..=1.1).contains(&share), "{name}: {share}");
        // While the link carries nothing, in AT&T's for a second, there are no frames.
        let of = if name.starts_with("AT&T") { 20 } else { 100 };
        assert!(few_blank(counts, of), "{name}: {:?}", counts.last());
    }
}
