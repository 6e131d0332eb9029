//! Broadcasts over real kernels' links whose rates fall and rise. Without root or `tc` the tests skip them, and say so.
//!
//! The use of links and the missing frames are measured, not tested: `cargo run --release -p nestcast-live-benches
//! --bin kernel-links`, and `tests/network.rs` in virtual time.
#![cfg(target_os = "linux")]

use std::io::Write as _;
use std::sync::Arc;
use std::time::Instant;

use nestcast_tests::broadcasts::{count_while, see};
use nestcast_tests::netns_links::NetnsLinks;

/// Successive rates in bits per second.
const RATES: [[u64; 3]; 2] = [[4_000_000, 1_000_000, 10_000_000], [1_000_000, 300_000, 4_000_000]];
/// The number of frames at each rate.
const FRAMES: u64 = 30;

#[test]
fn a_broadcast_goes_on_over_links_that_fall_and_rise() {
    let netns = match NetnsLinks::new(&RATES.map(|rates| rates[0])) {
        Ok(netns) => Arc::new(netns),
        Err(why) => {
            // Bypasses the capture of the test's output.
            let _ = writeln!(std::io::stderr(), "skipped: kernels' links: {why}");
            return;
        }
    };
    let links = Arc::clone(&netns);
    let counts = netns.broadcast(RATES.len(), async move |link, config| {
        let change = async |mut showing| {
            for rate in RATES[link] {
                links.set_rate(link, rate).expect("it was set before");
                see(&mut showing, FRAMES).await;
            }
        };
        count_while(config, Instant::now(), change).await.expect("the broadcast goes on").last()
    });
    for (link, totals) in counts.into_iter().enumerate() {
        let (received, carried) = (totals.received, netns.carried(link).expect("tc told before"));
        println!("{carried} bytes carried: {received:?}");
        assert!(received.shown >= 3 * FRAMES, "{received:?}");
        assert!(received.useful <= received.bytes && received.bytes < carried, "{received:?} of {carried}");
    }
}
