//! A hundred receivers join a broadcast of video within a second, in virtual time, without delaying anybody's frames.

use std::convert::Infallible;
use std::time::Duration;

use nestcast_encode::RenditionLimit;
use nestcast_lab::bottleneck::Bottleneck;
use nestcast_lab::link::Link;
use nestcast_proto::{Bitrate, ReceiveStats, ReceivedFrame};
use nestcast_receiver::FrameSink;
use nestcast_tests::network::{INTERVAL, Scenario, Viewer, broadcast_from};
use nestcast_tests::video_frames::video_frames;

/// Receivers that join earlier, and those of the storm.
const EARLIER_RECEIVERS: u32 = 3;
const STORM_RECEIVERS: u32 = 100;
/// When the storm begins; it lasts a second.
const STORM_BEGINS: Duration = Duration::from_secs(2);
/// More than all of them request.
const LINK_BITS_PER_SECOND: u64 = 300_000_000;
const RECEIVER_BITS_PER_SECOND: u64 = 1_000_000;

/// Records frames: their numbers, and when each was captured and handed over.
struct Clock {
    network: Bottleneck,
    joins: Duration,
    frames: Vec<(u64, Duration, Duration)>,
}

impl FrameSink for Clock {
    type Error = Infallible;

    fn handle_frame(&mut self, frame: ReceivedFrame, _stats: ReceiveStats) -> Result<(), Infallible> {
        self.frames.push((frame.header.id, Duration::from_micros(frame.header.captured), self.network.now()));
        Ok(())
    }
}

impl Clock {
    fn latencies(&self) -> impl Iterator<Item = Duration> {
        self.frames.iter().map(|(_, captured, at)| at.saturating_sub(*captured))
    }
}

#[test]
fn a_hundred_join_within_a_second_and_no_frame_is_late_by_an_interval() {
    let joins = |number: u32| match number.checked_sub(EARLIER_RECEIVERS) {
        None => Duration::ZERO,
        Some(place) => STORM_BEGINS + Duration::from_secs(1) * place / STORM_RECEIVERS,
    };
    let scenario = Scenario::lasting(STORM_BEGINS + Duration::from_secs(2));
    let outcome = broadcast_from(
        &[Link::constant(LINK_BITS_PER_SECOND)],
        scenario,
        video_frames(RenditionLimit::default()),
        |network| {
            let viewer = |number| {
                let joins = joins(number);
                let sink = Clock { network: network.clone(), joins, frames: Vec::new() };
                Viewer { joins, link: 0, cap: Some(Bitrate::from_bits(RECEIVER_BITS_PER_SECOND)), sink }
            };
            (0..EARLIER_RECEIVERS + STORM_RECEIVERS).map(viewer).collect()
        },
    );
    // The time of a frame while nobody joins: half of the round trip, and the wait for the next frame.
    let calm = outcome.receivers[0].frames.iter().filter(|(_, captured, _)| *captured < STORM_BEGINS).skip(30);
    let usual = calm.map(|(_, captured, at)| at.saturating_sub(*captured)).max().expect("frames come before the storm");
    println!("before the storm a frame takes {usual:?} at most");
    for (number, receiver) in outcome.receivers.iter().enumerate() {
        let first = receiver.frames.first().unwrap_or_else(|| panic!("receiver {number} saw nothing"));
        let waited = first.2.saturating_sub(receiver.joins);
        // Three round trips of handshake and hello, the next frame, and an interval.
        assert!(waited <= 2 * INTERVAL + Duration::from_millis(60), "receiver {number} waited {waited:?}");
        let whole = (first.0..).zip(&receiver.frames).all(|(expected, (id, ..))| expected == *id);
        assert!(whole, "receiver {number} lacks frames");
        let latest = receiver.latencies().max().expect("it has frames");
        assert!(latest <= usual + INTERVAL, "receiver {number}: a frame took {latest:?}");
    }
}
