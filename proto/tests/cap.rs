//! A receiver's cap holds over time, in bounded bursts, and skipped frames do not lower it.

use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::{Bitrate, Frame, PathStats, Publisher, RandomAccessFrame, Step};
use proptest::prelude::*;

const INTERVAL: Duration = Duration::from_nanos(33_333_333);
/// The part of each interval's bytes that a receiver without skipped frames gets, and the burst: three intervals.
const PAYLOAD_PERMILLE: u64 = 950;
const BURST: Duration = Duration::from_millis(100);

/// Frames for one receiver, from a source that makes as many bytes of each as the receiver can use.
struct Feed {
    publisher: Publisher,
    cap: Bitrate,
    video: bool,
    /// The number of frames that were due, including skipped ones.
    due: u32,
    skipped: u64,
    /// When frames were due, and the bytes written until the next one was.
    written: Vec<(Duration, u64)>,
}

impl Feed {
    fn new(cap: Bitrate, video: bool) -> Self {
        let publisher = Publisher::new(INTERVAL, Some(cap));
        let publisher = if video { publisher.of_video(INTERVAL) } else { publisher };
        Self { publisher, cap, video, due: 0, skipped: 0, written: Vec::new() }
    }

    /// Skips the next frame.
    fn leave_out(&mut self) {
        self.due += 1;
        self.skipped += 1;
    }

    /// Sends the next frame, with a base layer of at least `base` bytes; `room` bytes go out before another frame is
    /// due.
    fn frame(&mut self, room: usize, base: usize, stays: bool) {
        let (id, now, path) = (u64::from(self.due), INTERVAL * self.due, PathStats::default());
        let useful = usize::try_from(self.publisher.useful_bytes()).expect("few");
        // A picture that stays does not lose bytes.
        let bytes = Bytes::from(vec![1; if self.video { useful.max(base).max(1000) } else { 100_000 }]);
        let join = (id == 0).then(|| RandomAccessFrame { base, bytes: bytes.clone() });
        let since = if stays { id.saturating_sub(1) / 8 * 8 } else { id };
        let frame = Frame { id, skipped: std::mem::take(&mut self.skipped), captured: 0, since, base, bytes, join };
        self.due += 1;
        self.publisher.handle_frame(now, &frame, &path);
        let mut left = room;
        while let Some(step) = self.publisher.poll() {
            if step == Step::Write {
                let count = self.publisher.unwritten().concat().len().min(left);
                if count == 0 {
                    break;
                }
                left -= count;
                self.publisher.handle_written(now, count, &path);
            }
        }
        self.written.push((now, (room - left) as u64));
    }

    /// Returns the bytes that the cap leaves for frames in this time.
    fn most(&self, time: Duration) -> u64 {
        self.cap.bytes_in(time) * PAYLOAD_PERMILLE / 1000
    }

    /// Returns the part of the cap that was used from the tenth frame on.
    fn used(&self) -> f64 {
        let (first, rest) = (self.written[10].0, &self.written[10..]);
        let bytes: u64 = rest.iter().map(|(_, bytes)| bytes).sum();
        bytes as f64 / self.most(INTERVAL * self.due - first) as f64
    }
}

proptest! {
    #[test]
    fn in_any_time_no_more_than_the_cap_and_a_burst_is_written(
        frames in proptest::collection::vec((0..4_u32, 0..40_000_usize, any::<bool>()), 1..60),
        kilobits in 100..10_000_u64,
        video: bool,
    ) {
        let mut feed = Feed::new(Bitrate::from_bits(kilobits * 1000), video);
        for (left_out, room, stays) in frames {
            (0..left_out).for_each(|_| feed.leave_out());
            feed.frame(room, 20, stays && !video);
        }
        for (first, &(from, _)) in feed.written.iter().enumerate() {
            let mut bytes = 0;
            for &(at, count) in &feed.written[first..] {
                bytes += count;
                let most = feed.most(at - from + BURST);
                prop_assert!(bytes <= most + 2, "{bytes} of {most} in {:?}", at - from);
            }
        }
    }
}

#[test]
fn with_a_quarter_of_the_frames_left_out_a_receiver_has_its_cap() {
    for (kilobits, at_random, video) in [500, 8000]
        .into_iter()
        .flat_map(|rate| [false, true].map(|random| (rate, random, true)))
        .chain([(500, true, false)])
    {
        let (mut feed, mut random) =
            (Feed::new(Bitrate::from_bits(kilobits * 1000), video), fastrand::Rng::with_seed(14));
        for id in 0..3000 {
            if id > 0 && if at_random { random.u8(..4) == 0 } else { id % 4 == 0 } {
                feed.leave_out();
            } else {
                feed.frame(usize::MAX, 20, false);
            }
        }
        let used = feed.used();
        println!("{kilobits} kbit/s, left out at random: {at_random}, video: {video}: {:.1} %", 100.0 * used);
        assert!((0.95..1.001).contains(&used), "{kilobits} kbit/s, at random: {at_random}: {used}");
    }
}

#[test]
fn with_two_of_three_frames_left_out_a_receiver_has_its_cap() {
    let mut feed = Feed::new(Bitrate::from_bits(2_000_000), true);
    for id in 0..900 {
        if id % 3 == 0 { feed.frame(usize::MAX, 20, false) } else { feed.leave_out() }
    }
    assert!((0.95..1.001).contains(&feed.used()), "{}", feed.used());
}

#[test]
fn what_a_base_takes_beyond_the_cap_later_frames_make_up_for() {
    let mut feed = Feed::new(Bitrate::from_bits(800_000), true);
    let interval = usize::try_from(feed.most(INTERVAL)).expect("few");
    for id in 0..300 {
        feed.frame(usize::MAX, if id % 60 == 20 { 5 * interval } else { interval / 4 }, false);
    }
    let bases_alone: Vec<_> = feed.written[21..32].iter().map(|(_, bytes)| *bytes < interval as u64 / 2).collect();
    assert_eq!(bases_alone.iter().filter(|alone| **alone).count(), 5, "bases alone: {bases_alone:?}");
    assert!((0.95..1.001).contains(&feed.used()), "{}", feed.used());
}
