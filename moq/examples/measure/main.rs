//! Measures broadcasts through `moq-relay`, and directly: `cargo xtask relays --measure` and [`USAGE`].

#[path = "../../tests/harness/mod.rs"]
mod harness;

mod browser;
mod cores;
mod links;
mod publisher;
mod tree;

use std::error::Error;
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use harness::{FRAMES_PER_SECOND, Place, receive_for};
use nestcast_lab::link::{Link, Relay as LinkRelay};
use nestcast_moq::Rates;
use nestcast_proto::Bitrate;

/// Frames until a subscriber has settled.
const SETTLING_FRAMES: u64 = 3 * FRAMES_PER_SECOND as u64;
/// Bits a second that nothing here exceeds: those of the made-up video.
const MOST_BITS: u64 = 14_400_000;
/// Below this rate, frames have a smaller base layer.
const SLOW_BITS: u64 = 1_000_000;
const SLOW_BASE_BYTES: usize = 300;

const USAGE: &str = "measure links SECONDS           each link, directly and through a relay
measure browser SECONDS         the native subscriber, and the viewer in Chromium
measure tree N SECONDS [RATES]  N subscribers that come and go at two relays, with links of RATES Mbit/s [1,4]
measure core N SECONDS          a relay's CPU for N readers that stop nothing, and for N subscribers
measure publisher SECONDS       a publisher's CPU with 1 and with 60 subscribers behind its relay";

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => block_on(async {
            links::measure(Duration::from_secs(60)).await;
            browser::measure(Duration::from_secs(60)).await;
            tree::measure(40, Duration::from_secs(120), &[1.0, 4.0]).await;
            cores::measure(20, Duration::from_secs(60)).await;
            publisher::measure(Duration::from_secs(60)).await;
        }),
        ["links", time] => block_on(links::measure(seconds(time)?)),
        ["browser", time] => block_on(browser::measure(seconds(time)?)),
        ["tree", count, time] => block_on(tree::measure(count.parse()?, seconds(time)?, &[1.0, 4.0])),
        ["tree", count, time, rates] => {
            let rates: Result<Vec<f64>, _> = rates.split(',').map(str::parse).collect();
            block_on(tree::measure(count.parse()?, seconds(time)?, &rates?))
        }
        ["core", count, time] => block_on(cores::measure(count.parse()?, seconds(time)?)),
        ["publisher", time] => block_on(publisher::measure(seconds(time)?)),
        [publisher::WORD, address, fingerprint] => block_on(publisher::publish_at(address.parse()?, fingerprint)),
        _ => Err(USAGE.into()),
    }
}

fn block_on(measured: impl Future<Output = ()>) -> Result<(), Box<dyn Error>> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(measured);
    Ok(())
}

fn seconds(text: &str) -> Result<Duration, Box<dyn Error>> {
    Ok(Duration::from_secs(text.parse()?))
}

fn rates(least: u64, greatest: u64) -> Rates {
    Rates::new(Bitrate::from_bits(least), Bitrate::from_bits(greatest)).expect("a range")
}

/// Returns the bytes of a base layer that links of this rate carry.
const fn base_bytes(bits: u64) -> usize {
    if bits < SLOW_BITS { SLOW_BASE_BYTES } else { harness::BASE_BYTES }
}

async fn start(to: SocketAddr, link: Link) -> LinkRelay {
    LinkRelay::start(to, link).await.expect("a port")
}

/// Waits until the publisher is there.
async fn until_published(place: &Place) {
    receive_for(place, Duration::from_secs(3), Duration::from_secs(9)).await.1.expect("a shutdown");
}
