//! Live video over simulated links, in virtual time: every base arrives, in order, and what comes behind it is used.

use std::time::Duration;

use nestcast_lab::link::Link;
use nestcast_proto::Bitrate;
use nestcast_tests::network::{Outcome, Scenario, Viewer, broadcast_from, steps};
use nestcast_tests::video_frames::{VideoFrames, Watcher};

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// Broadcasts over `link` for `time` to receivers that join so late and ask for so much.
fn watch(link: &Link, time: Duration, receivers: &[(Duration, Option<u64>)]) -> Vec<Watcher> {
    let outcome: Outcome<Watcher> = broadcast_from(link, Scenario::lasting(time), VideoFrames::default(), |network| {
        let viewer = |&(joins, cap): &(Duration, Option<u64>)| {
            Viewer { joins, cap: cap.map(Bitrate::from_bits), sink: Watcher::new(network) }
        };
        receivers.iter().map(viewer).collect()
    });
    outcome.receivers
}

fn describe(watcher: &Watcher) -> String {
    let ids: Vec<_> = watcher.decoded.iter().map(|frame| frame.id).collect();
    let gaps: Vec<_> = ids.windows(2).filter(|pair| pair[1] != pair[0] + 1).map(|pair| (pair[0], pair[1])).collect();
    let mut latencies: Vec<_> = watcher.decoded.iter().map(|frame| frame.latency.as_millis()).collect();
    latencies.sort_unstable();
    let at = |percent: usize| latencies[(latencies.len() - 1) * percent / 100];
    let seconds: Vec<_> = (0..12).map(|s| (watcher.psnr(ms(s * 1000), ms(s * 1000 + 1000)) * 10.0).round() / 10.0).collect();
    let bytes: Vec<_> = watcher.decoded.iter().step_by(15).map(|frame| frame.bytes).collect();
    format!(
        "{} frames, missing {gaps:?}, gap {:?}, latency {} {} {} ms, {:?}\n  psnr {seconds:?}\n bytes {bytes:?}",
        ids.len(), watcher.longest_gap(), at(50), at(95), at(100), watcher.received
    )
}

#[test]
fn explore() {
    for rate in [100_000, 300_000, 1_000_000] {
        for rtt in [10, 50] {
            let w = watch(&Link::constant(rate).with_rtt(ms(rtt)), ms(6000), &[(ms(0), None)]);
            println!("const {rate} {rtt}: {}", describe(&w[0]));
        }
    }
    for (a, b) in [(1_000_000, 100_000), (3_000_000, 300_000)] {
        for rtt in [10, 50] {
            let w = watch(&steps(&[(0, a), (4, b)]).with_rtt(ms(rtt)), ms(8000), &[(ms(0), None)]);
            println!("fall {a} {b} {rtt}: {}", describe(&w[0]));
        }
    }
    let w = watch(&Link::constant(1_000_000).with_rtt(ms(50)).with_loss(10_000, 1), ms(6000), &[(ms(0), None)]);
    println!("loss: {}", describe(&w[0]));
    let w = watch(&Link::constant(2_000_000).with_rtt(ms(20)), ms(6000), &[(ms(0), Some(600_000)), (ms(3000), Some(150_000))]);
    println!("two: {}\n{}", describe(&w[0]), describe(&w[1]));
}
