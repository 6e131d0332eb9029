//! Checks every few seconds whether the encoder keeps up with its source.

use std::fmt;
use std::time::Duration;

/// The time between two checks.
const WINDOW_TIME: Duration = Duration::from_secs(5);
/// One frame in this many may be skipped: a short load of the machine skips one.
const FRAMES_PER_SKIP: u64 = 20;

/// The counts of frames when the last window ended.
#[derive(Debug, Clone, Default)]
pub struct Pace {
    at: Duration,
    frames: u64,
    skipped: u64,
}

/// An encoder that skipped more than a twentieth of the due frames; its text says so, in frames a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortfall {
    /// Frames that were encoded.
    pub encoded: u64,
    /// Frames that were due.
    pub due: u64,
    /// The length of the window.
    pub past: Duration,
}

impl Pace {
    /// Returns whether the encoder fell behind since the last window of five seconds ended; `None` until a window is
    /// over. `now` is the time since the broadcast began; `frames` and `skipped` count all frames encoded and skipped
    /// so far.
    pub fn shortfall(&mut self, now: Duration, frames: u64, skipped: u64) -> Option<Shortfall> {
        let past = now.checked_sub(self.at).filter(|past| *past >= WINDOW_TIME)?;
        let encoded = frames.saturating_sub(self.frames);
        let left_out = skipped.saturating_sub(self.skipped);
        *self = Self { at: now, frames, skipped };
        let due = encoded.saturating_add(left_out);
        // A slow source has few frames in a window, and one that is skipped says nothing.
        (left_out > 1 && left_out.saturating_mul(FRAMES_PER_SKIP) > due).then_some(Shortfall { encoded, due, past })
    }
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { encoded, due, past } = *self;
        let [reached, wanted] = [encoded, due].map(|frames| a_second(frames, past));
        let skipped = due - encoded;
        let seconds = past.as_secs_f64();
        write!(
            f,
            "the encoder reaches {reached} of {wanted} frames a second: {skipped} of {due} were skipped in the last {seconds:.0} s"
        )
    }
}

/// Formats frames a second, with a decimal if they are few.
#[expect(clippy::cast_precision_loss, reason = "frames of a few seconds are few")]
fn a_second(frames: u64, time: Duration) -> String {
    let rate = frames as f64 / time.as_secs_f64();
    if rate < 9.95 { format!("{rate:.1}") } else { format!("{rate:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(pace: &mut Pace, seconds: u64, frames: u64, skipped: u64) -> Option<[u64; 3]> {
        let shortfall = pace.shortfall(Duration::from_secs(seconds), frames, skipped);
        shortfall.map(|Shortfall { encoded, due, past }| [encoded, due, past.as_secs()])
    }

    #[test]
    fn an_encoder_that_skips_is_told_of_once_a_window() {
        let mut pace = Pace::default();
        assert_eq!(after(&mut pace, 4, 28, 92), None, "no window is over");
        assert_eq!(after(&mut pace, 5, 35, 115), Some([35, 150, 5]));
        assert_eq!(after(&mut pace, 6, 42, 138), None, "it was just said");
        assert_eq!(after(&mut pace, 15, 155, 295), Some([120, 300, 10]));
        // A picture a second.
        assert_eq!(after(&mut pace, 20, 159, 296), None, "one was skipped");
        assert_eq!(after(&mut pace, 25, 162, 298), Some([3, 5, 5]));
    }

    #[test]
    fn an_encoder_that_keeps_up_is_not_spoken_of() {
        let mut pace = Pace::default();
        assert_eq!(after(&mut pace, 5, 0, 0), None, "nothing came");
        assert_eq!(after(&mut pace, 10, 95, 5), None, "one in twenty");
        assert!(after(&mut pace, 15, 189, 11).is_some(), "more than that");
        assert_eq!(after(&mut pace, 20, 289, 11), None, "it caught up");
    }

    #[test]
    fn an_encoder_that_falls_behind_is_told_with_its_rate() {
        let said = |encoded, due, seconds| Shortfall { encoded, due, past: Duration::from_secs(seconds) }.to_string();
        assert_eq!(
            said(35, 150, 5),
            "the encoder reaches 7.0 of 30 frames a second: 115 of 150 were skipped in the last 5 s"
        );
        assert!(said(120, 300, 10).contains("reaches 12 of 30") && said(120, 300, 10).contains("180 of 300"));
    }
}
