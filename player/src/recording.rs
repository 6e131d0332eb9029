//! Where frames and sound go in files that are played together: both in place by their capture times.

use std::time::Duration;

use nestcast_proto::FrameRate;

/// Samples of each channel in a second.
const SAMPLES_PER_SECOND: i64 = 48_000;
/// How far from its place sound may be: less than half of the smallest offset that people notice.
const TOLERANCE_SAMPLES: i64 = 960;
/// The longest time without frames or sound that is filled. After a longer one, both files go on without it, as after
/// times that go back as far.
pub(crate) const MAX_FILLED: Duration = Duration::from_secs(30);

/// The places of frames in a video of a fixed rate, and of sound at 48 kHz. The first frame is at the beginning of both.
#[derive(Debug, Clone)]
pub struct Recording {
    rate: FrameRate,
    /// A capture time in microseconds, and the number of the frame with that time.
    anchor: Option<(u64, u64)>,
    frames: u64,
    samples: u64,
}

/// Where a block of sound goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SoundPlace {
    /// Samples of silence before it.
    pub silence: usize,
    /// Samples at its beginning to leave out.
    pub skipped: usize,
}

impl Recording {
    /// Begins files with video of this rate.
    #[must_use]
    pub const fn new(rate: FrameRate) -> Self {
        Self { rate, anchor: None, frames: 0, samples: 0 }
    }

    /// Takes a frame that was captured at `captured` microseconds. Returns how often the frame before it is repeated
    /// first; `None` if the frame has no place, because the one before it has a later one.
    pub fn handle_frame(&mut self, captured: u64) -> Option<u64> {
        let anchored = self.anchor.and_then(|(since, first)| {
            let micros = captured.checked_sub(since)?;
            // The nearest frame's time.
            let time = Duration::from_micros(micros).saturating_add(self.rate.interval() / 2);
            Some(first.saturating_add(self.frames_in(time)))
        });
        let near = self.frames_in(MAX_FILLED);
        let Some(place) = anchored.filter(|place| place.abs_diff(self.frames) <= near) else {
            self.anchor = Some((captured, self.frames));
            self.frames += 1;
            return Some(0);
        };
        let repeated = place.checked_sub(self.frames)?;
        self.frames = place + 1;
        Some(repeated)
    }

    /// Takes a block of sound whose first sample was captured at `captured` microseconds. Returns its place after the
    /// blocks before it; `None` if it is before the first frame, or far from the newest.
    pub fn handle_sound(&mut self, captured: u64, samples: usize) -> Option<SoundPlace> {
        let (since, first) = self.anchor?;
        let from_anchor = i64::try_from(captured).ok()?.checked_sub(i64::try_from(since).ok()?)?;
        let place = self.samples_at(first).checked_add(from_anchor.checked_mul(SAMPLES_PER_SECOND)? / 1_000_000)?;
        let near = self.frames.saturating_add(self.frames_in(MAX_FILLED));
        let away = place.checked_sub(i64::try_from(self.samples).ok()?)?;
        if place > self.samples_at(near) {
            return None;
        }
        let (silence, skipped) = match away {
            _ if away.abs() <= TOLERANCE_SAMPLES && self.samples > 0 => (0, 0),
            0.. => (away, 0),
            _ => (0, away.saturating_neg()),
        };
        let silence = usize::try_from(silence).ok()?;
        let skipped = usize::try_from(skipped).ok().filter(|skipped| *skipped < samples)?;
        self.samples += (silence + samples - skipped) as u64;
        Some(SoundPlace { silence, skipped })
    }

    fn frames_in(&self, time: Duration) -> u64 {
        let frames = time.as_micros() * u128::from(self.rate.frames()) / (1_000_000 * u128::from(self.rate.seconds()));
        u64::try_from(frames).unwrap_or(u64::MAX)
    }

    /// Returns the first sample of a frame.
    fn samples_at(&self, frame: u64) -> i64 {
        let samples = i128::from(frame) * i128::from(SAMPLES_PER_SECOND) * i128::from(self.rate.seconds());
        i64::try_from(samples / i128::from(self.rate.frames())).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK_SAMPLES: u64 = 960;

    #[test]
    fn frames_that_are_missing_or_uneven_are_in_place_by_their_capture_times() {
        let mut recording = Recording::new(FrameRate::new(25, 1).expect("a rate"));
        // Two are missing, one is 15 ms late, one is there twice.
        let captured = [0, 40, 80, 200, 255, 280, 281, 320].map(|at| 5_000_000 + at * 1000);
        let places = captured.map(|captured| recording.handle_frame(captured));
        assert_eq!(places, [Some(0), Some(0), Some(0), Some(2), Some(0), Some(0), None, Some(0)]);
        // A sender that begins anew, and a pause of a minute, are not filled.
        assert_eq!([7, 40_007, 60_000_000].map(|at| recording.handle_frame(at)), [Some(0); 3]);
        assert_eq!(recording.frames, 12);
        // A step back of 35 s is one of the clock, and one of 10 s is of frames that are late.
        let places = [120, 140, 165, 130, 150, 140].map(|second| recording.handle_frame(second * 1_000_000));
        assert_eq!(places, [Some(0), Some(499), Some(624), Some(0), Some(499), None]);
    }

    #[test]
    fn sound_begins_with_the_first_frame_and_gaps_are_silent() {
        let mut recording = Recording::new(FrameRate::new(25, 1).expect("a rate"));
        assert_eq!(recording.handle_sound(1_000_000, 960), None, "there is no frame yet");
        assert_eq!(recording.handle_frame(1_000_000), Some(0));
        assert_eq!(recording.handle_sound(970_000, 960), None, "it is before the frame");
        assert_eq!(recording.handle_sound(990_000, 960), Some(SoundPlace { silence: 0, skipped: 480 }));
        assert_eq!(recording.handle_sound(1_010_000, 960), Some(SoundPlace { silence: 0, skipped: 0 }));
        assert_eq!(recording.handle_sound(1_035_000, 960), Some(SoundPlace { silence: 0, skipped: 0 }), "5 ms");
        assert_eq!(recording.handle_sound(2_000_000, 960), Some(SoundPlace { silence: 48_000 - 2400, skipped: 0 }));
        // The sender begins anew a second later, with other times.
        assert_eq!(recording.handle_frame(7), Some(0));
        let place = recording.handle_sound(7, 960);
        assert_eq!(place, None, "it would be before what is there");
        for far in [31_000_000, 1 << 60, u64::MAX] {
            assert_eq!(recording.handle_sound(far, 960), None, "no frame is near it");
        }
    }

    #[test]
    fn an_hour_at_an_uneven_rate_is_aligned() {
        let mut recording = Recording::new(FrameRate::new(30_000, 1001).expect("a rate"));
        for second in 0..3600 {
            for frame in 0..30 {
                recording.handle_frame(9 + second * 1_000_000 + frame * 33_366);
            }
            for block in 0..50 {
                let captured = 9 + second * 1_000_000 + block * 20_000;
                let place = recording.handle_sound(captured, 960).expect("a place");
                assert_eq!(place, SoundPlace { silence: 0, skipped: 0 });
            }
        }
        let seconds = recording.frames as f64 * 1001.0 / 30_000.0;
        assert!((seconds - recording.samples as f64 / 48_000.0).abs() < 0.04, "{seconds} s");
        assert_eq!(recording.samples, 3600 * 50 * BLOCK_SAMPLES);
    }
}
