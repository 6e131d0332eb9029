//! The choice of a receiver's rung on a ladder. Its controller learns the link's true rate, a little late, without
//! having to find it: the best that an estimator of the path could do.

use std::time::Duration;

use nestcast_lab::link::Link;

/// The delay until the rate is known.
const KNOWN_AFTER: Duration = Duration::from_millis(200);
/// How long a rate must last before a higher rung is chosen.
const STEADY_TIME: Duration = Duration::from_secs(1);
/// The number of times that the rate is read in that time.
const RATE_READS: u32 = 50;
/// A rung's fraction of the rate: headers and larger pictures need the rest.
const RATE_SHARE: f64 = 0.9;

/// The rungs for one link.
#[derive(Debug)]
pub(crate) struct Ladder {
    /// The rates in bits a second, ascending.
    rates: Vec<f64>,
    link: Link,
}

impl Ladder {
    pub(crate) fn new(rates: &[f64], link: &Link) -> Self {
        Self { rates: rates.to_vec(), link: link.clone() }
    }

    /// Returns the highest rung that the link carried all through the last known second; the lowest if none.
    pub(crate) fn rung(&self, now: Duration) -> usize {
        let last = now.saturating_sub(KNOWN_AFTER);
        let looks = (0..RATE_READS).map(|look| last.saturating_sub(STEADY_TIME * look / RATE_READS));
        let least = looks.map(|at| self.link.rate(at)).min().unwrap_or(0) as f64;
        self.rates.iter().rposition(|&rate| rate <= RATE_SHARE * least).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rung_follows_a_fall_soon_and_a_rise_when_it_lasts() {
        let seconds = Duration::from_secs;
        let link = Link::varying(vec![(seconds(0), 4_000_000), (seconds(4), 1_000_000), (seconds(8), 4_000_000)]);
        let ladder = Ladder::new(&[255e3, 850e3, 3.4e6], &link);
        let at = |milliseconds| ladder.rung(Duration::from_millis(milliseconds));
        assert_eq!([0, 3999, 4190, 4210, 7999, 9100, 9250].map(at), [2, 2, 2, 1, 1, 1, 2]);
        assert_eq!(Ladder::new(&[255e3, 850e3], &Link::constant(1000)).rung(seconds(3)), 0);
    }
}
