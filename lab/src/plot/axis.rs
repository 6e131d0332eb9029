//! Axes: a range, its ticks, and the place of a value.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

/// The wanted number of ticks; the real number is within a factor of two.
const WANTED_TICKS: f64 = 10.0;
/// The margin past the lowest and the highest value, as a fraction of their range.
const RANGE_MARGIN: f64 = 0.06;

/// One axis of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it measures, with the unit.
    pub label: String,
    /// Lowest and highest value; above zero if the axis is logarithmic.
    pub range: (f64, f64),
    /// Whether equal steps are equal factors.
    pub log: bool,
}

impl Axis {
    /// Creates an axis on which equal steps are equal differences.
    pub fn linear(label: &str, range: (f64, f64)) -> Self {
        Self { label: label.to_owned(), range, log: false }
    }

    /// Creates an axis on which equal steps are equal factors.
    pub fn log(label: &str, range: (f64, f64)) -> Self {
        Self { label: label.to_owned(), range, log: true }
    }

    /// Creates a linear axis that covers all finite values, with a margin; 0 to 1 where they span no range.
    pub fn fitting(label: &str, values: impl Iterator<Item = f64>) -> Self {
        let finite = values.filter(|value| value.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (f64::min(low, value), f64::max(high, value))
        });
        let margin = (high - low) * RANGE_MARGIN;
        Self::linear(label, if low < high { (low - margin, high + margin) } else { (0.0, 1.0) })
    }

    /// Sets the lowest value: curves are cut off below it.
    #[must_use]
    pub fn starting_at(self, low: f64) -> Self {
        Self { range: (low, self.range.1.max(low + f64::EPSILON)), ..self }
    }

    /// Returns the place of a value, on a scale of equal steps.
    pub(super) fn place(&self, value: f64) -> f64 {
        if self.log { value.ln() } else { value }
    }

    /// Returns the places of both ends.
    pub(super) fn ends(&self) -> (f64, f64) {
        (self.place(self.range.0), self.place(self.range.1))
    }
}

/// An [`Axis`] for plotters: places, with labelled ticks.
pub(super) struct Scale {
    ends: (f64, f64),
    /// Places and labels.
    ticks: Vec<(f64, String)>,
}

impl Scale {
    /// Returns the letters of the longest label.
    pub(super) fn widest(&self) -> usize {
        self.ticks.iter().map(|(_, label)| label.chars().count()).max().unwrap_or(0)
    }
}

impl From<&Axis> for Scale {
    fn from(axis: &Axis) -> Self {
        let ticks = if axis.log { factors(axis.range) } else { steps(axis.range) };
        Self { ends: axis.ends(), ticks: ticks.into_iter().map(|(value, label)| (axis.place(value), label)).collect() }
    }
}

impl Ranged for Scale {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    #[expect(clippy::cast_possible_truncation, reason = "a place in a drawing of a few thousand pixels")]
    fn map(&self, place: &f64, (first, last): (i32, i32)) -> i32 {
        let share = (place - self.ends.0) / (self.ends.1 - self.ends.0);
        first + (share * f64::from(last - first)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.ticks.iter().map(|(place, _)| *place).collect()
    }

    fn range(&self) -> Range<f64> {
        self.ends.0..self.ends.1
    }
}

impl ValueFormatter<f64> for Scale {
    fn format_ext(&self, place: &f64) -> String {
        self.ticks.iter().find(|tick| tick.0 == *place).map_or_else(String::new, |tick| tick.1.clone())
    }
}

/// Returns round values in a range (steps of 1, 2 or 5 times a power of ten), with their labels.
fn steps((low, high): (f64, f64)) -> Vec<(f64, String)> {
    let rough = (high - low) / WANTED_TICKS;
    let power = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= 0.999 * rough).unwrap_or(10.0);
    let step = factor * power;
    let decimals = if step >= 1.0 { 0 } else { if step >= 0.1 { 1 } else { 2 } };
    let first = (low / step - 1e-9).ceil();
    let values = (0..).map(|n| (first + f64::from(n)) * step).take_while(|value| *value <= high + 1e-9 * step);
    values.map(|value| (value, format!("{value:.decimals$}"))).collect()
}

/// Returns 1, 2 and 5 times powers of ten in a range, with their labels.
fn factors((low, high): (f64, f64)) -> Vec<(f64, String)> {
    let values = (-6..9).flat_map(|power| [1.0, 2.0, 5.0].map(|factor| factor * 10_f64.powi(power)));
    let within = values.filter(|value| (low * 0.999..=high * 1.001).contains(value));
    within.map(|value| (value, shortened(value))).collect()
}

/// Writes numbers from ten thousand on in thousands (k) or millions (M), so that neighbouring labels do not touch.
fn shortened(value: f64) -> String {
    match value {
        1e6.. => format!("{}M", value / 1e6),
        1e4.. => format!("{}k", value / 1e3),
        _ => format!("{value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within() {
        let labels = |ticks: Vec<(f64, String)>| ticks.into_iter().map(|(_, label)| label).collect::<Vec<_>>();
        assert_eq!(labels(steps((0.0, 1.6))), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0", "1.2", "1.4", "1.6"]);
        assert_eq!(labels(steps((23.0, 39.0))), ["24", "26", "28", "30", "32", "34", "36", "38"]);
        assert_eq!(labels(factors((0.08, 40.0))), ["0.1", "0.2", "0.5", "1", "2", "5", "10", "20"]);
        assert_eq!(labels(factors((5e3, 2e6))), ["5000", "10k", "20k", "50k", "100k", "200k", "500k", "1M", "2M"]);
    }

    #[test]
    fn values_stand_where_the_range_says() {
        let scale = Scale::from(&Axis::log("", (1.0, 100.0)));
        assert_eq!([1.0, 10.0, 100.0].map(|value: f64| scale.map(&value.ln(), (60, 660))), [60, 360, 660]);
        assert_eq!((scale.format_ext(&5_f64.ln()).as_str(), scale.widest()), ("5", 3));
        let fitting = Axis::fitting("", [20.0, f64::INFINITY, 30.0].into_iter());
        assert_eq!(fitting.range, (19.4, 30.6));
        assert_eq!(fitting.starting_at(0.0).range, (0.0, 30.6));
        assert_eq!(Axis::fitting("", std::iter::empty()).range, (0.0, 1.0));
    }
}
