//! A ladder of three x264 renditions, 1 : 3.3 : 10: each receiver gets the best that fits into its rate.

use anyhow::{Context, Result};

use super::{Clip, Run, Scheme, Screen, cache::Cached};

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
        let rungs = rungs(kbps);
        let runs = self.rival.run(clip, &rungs)?;
        kbps.iter().map(|&kbps| Ok(runs[best(&rungs, kbps).context("no rendition fits")?].clone())).collect()
    }

    fn show(&self, clip: &Clip, kbps: &[f64], screen: Screen<'_>) -> Result<Vec<Run>> {
        let rungs = rungs(kbps);
        let mut runs = Vec::new();
        for (n, &kbps) in kbps.iter().enumerate() {
            let rung = rungs[best(&rungs, kbps).context("no rendition fits")?];
            runs.extend(self.rival.show(clip, &[rung], &mut |_, frame| screen(n, frame))?);
        }
        Ok(runs)
    }
}

/// Returns the rates of the renditions for receivers of these rates, in kbit/s.
fn rungs(kbps: &[f64]) -> [f64; RUNG_RATES.len()] {
    let lowest = kbps.iter().copied().fold(f64::INFINITY, f64::min);
    RUNG_RATES.map(|factor| factor * lowest)
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
