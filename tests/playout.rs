//! The playout clock over simulated links, in virtual time: how many frames are concealed, how evenly they are shown,
//! and how much later.

use std::time::Duration;

use nestcast_lab::bottleneck::Bottleneck;
use nestcast_lab::link::Link;
use nestcast_player::{Latency, PlayoutClock};
use nestcast_proto::{Bitrate, ReceiveStats, ReceivedFrame};
use nestcast_receiver::FrameSink;
use nestcast_tests::network::{Scenario, Viewer, broadcast_from};
use nestcast_tests::still_frames::StillFrames;

/// The length of a broadcast. What was captured in its first seconds does not count: the sender still finds the rate.
const RUN_TIME: Duration = Duration::from_secs(20);
const SETTLED_TIME: Duration = Duration::from_secs(2);
/// When receivers join, in milliseconds: the sender's estimates depend on the packets' moments to the microsecond.
const MOMENTS: [u64; 6] = [0, 3, 5, 11, 17, 24];

/// Presents frames that need no decoding by a clock.
struct Screen {
    network: Bottleneck,
    clock: PlayoutClock,
    shown: Vec<Shown>,
}

/// A frame, in microseconds of the link's clock.
#[derive(Debug, Clone, Copy)]
struct Shown {
    captured: u64,
    /// When it arrived, and when it was presented.
    arrived: u64,
    at: u64,
    /// Whether a stand-in was shown before it came.
    is_concealed: bool,
}

impl FrameSink for Screen {
    type Error = std::convert::Infallible;

    fn handle_frame(&mut self, frame: ReceivedFrame, _stats: ReceiveStats) -> Result<(), Self::Error> {
        let (now, captured) = (self.network.now(), frame.header.captured);
        let missed = self.clock.presentation(captured).map(|at| at + self.clock.grace());
        let at = self.clock.handle_ready(now, captured).at;
        let is_concealed = missed.is_some_and(|missed| now > missed);
        let [arrived, at] = [now, at].map(|time| u64::try_from(time.as_micros()).expect("a moment"));
        self.shown.push(Shown { captured, arrived, at, is_concealed });
        Ok(())
    }
}

/// What six receivers saw.
#[derive(Debug)]
struct Figures {
    concealed_percent: f64,
    /// From capture to arrival, and to the screen.
    arrival_p50_ms: f64,
    latency_p50_ms: f64,
    unevenness_p95_ms: f64,
}

/// Broadcasts video of more than the link carries at `fps` frames a second.
fn figures(rate: u64, rtt: u64, fps: u32) -> Figures {
    let interval = Duration::from_secs(1) / fps;
    let base = usize::try_from(Bitrate::from_bits(rate * 36 / 100).bytes_in(interval)).expect("a frame's");
    let link = Link::constant(rate).with_rtt(Duration::from_millis(rtt));
    let runs = MOMENTS.map(|joins| {
        let source = StillFrames::new(60_000, base, RUN_TIME).at_rate(fps).of_video();
        let outcome = broadcast_from(std::slice::from_ref(&link), Scenario::lasting(RUN_TIME), source, |network| {
            let clock = PlayoutClock::new(Latency::Smooth, interval);
            let sink = Screen { network: network.clone(), clock, shown: Vec::new() };
            vec![Viewer { joins: Duration::from_millis(joins), link: 0, cap: None, sink }]
        });
        let is_settled = |shown: &&Shown| Duration::from_micros(shown.captured) > SETTLED_TIME;
        outcome.receivers[0].shown.iter().filter(is_settled).copied().collect::<Vec<_>>()
    });
    let pairs = runs.iter().flat_map(|shown| shown.windows(2));
    let uneven = pairs.map(|pair| (pair[1].at - pair[0].at).abs_diff(pair[1].captured - pair[0].captured));
    let all: Vec<Shown> = runs.iter().flatten().copied().collect();
    let concealed = all.iter().filter(|shown| shown.is_concealed).count();
    Figures {
        concealed_percent: 100.0 * concealed as f64 / all.len() as f64,
        arrival_p50_ms: quantile(all.iter().map(|shown| shown.arrived - shown.captured), 50),
        latency_p50_ms: quantile(all.iter().map(|shown| shown.at - shown.captured), 50),
        unevenness_p95_ms: quantile(uneven, 95),
    }
}

/// Returns the value that `percent` percent do not exceed, in milliseconds.
fn quantile(values: impl Iterator<Item = u64>, percent: usize) -> f64 {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values[values.len() * percent / 100] as f64 / 1e3
}

#[test]
fn at_a_third_of_a_megabit_one_frame_in_a_hundred_is_concealed_at_most() {
    for (rtt, longest) in [(10, 130.0), (50, 135.0), (100, 170.0)] {
        let figures = figures(300_000, rtt, 25);
        println!("{rtt} ms: {figures:.1?}");
        assert!(figures.concealed_percent <= 1.0, "{rtt} ms: {figures:?}");
        assert!(figures.latency_p50_ms <= longest, "{rtt} ms: {figures:?}");
        assert!(figures.unevenness_p95_ms <= 4.0, "{rtt} ms: {figures:?}");
    }
}

#[test]
fn at_a_megabit_frames_are_shown_evenly_at_any_rate() {
    for (rtt, fps) in [10, 50, 100].into_iter().flat_map(|rtt| [25, 50, 60].map(|fps| (rtt, fps))) {
        let figures = figures(1_000_000, rtt, fps);
        println!("{rtt} ms, {fps} frames/s: {figures:.1?}");
        assert!(figures.concealed_percent <= 1.0, "{rtt} ms, {fps} frames/s: {figures:?}");
        assert!(figures.unevenness_p95_ms <= 1.0, "{rtt} ms, {fps} frames/s: {figures:?}");
        let added = figures.latency_p50_ms - figures.arrival_p50_ms;
        assert!(added <= 80.0, "{rtt} ms, {fps} frames/s: {figures:?}");
    }
}

/// What a receiver sees of a path that carried nothing for a while.
#[derive(Debug)]
struct Return {
    /// From when the path is back to the first frame, and to the first that is less than 400 ms later than before.
    first: Duration,
    live: Duration,
    /// The frames between the two.
    late_frames: usize,
}

/// Lets a path of 1 Mbit/s carry nothing for three seconds. Its queue keeps this much of what is sent meanwhile.
fn returns(queue: Duration) -> Return {
    const STALL: [Duration; 2] = [Duration::from_secs(8), Duration::from_secs(11)];
    let rates = vec![(Duration::ZERO, 1_000_000), (STALL[0], 0), (STALL[1], 1_000_000)];
    let link = Link { queue, ..Link::varying(rates) }.with_rtt(Duration::from_millis(50));
    let interval = Duration::from_secs(1) / 30;
    let source = StillFrames::new(60_000, 1000, RUN_TIME).at_rate(30).of_video();
    let outcome = broadcast_from(std::slice::from_ref(&link), Scenario::lasting(RUN_TIME), source, |network| {
        let clock = PlayoutClock::new(Latency::Smooth, interval);
        let sink = Screen { network: network.clone(), clock, shown: Vec::new() };
        vec![Viewer { joins: Duration::ZERO, link: 0, cap: None, sink }]
    });
    let back = u64::try_from(STALL[1].as_micros()).expect("a moment");
    let later: Vec<Shown> = outcome.receivers[0].shown.iter().filter(|shown| shown.arrived >= back).copied().collect();
    let usual = quantile(outcome.receivers[0].shown.iter().map(|shown| shown.arrived - shown.captured), 50);
    let is_late = |shown: &&Shown| (shown.arrived - shown.captured) as f64 / 1e3 > usual + 400.0;
    let late_frames = later.iter().take_while(is_late).count();
    let [first, live] = [0, late_frames].map(|at| Duration::from_micros(later[at].at - back));
    Return { first, live, late_frames }
}

#[test]
fn after_a_stall_late_frames_last_less_than_two_seconds() {
    for (queue, longest) in [(100, 1.0), (500, 2.0), (10_000, 2.0)] {
        let seen = returns(Duration::from_millis(queue));
        println!("a queue of {queue} ms: {seen:.2?}");
        assert!(seen.first < Duration::from_millis(1200) && seen.late_frames < 150, "{seen:?}");
        assert!(seen.live.as_secs_f64() < longest, "{seen:?}");
    }
}
