//! The rates at which a picture is measured.

use std::str::FromStr;

use super::positive;

/// Most points a grid may have.
const MAX_POINTS: f64 = 10_000.0;

/// Evenly spaced rates, in bits per pixel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Grid {
    start: f64,
    step: f64,
    points: usize,
}

impl Default for Grid {
    fn default() -> Self {
        Self { start: 0.1, step: 0.05, points: 29 }
    }
}

impl Grid {
    /// All rates, lowest first.
    pub(crate) fn rates(self) -> impl Iterator<Item = f64> {
        // Rounded, so that 0.1 + 2 * 0.05 prints as 0.2.
        (0..self.points).map(move |i| ((self.start + i as f64 * self.step) * 1e6).round() / 1e6)
    }
}

impl FromStr for Grid {
    type Err = String;

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be 1 to MAX_POINTS")]
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<f64>, String> = text.split(':').map(positive).collect();
        let [start, stop, step] = numbers?[..] else {
            return Err("give three numbers, START:STOP:STEP".to_owned());
        };
        // A step that misses the stop by rounding alone reaches it.
        let points = ((stop - start) / step + 1e-6).floor() + 1.0;
        if !(1.0..=MAX_POINTS).contains(&points) {
            return Err(format!("that is no grid of 1 to {MAX_POINTS} points"));
        }
        Ok(Self { start, step, points: points as usize })
    }
}
