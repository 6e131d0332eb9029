//! How long receivers wait for their first frame on links that lose packets, in virtual time.

use std::time::Duration;

use nestcast_lab::bottleneck::Bottleneck;
use nestcast_lab::link::Link;
use nestcast_proto::{ReceiveStats, ReceivedFrame};
use nestcast_receiver::FrameSink;
use nestcast_tests::network::{Scenario, Viewer, broadcast_from};
use nestcast_tests::still_frames::StillFrames;

/// Receivers of a broadcast, each on a link of its own; they join one after another.
const RECEIVERS: u32 = 200;
const JOINS: Duration = Duration::from_secs(4);
/// The time that the last of them has.
const WATCH: Duration = Duration::from_secs(6);

/// Notes when the first frame comes.
struct First {
    network: Bottleneck,
    joins: Duration,
    waited: Option<Duration>,
}

impl FrameSink for First {
    type Error = std::convert::Infallible;

    fn handle_frame(&mut self, _frame: ReceivedFrame, _stats: ReceiveStats) -> Result<(), Self::Error> {
        let waited = self.network.now().saturating_sub(self.joins);
        self.waited.get_or_insert(waited);
        Ok(())
    }
}

/// Returns how long receivers wait for their first frame, in ascending order, if `percent` percent of all packets are
/// lost in each direction at this round trip.
fn waits(rtt: u64, percent: u32) -> Vec<Duration> {
    let link = Link::constant(4_000_000).with_rtt(Duration::from_millis(rtt));
    let links: Vec<Link> =
        (1..=u64::from(RECEIVERS)).map(|seed| link.clone().with_loss(percent * 10_000, seed)).collect();
    let scenario = Scenario::lasting(JOINS + WATCH);
    let source = StillFrames::new(6000, 400, JOINS + WATCH).of_video();
    let outcome = broadcast_from(&links, scenario, source, |network| {
        let viewer = |number: u32| {
            let joins = JOINS * number / RECEIVERS;
            let sink = First { network: network.clone(), joins, waited: None };
            Viewer { joins, link: usize::try_from(number).expect("few"), cap: None, sink }
        };
        (0..RECEIVERS).map(viewer).collect()
    });
    let mut waits: Vec<_> = outcome.receivers.iter().map(|first| first.waited.expect("a frame comes")).collect();
    waits.sort_unstable();
    waits
}

/// Two round trips are for the handshake and the answer to the hello, with which the first frame comes.
#[test]
fn on_a_round_trip_of_half_a_second_the_first_frame_comes_after_two() {
    let waits = waits(500, 0);
    println!("500 ms: {:?} to {:?}", waits[0], waits[waits.len() - 1]);
    assert!(waits[0] >= Duration::from_secs(1) && waits[waits.len() - 1] < Duration::from_millis(1250), "{waits:?}");
}

/// The first packet of a connection has nothing that tells of its loss but time.
#[test]
fn of_two_hundred_starts_on_a_link_that_loses_packets_none_is_silent_and_few_take_a_second() {
    for (rtt, percent, most_slow) in [(50, 3, 1), (50, 10, 8)] {
        let waits = waits(rtt, percent);
        let at = |permille: usize| waits[(waits.len() - 1) * permille / 1000];
        println!(
            "{rtt} ms, {percent} % loss: median {:?}, 90 % {:?}, 99 % {:?}, longest {:?}",
            at(500),
            at(900),
            at(990),
            at(1000)
        );
        let slow = waits.iter().filter(|waited| **waited >= Duration::from_secs(1)).count();
        assert!(slow <= most_slow && at(1000) < Duration::from_secs(4), "{slow} took a second, {:?}", at(1000));
    }
}
