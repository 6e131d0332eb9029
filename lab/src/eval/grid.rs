//! The rates at which pictures are measured.

use std::str::FromStr;

use anyhow::{Context as _, Error, Result, bail, ensure};

/// The most points of a grid.
const MAX_POINTS: f64 = 10_000.0;

/// Evenly spaced rates, in bits per pixel; in text `START:STOP:STEP`.
///
/// ```
/// let grid: nestcast_lab::eval::Grid = "0.1:0.2:0.05".parse()?;
/// assert_eq!(grid.rates().collect::<Vec<_>>(), [0.1, 0.15, 0.2]);
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid {
    start: f64,
    step: f64,
    points: usize,
}

/// Goes from 0.1 to 1.5 in steps of 0.05.
impl Default for Grid {
    fn default() -> Self {
        Self { start: 0.1, step: 0.05, points: 29 }
    }
}

impl Grid {
    /// Returns all rates, lowest first.
    pub fn rates(self) -> impl Iterator<Item = f64> {
        // Rounded, so that 0.1 + 2 * 0.05 prints as 0.2.
        (0..self.points).map(move |i| ((self.start + i as f64 * self.step) * 1e6).round() / 1e6)
    }
}

impl FromStr for Grid {
    type Err = Error;

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be 1 to MAX_POINTS")]
    fn from_str(text: &str) -> Result<Self> {
        let number = |text: &str| {
            let number = text.trim().parse().ok().filter(|&number| number > 0.0 && f64::is_finite(number));
            number.with_context(|| format!("`{text}` is not a number above 0"))
        };
        let [start, stop, step] = text.split(':').map(number).collect::<Result<Vec<f64>>>()?[..] else {
            bail!("give three numbers, START:STOP:STEP");
        };
        // A step that misses the stop only by rounding reaches it.
        let points = ((stop - start) / step + 1e-6).floor() + 1.0;
        ensure!((1.0..=MAX_POINTS).contains(&points), "that is no grid of 1 to {MAX_POINTS} points");
        Ok(Self { start, step, points: points as usize })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_reaches_its_stop() {
        let rates = |text: &str| text.parse::<Grid>().map(|grid| grid.rates().collect::<Vec<_>>());
        assert_eq!(rates("0.1:0.3:0.05").expect("a grid"), [0.1, 0.15, 0.2, 0.25, 0.3]);
        assert_eq!(rates("0.1:0.29:0.05").expect("a grid").len(), 4);
        assert_eq!(rates("0.5:0.5:1").expect("a grid"), [0.5]);
        assert_eq!("0.1:1.5:0.05".parse::<Grid>().expect("a grid"), Grid::default());
        for wrong in ["", "1", "1:2", "2:1:0.1", "1:2:0", "0.1:1:1e-9", "a:b:c"] {
            assert!(rates(wrong).is_err(), "{wrong}");
        }
    }
}
