//! What a sender does now, in a line for people.

use std::time::Duration;

use super::statistics::Statistics;

/// The shortest time between two lines.
const LINE_INTERVAL: Duration = Duration::from_millis(1500);

/// Makes a line every two seconds if it is asked each second: the time on air, frames a second, receivers, their rate in all, and skipped frames.
#[derive(Debug, Clone, Default)]
pub struct ProgressLine {
    at: Duration,
    frames: u64,
}

impl ProgressLine {
    /// Returns the next line when it is due. `now` is the time since the sender began; `all` are the figures of its
    /// broadcasts.
    pub fn next(&mut self, now: Duration, all: &[Statistics]) -> Option<String> {
        let past = now.checked_sub(self.at).filter(|past| *past >= LINE_INTERVAL)?;
        let total = |count: fn(&Statistics) -> u64| all.iter().map(count).fold(0, u64::saturating_add);
        let (frames, skipped) = (total(|figures| figures.frames), total(|figures| figures.skipped));
        let receivers = total(|figures| figures.receivers.len() as u64);
        let bits = total(|figures| {
            figures.receivers.iter().map(|receiver| receiver.delivery_rate.bits()).fold(0, u64::saturating_add)
        });
        let new = u128::from(frames.saturating_sub(self.frames));
        let tenths = u64::try_from(new * 10_000 / past.as_millis().max(1)).unwrap_or(u64::MAX);
        *self = Self { at: now, frames };
        let plural = if receivers == 1 { "" } else { "s" };
        Some(format!(
            "{} on air, {} frames/s, {receivers} receiver{plural}, {} Mbit/s, {skipped} frames skipped",
            clock(now.as_secs()),
            decimal(tenths),
            decimal(bits / 100_000),
        ))
    }
}

/// Writes a time as hours, minutes and seconds.
fn clock(seconds: u64) -> String {
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

fn decimal(tenths: u64) -> String {
    format!("{}.{}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_every_two_seconds_has_the_rates_since_the_last() {
        let mut line = ProgressLine::default();
        let figures =
            |frames, skipped| [Statistics { frames, skipped, ..Statistics::default() }, Statistics::default()];
        assert_eq!(line.next(Duration::from_millis(1400), &figures(57, 0)), None);
        let first = line.next(Duration::from_secs(2), &figures(60, 0));
        assert_eq!(first.as_deref(), Some("0:00:02 on air, 30.0 frames/s, 0 receivers, 0.0 Mbit/s, 0 frames skipped"));
        let later = line.next(Duration::from_secs(3664), &figures(60 + 36_620, 7)).expect("it is due");
        assert!(later.starts_with("1:01:04 on air, 10.0 frames/s") && later.ends_with("7 frames skipped"), "{later}");
        assert!(
            line.next(Duration::from_secs(3667), &figures(0, 0)).is_some_and(|line| line.contains(" 0.0 frames/s"))
        );
    }
}
