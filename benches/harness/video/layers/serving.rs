//! Which stream each receiver gets, by two rules.
//!
//! A receiver stays in one stream for the whole clip. By the rule of the *mean*, a stream fits if its mean rate does. By
//! the *strict* rule, it fits if the link delivers every frame within 1.5 frame times of its capture.

use nestcast_lab::video::{FIRST_FRAME, Frame, Summary};

use super::super::{Clip, Run};

/// The latest that a frame may be complete, in frame times after its capture.
const LATEST_FRAME_TIMES: f64 = 1.5;
/// A part of a rate that rounding may add.
const ROUNDING_SLACK: f64 = 1e-9;

/// What a receiver may get: a rendition, or a layer with all layers below it.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    /// The rate in kbit/s that the encoder was asked for.
    pub(super) kbps: f64,
    /// All bytes that a receiver needs for it, and what it shows.
    pub(super) run: Run,
}

/// Which streams fit a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// The mean rate, or the rate asked for if that is less: an encoder's overshoot is forgiven.
    Mean,
    /// Every frame arrives in time.
    Strict,
    /// Every frame from the ninth on arrives in time. Earlier frames may be late, and delay later ones.
    Settled,
}

/// What all receivers get by one rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Outcome {
    /// Mean over the receivers of the mean PSNR of luma, in dB.
    pub(super) mean_db: f64,
    /// Fraction of the receivers that no stream fits. They count with the quality of the lowest.
    pub(super) late: f64,
}

impl Rule {
    fn fits(self, stream: &Stream, clip: &Clip, kbps: f64) -> bool {
        let bytes = stream.run.frames.iter().map(|frame| frame.bytes).sum();
        match self {
            Self::Mean => stream.kbps.min(clip.kbps(bytes)) <= kbps * (1.0 + ROUNDING_SLACK),
            Self::Strict => {
                latest(&stream.run.frames, clip.frame_bytes(kbps), 0) <= LATEST_FRAME_TIMES + ROUNDING_SLACK
            }
            Self::Settled => {
                latest(&stream.run.frames, clip.frame_bytes(kbps), FIRST_FRAME) <= LATEST_FRAME_TIMES + ROUNDING_SLACK
            }
        }
    }

    /// Serves receivers: each has a rate in kbit/s and the streams that it may get, by rising rate.
    pub(super) fn serve(self, clip: &Clip, receivers: &[(f64, &[Stream])]) -> Outcome {
        let mut late = 0;
        let mut sum = 0.0;
        for (kbps, streams) in receivers {
            let fitting = streams.iter().rposition(|stream| self.fits(stream, clip, *kbps));
            late += usize::from(fitting.is_none());
            sum += streams.get(fitting.unwrap_or(0)).map_or(0.0, |stream| luma_db(&stream.run));
        }
        let count = receivers.len() as f64;
        Outcome { mean_db: sum / count, late: late as f64 / count }
    }
}

/// Returns the largest time from a frame's capture to its last byte, in frame times, of all frames from `first` on. The
/// link carries `frame_bytes` in a frame time, one frame after another.
fn latest(frames: &[Frame], frame_bytes: f64, first: usize) -> f64 {
    let mut queued = 0.0_f64;
    let mut latest = 0.0_f64;
    for (n, frame) in frames.iter().enumerate() {
        queued = (queued - frame_bytes).max(0.0) + frame.bytes as f64;
        if n >= first {
            latest = latest.max(queued / frame_bytes);
        }
    }
    latest
}

/// Returns the largest frame of a stream over its mean one; of several streams, the largest such ratio.
pub(super) fn peak<'a>(streams: impl IntoIterator<Item = &'a Stream>) -> f64 {
    let of = |stream: &Stream| {
        let bytes = || stream.run.frames.iter().map(|frame| frame.bytes);
        let largest = bytes().max().unwrap_or(0) as f64;
        largest * stream.run.frames.len() as f64 / bytes().sum::<usize>() as f64
    };
    streams.into_iter().map(of).fold(0.0, f64::max)
}

fn luma_db(run: &Run) -> f64 {
    Summary::of(&run.frames, |frame| frame.luma_db).mean
}

#[cfg(test)]
mod tests {
    use super::{super::super::clip::tests::moving, *};

    /// A stream of 30 frames of `bytes`, with `first` and `later` bytes in its first and its twentieth, and a constant
    /// quality.
    fn stream(kbps: f64, [first, bytes, later]: [usize; 3], luma_db: f64) -> Stream {
        let size = |n| {
            if n == 0 {
                first
            } else if n == 20 {
                later
            } else {
                bytes
            }
        };
        let frame = |n| Frame { bytes: size(n), luma_db, ycbcr_db: luma_db };
        Stream { kbps, run: Run { frames: (0..30).map(frame).collect() } }
    }

    #[test]
    fn a_queue_delays_the_frames_that_follow() {
        let frames = |bytes: &[usize]| -> Vec<Frame> {
            bytes.iter().map(|&bytes| Frame { bytes, luma_db: 30.0, ycbcr_db: 30.0 }).collect()
        };
        assert_eq!(latest(&frames(&[100, 100, 100]), 100.0, 0), 1.0);
        // 300 bytes need three frame times; 200 of them are left when the next frame begins.
        assert_eq!(latest(&frames(&[300, 100, 0, 0]), 100.0, 0), 3.0);
        assert_eq!(latest(&frames(&[300, 100, 0, 0]), 100.0, 1), 3.0);
        assert_eq!(latest(&frames(&[300, 0, 0, 100]), 100.0, 3), 1.0);
        // An idle link saves nothing up.
        assert_eq!(latest(&frames(&[0, 0, 250]), 100.0, 0), 2.5);
    }

    #[test]
    fn the_rules_tell_a_large_first_frame_a_large_later_one_and_the_mean_apart() {
        let clip = moving(16, 8, 30);
        // 30 frames a second: 24 kbit/s are 100 bytes a frame. The second stream needs 48 kbit/s, and twice as much in
        // one later frame; the third needs 96, and ten times as much in its first one.
        let streams = [
            stream(24.0, [100, 100, 100], 30.0),
            stream(48.0, [195, 195, 390], 34.0),
            stream(96.0, [4000, 280, 280], 38.0),
        ];
        let at = |rule: Rule, kbps: f64| {
            let Outcome { mean_db, late } = rule.serve(&clip, &[(kbps, &streams)]);
            (mean_db, late)
        };
        assert_eq!(
            [23.9, 24.0, 47.9, 48.0, 95.9, 96.0].map(|kbps| at(Rule::Mean, kbps).0),
            [30.0, 30.0, 30.0, 34.0, 34.0, 38.0]
        );
        // 390 bytes arrive within 1.5 frame times if the link carries 260, at 62.4 kbit/s.
        assert_eq!(
            [48.0, 62.3, 62.5, 96.0, 639.0, 641.0].map(|kbps| at(Rule::Strict, kbps).0),
            [30.0, 30.0, 34.0, 34.0, 34.0, 38.0]
        );
        // The ninth frame arrives in time if 4000 + 8 * 280 bytes need 9.5 frame times at most: from 157.6 kbit/s on.
        assert_eq!([157.0, 158.0].map(|kbps| at(Rule::Settled, kbps).0), [34.0, 38.0]);
        assert_eq!([23.9, 24.0].map(|kbps| at(Rule::Mean, kbps).1), [1.0, 0.0]);
        assert_eq!([15.9, 16.1].map(|kbps| at(Rule::Strict, kbps)), [(30.0, 1.0), (30.0, 1.0)]);
    }

    #[test]
    fn an_overshoot_is_forgiven_and_late_receivers_count_with_the_lowest() {
        let clip = moving(16, 8, 30);
        let over = [stream(24.0, [110, 110, 110], 30.0), stream(48.0, [210, 210, 210], 34.0)];
        let receivers = [12.0, 24.0, 48.0].map(|kbps| (kbps, &over[..]));
        let Outcome { mean_db, late } = Rule::Mean.serve(&clip, &receivers);
        assert_eq!((mean_db, late), ((30.0 + 30.0 + 34.0) / 3.0, 1.0 / 3.0));
        // Ten percent too much in every frame: the queue grows beyond any limit.
        assert_eq!(Rule::Strict.serve(&clip, &receivers).late, 2.0 / 3.0);
        assert_eq!(peak(&over), 1.0);
        assert_eq!(
            peak(&[stream(1.0, [100, 100, 100], 30.0), stream(1.0, [590, 90, 90], 30.0)]),
            590.0 * 30.0 / 3200.0
        );
    }
}
