//! A ladder of three x264 renditions, 1 : 3.3 : 10: each receiver gets the best that fits into its rate.

use anyhow::{Context, Result};

use super::{Clip, Run, Scheme, cache::Cached};

/// Rates of the renditions, as multiples of the lowest receiver's.
const RUNG_RATES: [f64; 3] = [1.0, 3.3, 10.0];

/// Three renditions of one rival.
pub(super) struct Ladder {
    rival: Cached,
}

impl Ladder {
    pub(super) fn new(rival: Cached) -> Self {
        Self { rival }
    }
}

impl Scheme for Ladder {
    fn id(&self) -> &'static str {
        "x264-ladder"
    }

    fn run(&self, clip: &Clip, kbps: &[f64]) -> Result<Vec<Run>> {
        let lowest = kbps.iter().copied().fold(f64::INFINITY, f64::min);
        let rungs = RUNG_RATES.map(|factor| factor * lowest);
        let runs = self.rival.run(clip, &rungs)?;
        kbps.iter().map(|&kbps| Ok(runs[best(&rungs, kbps).context("no rendition fits")?].clone())).collect()
    }
}

/// Returns the highest of ascending `rungs` that fits into a rate.
fn best(rungs: &[f64], kbps: f64) -> Option<usize> {
    rungs.iter().rposition(|&rung| rung <= kbps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_that_fits_is_taken() {
        let rungs = RUNG_RATES.map(|factor| factor * 75.0);
        let taken = [74.0, 75.0, 150.0, 300.0, 600.0, 1200.0].map(|kbps| best(&rungs, kbps));
        assert_eq!(taken, [None, Some(0), Some(0), Some(1), Some(1), Some(2)]);
    }
}
