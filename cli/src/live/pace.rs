//! Whether the encoder keeps up with its source, in words every few seconds while it does not.

use std::time::Duration;

use nestcast_sender::Statistics;

/// Time that a warning is about, and between two of them.
const WINDOW: Duration = Duration::from_secs(5);
/// One frame of so many may be skipped without a word: a moment's load of the machine skips one.
const TOLERANCE: u64 = 20;

/// Counts of frames when the last window ended.
#[derive(Debug, Default)]
pub(super) struct Pace {
    at: Duration,
    frames: u64,
    skipped: u64,
}

impl Pace {
    /// What to say of an encoder that skipped more than a twentieth of the frames that were due since the last window ended;
    /// `now` is the time since the broadcast began. Nothing before a window is over.
    pub(super) fn warning(&mut self, now: Duration, figures: &Statistics) -> Option<String> {
        let past = now.checked_sub(self.at).filter(|past| *past >= WINDOW)?;
        let encoded = figures.frames.saturating_sub(self.frames);
        let skipped = figures.skipped.saturating_sub(self.skipped);
        *self = Self { at: now, frames: figures.frames, skipped: figures.skipped };
        let due = encoded + skipped;
        (skipped.saturating_mul(TOLERANCE) > due).then(|| {
            let [reached, wanted] = [encoded, due].map(|frames| a_second(frames, past));
            format!(
                "the encoder reaches {reached} of {wanted} frames a second: {skipped} of {due} were skipped in the last \
                 {:.0} s; a smaller picture or fewer frames a second help",
                past.as_secs_f64()
            )
        })
    }
}

/// Frames a second, with a decimal where there are few.
#[expect(clippy::cast_precision_loss, reason = "frames of a few seconds are few")]
fn a_second(frames: u64, time: Duration) -> String {
    let rate = frames as f64 / time.as_secs_f64();
    if rate < 9.95 { format!("{rate:.1}") } else { format!("{rate:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(pace: &mut Pace, seconds: u64, frames: u64, skipped: u64) -> Option<String> {
        pace.warning(Duration::from_secs(seconds), &Statistics { frames, skipped, ..Statistics::default() })
    }

    #[test]
    fn frames_that_are_skipped_are_told_with_their_share_once_a_window() {
        let mut pace = Pace::default();
        assert_eq!(after(&mut pace, 4, 28, 92), None, "no window is over");
        let said = after(&mut pace, 5, 35, 115).expect("a warning");
        assert!(
            said.starts_with("the encoder reaches 7.0 of 30 frames a second: 115 of 150 were skipped in the last 5 s")
        );
        assert!(said.contains("smaller picture"), "{said}");
        assert_eq!(after(&mut pace, 6, 42, 138), None, "it was just said");
        let said = after(&mut pace, 15, 155, 295).expect("a warning");
        assert!(said.contains("reaches 12 of 30") && said.contains("180 of 300") && said.contains("10 s"), "{said}");
    }

    #[test]
    fn an_encoder_that_keeps_up_is_not_spoken_of() {
        let mut pace = Pace::default();
        assert_eq!(after(&mut pace, 5, 0, 0), None, "nothing came");
        assert_eq!(after(&mut pace, 10, 95, 5), None, "one in twenty");
        assert!(after(&mut pace, 15, 189, 11).is_some(), "more than that");
        assert_eq!(after(&mut pace, 20, 289, 11), None, "it caught up");
    }
}
