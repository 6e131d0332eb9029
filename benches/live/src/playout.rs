//! The receiver's playout clock on recorded frames: nestcast's and the rivals' are shown alike.

use std::time::Duration;

use nestcast_player::{Latency, PlayoutClock};

use crate::recorder::Recorded;

/// The most stand-ins in a row; then the picture stays.
const MAX_CONCEALED: u32 = 4;

/// When a frame was on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Presented {
    /// The moment.
    pub at: Duration,
    /// How long it waited for that moment.
    pub waited: Duration,
    /// Whether it arrived after the moment at which it was to be shown.
    pub is_late: bool,
    /// Stand-ins that the player showed before it, for frames that were not there in time.
    pub stand_ins: u32,
}

/// Returns when the player shows these frames, which are captured every `interval`. Decoding takes no time.
#[must_use]
pub fn present(frames: &[Recorded], interval: Duration) -> Vec<Presented> {
    let mut clock = PlayoutClock::new(Latency::Smooth, interval);
    let mut before: Option<Presented> = None;
    let mut presented = Vec::new();
    for frame in frames {
        let captured = u64::try_from(frame.captured.as_micros()).unwrap_or(u64::MAX);
        let missed = before.map_or(Duration::MAX, |before| before.at.saturating_add(interval + clock.grace()));
        let presentation = clock.handle_ready(frame.at, captured);
        let stand_ins = (0..MAX_CONCEALED).filter(|number| frame.at > missed.saturating_add(interval * *number));
        let stand_ins = u32::try_from(stand_ins.count()).unwrap_or(MAX_CONCEALED);
        let at = presentation.at.max(before.map_or(Duration::ZERO, |before| before.at));
        let waited = at.saturating_sub(frame.at);
        let shown = Presented { at, waited, is_late: presentation.is_late, stand_ins };
        presented.push(shown);
        before = Some(shown);
    }
    presented
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn frames_wait_for_the_late_ones_and_stand_ins_are_counted() {
        let ms = Duration::from_millis;
        // Every third frame takes 20 ms longer; frames 150 to 152 arrive with 153.
        let recorded = |id: u64| {
            let captured = ms(40 * id);
            let at = match id {
                150..153 => ms(40 * 153 + 30),
                _ => captured + ms(30 + if id % 3 == 2 { 20 } else { 0 }),
            };
            Recorded { id, captured, at, prefix: Bytes::new() }
        };
        let frames: Vec<_> = (0..300).map(recorded).collect();
        let presented = present(&frames, ms(40));
        assert!(
            presented[100..150].iter().zip(&frames[100..]).all(|(shown, frame)| shown.at == frame.captured + ms(50))
        );
        assert_eq!((presented[150].stand_ins, presented[150].is_late), (3, true));
        assert_eq!(presented[100..150].iter().map(|shown| shown.stand_ins).sum::<u32>(), 0);
        assert_eq!(presented[120].waited, ms(20));
    }
}
