//! What a broadcast gives over links of constant and changing rate, with loss and jitter, in virtual time.

use std::time::Duration;

use nestcast_link::Link;
use nestcast_tests::network::{INTERVAL, Outcome, Scenario, Seen, broadcast, recorded, steps};

/// More than any link here carries, and a base of half a packet.
const FULL: usize = 60_000;
const BASE: usize = 400;

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// Bytes shown of those that the link carried.
fn share(outcome: &Outcome, rate: u64, from: f64, to: f64) -> f64 {
    outcome.bytes(seconds(from), seconds(to)) as f64 * 8.0 / (rate as f64 * (to - from))
}

fn describe(outcome: &Outcome) -> String {
    let halves = (0..100)
        .map(|half| outcome.bytes(seconds(f64::from(half) / 4.0), seconds(f64::from(half + 1) / 4.0)) * 32 / 1000);
    let halves: Vec<_> = halves.take_while(|&kbits| kbits > 0).collect();
    let ids: Vec<_> = outcome.shown.iter().map(|frame| frame.header.id).collect();
    let gaps: Vec<_> = ids.windows(2).filter(|pair| pair[1] != pair[0] + 1).map(|pair| pair[0] + 1).collect();
    format!("{:?}; first {:?}, missing {gaps:?}; kbit/s by quarter second {halves:?}", outcome.received, ids.first())
}

#[test]
fn a_constant_link_is_used_and_its_queue_stays_short() {
    // Headers alone are 5 % of a link, and another 1 % where a frame is one packet.
    for (rate, least) in [(300_000, 0.9), (1_000_000, 0.92), (4_000_000, 0.93), (10_000_000, 0.93)] {
        let outcome = broadcast(Link::steps(&[(0, rate)]), seconds(12.0), FULL, BASE);
        let used = share(&outcome, rate, 2.0, 12.0);
        let queue = outcome.queue_p95(seconds(2.0), seconds(12.0));
        println!("{rate}: {used:.3}, queue p95 {queue:?}, {}", describe(&outcome));
        assert!(used >= least, "{rate}: {used}");
        assert!(queue <= INTERVAL, "{rate}: {queue:?}");
        assert_eq!(outcome.received.blank, 0, "{rate}: {:?}", outcome.received);
    }
}

#[test]
fn after_a_step_every_frame_has_its_base_and_the_link_is_used_again_within_a_second() {
    let link = Link::steps(&[(0, 4_000_000), (4, 1_000_000), (8, 10_000_000)]);
    let outcome = broadcast(link, seconds(12.0), FULL, BASE);
    println!("queue after the fall: {:?}, {}", outcome.queue_p95(seconds(4.1), seconds(8.0)), describe(&outcome));
    assert_eq!(outcome.received.blank, 0);
    assert!(share(&outcome, 1_000_000, 4.5, 8.0) >= 0.9, "after the fall");
    assert!(outcome.queue_p95(seconds(4.1), seconds(8.0)) <= INTERVAL, "after the fall");
    assert!(share(&outcome, 10_000_000, 9.0, 12.0) >= 0.9, "a second after the rise");
    // Down within two frames: what is sent then does not wait behind what is too much, and those frames that were begun then have no more than the link takes, by half.
    let late = |&&(sent, wait): &&(Duration, Duration)| {
        (seconds(4.0) + 2 * INTERVAL..seconds(8.0)).contains(&sent) && wait > INTERVAL
    };
    assert_eq!(outcome.waits.iter().filter(late).count(), 0, "two frames after the fall");
    let begun = |frame: &&nestcast_proto::Arrived| {
        frame.header.id as f64 * INTERVAL.as_secs_f64() > 4.0 + 2.0 * INTERVAL.as_secs_f64()
    };
    let early: Vec<_> = outcome.shown.iter().filter(begun).take(4).map(|frame| frame.prefix.len()).collect();
    assert!(early.iter().all(|&bytes| bytes <= 6250), "{early:?}");
}

#[test]
fn after_a_fall_to_a_tenth_at_any_moment_every_frame_has_its_base() {
    let rates = [10_000_000, 4_000_000, 2_000_000, 1_000_000, 300_000];
    let falls = rates.iter().enumerate().flat_map(|(at, &before)| rates[at + 1..].iter().map(move |&to| (before, to)));
    for (before, after) in falls {
        // Moments spread over three frame intervals.
        let blank = (0..36).map(|step| {
            let fall = Duration::from_micros(4_000_000 + 2_800 * step);
            let link = Link { rates: vec![(Duration::ZERO, before), (fall, after)], ..Link::steps(&[]) };
            broadcast(link, seconds(7.0), FULL, BASE).received.blank
        });
        let blank: Vec<_> = blank.collect();
        println!("{before} to {after}: {blank:?}");
        // Below a tenth the queue's room is less than what stands in it, and bases are lost (spec, "Bandwidth").
        let most = if before > 10 * after { 2 } else { 0 };
        assert!(blank.iter().all(|&blank| blank <= most), "{before} to {after}: {blank:?}");
    }
}

#[test]
fn recorded_links_are_used_and_every_frame_has_its_base() {
    let traces = [
        ("Norway, by bus", include_str!("traces/norway_bus_14.txt")),
        ("Norway, by metro", include_str!("../benches/live/data/norway_metro_2.txt")),
    ];
    for (name, text) in traces {
        let (link, time) = (Link::recorded(text), seconds(17.0));
        let outcome = broadcast(link.clone(), time, FULL, BASE);
        let used = outcome.bytes(seconds(1.0), time) as f64 * 8.0 / link.capacity(seconds(1.0), time);
        let queue = outcome.queue_p95(seconds(1.0), time);
        println!("{name}: {used:.3}, queue p95 {queue:?}, {}", describe(&outcome));
        assert!(used >= 0.9, "{name}: {used}");
        assert!(queue <= INTERVAL, "{name}: {queue:?}");
        assert_eq!(outcome.received.blank, 0, "{name}: {:?}", outcome.received);
    }
}

#[test]
fn a_frame_is_seen_soon_even_where_a_packet_takes_a_frame_interval() {
    for (rate, most) in [(300_000, 110), (1_000_000, 75), (4_000_000, 60)] {
        let outcome = broadcast(Link::steps(&[(0, rate)]), seconds(12.0), FULL, BASE);
        let latency = outcome.latency(seconds(2.0), seconds(12.0));
        println!("{rate}: {latency:?}");
        assert!(latency <= Duration::from_millis(most), "{rate}: {latency:?}");
    }
}

#[test]
fn behind_an_outage_new_frames_come_again() {
    for (down, base) in [200, 500, 1000, 2000].into_iter().flat_map(|down| [(down, 60), (down, BASE)]) {
        let mut link = Link::steps(&[(0, 2_000_000), (4, 1_000)]);
        let up = seconds(4.0) + Duration::from_millis(down);
        link.rates.push((up, 2_000_000));
        let outcome = broadcast(link, up + seconds(3.0), FULL, base);
        println!("{down} ms, bases of {base}: {}", describe(&outcome));
        let captured = |frame: &nestcast_proto::Arrived| Duration::from_micros(frame.header.captured);
        let fresh = outcome.shown.iter().find(|frame| captured(frame) >= up).expect("the session goes on");
        // Each frame's base finds out whether the path carries again; what stood still is shown first, at double speed.
        assert!(fresh.shown <= up + Duration::from_millis(500), "{down}: {:?}", fresh.shown - up);
        assert!(share(&outcome, 2_000_000, up.as_secs_f64() + 1.0, up.as_secs_f64() + 3.0) >= 0.9, "{down}");
    }
}

#[test]
fn loss_and_jitter_cost_quality_and_no_frame() {
    for seed in 1..=3 {
        let mut link = Link::steps(&[(0, 4_000_000)]);
        (link.loss, link.delay, link.seed) = (10_000, Duration::from_millis(25), seed);
        let outcome = broadcast(link, seconds(10.0), FULL, BASE);
        println!("1 % loss: {:.3}, {}", share(&outcome, 4_000_000, 2.0, 10.0), describe(&outcome));
        assert!(share(&outcome, 4_000_000, 2.0, 10.0) >= 0.8);
        assert_eq!(outcome.received.blank, 0, "{:?}", outcome.received);

        let mut link = Link::steps(&[(0, 4_000_000)]);
        (link.jitter, link.seed) = (Duration::from_millis(3), seed);
        let outcome = broadcast(link, seconds(10.0), FULL, BASE);
        println!("jitter: {:.3}, {}", share(&outcome, 4_000_000, 2.0, 10.0), describe(&outcome));
        assert!(share(&outcome, 4_000_000, 2.0, 10.0) >= 0.9);
        assert_eq!(outcome.received.blank, 0);
    }
}

#[test]
fn frames_that_share_a_packet_are_seen_one_after_the_other() {
    let outcome = broadcast(Link::steps(&[(0, 250_000)]), seconds(12.0), FULL, BASE);
    let shown: Vec<_> = outcome.shown.iter().map(|frame| frame.shown).collect();
    let together = shown.windows(2).filter(|pair| pair[1] - pair[0] < INTERVAL / 8).count();
    assert!(shown.len() > 300 && together == 0, "{together} of {}", shown.len());
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = || {
        let mut link = Link::steps(&[(0, 2_000_000)]);
        (link.loss, link.jitter) = (20_000, Duration::from_millis(2));
        broadcast(link, seconds(3.0), FULL, BASE).shown
    };
    assert_eq!(run(), run());
}
