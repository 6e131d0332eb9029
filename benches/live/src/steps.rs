//! How soon a receiver follows when the rate of its link changes and then stays.

use std::time::Duration;

use nestcast_lab::clip::FRAMES_PER_SECOND;

use crate::links::Scenario;
use crate::run::Seen;

/// A rate must last this long for a receiver to settle at it.
const STAY_TIME: Duration = Duration::from_secs(3);
/// The time after a rise from which the quality counts as settled.
const SETTLE_TIME: Duration = Duration::from_secs(1);
/// The difference in dB at which a receiver counts as settled.
const NEAR_DB: f64 = 1.5;
/// Successive frames that must be as near: a single one may be an easy one.
const IN_A_ROW: usize = 3;

/// A change of the rate, and the first frame after it, counted from 1, that has followed; `None` if none has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The first shown frame whose bytes fit into a frame interval at the new rate.
    Fall(Option<usize>),
    /// The first of three in a row within 1.5 dB of the receiver's own later quality: the mean from a second after the
    /// rise on.
    Rise(Option<usize>),
}

impl Step {
    /// Returns the changes of a link, from the frames shown over it.
    #[must_use]
    pub fn of(scenario: &Scenario, seen: &[Seen]) -> Vec<Self> {
        let end = Duration::from_secs(scenario.seconds.into());
        let rates = &scenario.link.rates;
        let ends = rates.iter().skip(2).map(|(from, _)| *from.min(&end)).chain([end]);
        let changes = rates.windows(2).zip(ends).filter(|(pair, end)| end.saturating_sub(pair[1].0) >= STAY_TIME);
        let changes = changes.filter(|(pair, _)| pair[0].1 != pair[1].1);
        let step = |(pair, end): (&[(Duration, u64)], Duration)| {
            let (before, (from, rate)) = (pair[0].1, pair[1]);
            let after: Vec<&Seen> = seen.iter().filter(|seen| (from..end).contains(&seen.captured)).collect();
            if rate < before { Self::Fall(fallen(&after, rate)) } else { Self::Rise(risen(&after, from)) }
        };
        changes.map(step).collect()
    }
}

/// Returns the first of these frames, after a fall to `rate`, that is small enough.
fn fallen(after: &[&Seen], rate: u64) -> Option<usize> {
    let most = rate / 8 / u64::from(FRAMES_PER_SECOND);
    after.iter().position(|seen| seen.shown.is_some() && seen.bytes as u64 <= most).map(|at| at + 1)
}

/// Returns the first of these frames, after a rise at `from`, that begins a long enough run of good ones.
fn risen(after: &[&Seen], from: Duration) -> Option<usize> {
    let settled: Vec<f64> =
        after.iter().filter(|seen| seen.captured >= from + SETTLE_TIME).map(|seen| seen.psnr).collect();
    if settled.is_empty() {
        return None;
    }
    let mean = settled.iter().sum::<f64>() / settled.len() as f64;
    let near = |seen: &&Seen| seen.psnr >= mean - NEAR_DB;
    after.windows(IN_A_ROW).position(|frames| frames.iter().all(near)).map(|at| at + 1)
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::Fall(frame) | Self::Rise(frame)) = self;
        let what = if matches!(self, Self::Fall(_)) { "a fall" } else { "a rise" };
        match frame {
            Some(frame) => write!(f, "after {what}: followed at frame {frame}"),
            None => write!(f, "after {what}: not followed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use nestcast_lab::link::Link;

    use super::*;
    use crate::playout::Presented;

    fn at_once(at: Duration) -> Presented {
        Presented { at, waited: Duration::ZERO, is_late: false, stand_ins: 0 }
    }

    #[test]
    fn the_first_frame_that_has_followed_is_found_after_each_change() {
        let ms = Duration::from_millis;
        let link = Link::varying(vec![(ms(0), 2_400_000), (ms(4000), 240_000), (ms(8000), 2_400_000)]);
        let scenario = Scenario { name: "steps".to_owned(), link, seconds: 12, frames_per_second: None };
        // 1000 bytes fit after the fall; two frames are larger, and one is not shown. After the rise the second frame
        // is an easy one.
        let seen = (0..120).map(|id| {
            let captured = ms(100 * id);
            let (bytes, psnr) = match id {
                0..=41 => (9000, 40.0),
                42..=79 => (900, 30.0),
                81 => (9000, 40.0),
                80..=84 => (9000, 30.0 + (id - 79) as f64 * 1.5),
                _ => (9000, 40.0),
            };
            Seen { captured, shown: (id != 42).then(|| at_once(captured)), bytes, psnr }
        });
        let seen: Vec<_> = seen.collect();
        assert_eq!(Step::of(&scenario, &seen), [Step::Fall(Some(4)), Step::Rise(Some(6))]);
        // A rate that does not last is no step.
        let scenario = Scenario { seconds: 10, ..scenario };
        assert_eq!(Step::of(&scenario, &seen), [Step::Fall(Some(4))]);
        // Neither is a change after the end.
        let mut link = scenario.link;
        link.rates.push((ms(13_000), 240_000));
        let scenario = Scenario { link, seconds: 12, ..scenario };
        assert_eq!(Step::of(&scenario, &seen), [Step::Fall(Some(4)), Step::Rise(Some(6))]);
        // Nothing was shown when the quality would have settled.
        assert_eq!(Step::of(&scenario, &seen[..85]), [Step::Fall(Some(4)), Step::Rise(None)]);
    }
}
