//! The rates at which every clip is measured.

use anyhow::{Context, Result};

/// Lowest rates in kbit/s, by the name of the clip: frames coded alone have 20 to 30 dB at them, and 37 to 46 at the
/// highest.
const LOWEST_KBPS: [(&str, f64); 8] = [
    ("foreman_qcif_150f", 75.0),
    ("mobile_cif_30f", 600.0),
    ("flower_320x180_60f", 200.0),
    ("cockatoo_320x180_60f", 50.0),
    ("asl_book_320x240_54f", 75.0),
    ("twopeople_320x192_9f", 50.0),
    ("bunny_640x360_132f", 400.0),
    ("street_1280x720_54f", 1000.0),
];

/// The factor for a rate just below another: a hundredth less.
const BELOW_FACTOR: f64 = 0.99;

/// The number of receivers, each with twice the rate of the one before.
const RECEIVER_COUNT: i32 = 5;

/// The rates of one clip.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// The receivers' rates in kbit/s: five, each twice the one before.
    pub receivers: Vec<f64>,
    /// The rates of the ladders' renditions in kbit/s: two an octave over the same range.
    pub renditions: Vec<f64>,
}

impl Rates {
    /// Returns the rates of a clip, by its name.
    ///
    /// # Errors
    /// If the clip is not in the table.
    pub fn of(clip: &str) -> Result<Self> {
        let lowest = LOWEST_KBPS.iter().find(|(name, _)| *name == clip);
        let &(_, lowest) =
            lowest.with_context(|| format!("{clip} has no rates: put it into harness/video/rates.rs"))?;
        Ok(Self::from(lowest))
    }

    /// Returns the rates just below each receiver except the slowest, in kbit/s; several renditions may serve these
    /// differently.
    #[must_use]
    pub fn below(&self) -> Vec<f64> {
        self.receivers.iter().skip(1).map(|kbps| BELOW_FACTOR * kbps).collect()
    }

    /// Returns the rate of the receiver in the middle.
    #[must_use]
    pub fn middle(&self) -> f64 {
        self.receivers[self.receivers.len() / 2]
    }
}

impl From<f64> for Rates {
    /// Returns the rates that begin at `lowest`.
    fn from(lowest: f64) -> Self {
        let receivers = (0..RECEIVER_COUNT).map(|octave| lowest * 2_f64.powi(octave));
        let renditions = (0..2 * RECEIVER_COUNT - 1).map(|half| (lowest * 2_f64.powf(f64::from(half) / 2.0)).round());
        Self { receivers: receivers.collect(), renditions: renditions.collect() }
    }
}

/// Returns the names of all clips, in the order of tables.
pub fn clips() -> impl Iterator<Item = &'static str> {
    LOWEST_KBPS.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receivers_span_a_factor_of_sixteen_and_are_among_the_renditions() {
        for clip in clips() {
            let rates = Rates::of(clip).expect("in the table");
            assert_eq!(rates.receivers[4], 16.0 * rates.receivers[0]);
            assert_eq!(rates.middle(), 4.0 * rates.receivers[0]);
            assert!(rates.receivers.iter().all(|rate| rates.renditions.contains(rate)), "{rates:?}");
        }
        assert!(Rates::of("no such clip").is_err());
    }
}
