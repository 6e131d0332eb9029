//! Bjøntegaard's delta rate as others publish it: by the cubic of VCEG-M33 (2001), fitted to all points by least
//! squares, or by Akima's interpolation (1970; Herglotz et al., "Beyond Bjøntegaard", 2022).
//!
//! One number says little of curves that cross or hardly overlap. This module refuses such curves and says which they
//! are; it never leaves a point out.

use crate::bd::{Curve, Delta, Point};

/// The points that a cubic needs, and that the standard measures.
const MIN_POINTS: usize = 4;
/// The share of the narrower curve's qualities that both curves must cover.
const MIN_OVERLAP: f64 = 0.25;
/// The places at which two curves are compared to see whether they cross.
const CROSSING_PROBES: u32 = 1000;
/// Curves that differ by a smaller part of the rate are equal there.
const EQUAL_PART: f64 = 1e-9;

/// How the rate's logarithm is interpolated over quality.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// One cubic through or near all points: VCEG-M33.
    Cubic,
    /// Akima's piecewise cubic through all points.
    Akima,
}

/// The measurements of a codec.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    /// What messages call it.
    pub name: &'a str,
    /// Its points, in any order.
    pub points: &'a [Point],
}

/// Why two curves have no delta rate.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    /// A curve has too few points.
    #[error("{curve} has {points} points, and a delta rate needs {MIN_POINTS}")]
    Points {
        /// The codec.
        curve: String,
        /// Its points.
        points: usize,
    },
    /// A point has no rate above 0 or no finite quality.
    #[error("{curve} has a point without a rate above 0 or without a finite quality")]
    Point {
        /// The codec.
        curve: String,
    },
    /// More rate buys no more quality.
    #[error("{curve} does not get better from rate {from} to {to}, so it has no rate for each quality")]
    Useless {
        /// The codec.
        curve: String,
        /// The lower rate.
        from: f64,
        /// The higher rate.
        to: f64,
    },
    /// The curves have too few qualities in common.
    #[error(
        "{anchor} ({:.2} to {:.2}) and {test} ({:.2} to {:.2}) hardly overlap in quality",
        anchor_range.0, anchor_range.1, test_range.0, test_range.1
    )]
    Apart {
        /// The anchor.
        anchor: String,
        /// Its lowest and highest quality.
        anchor_range: (f64, f64),
        /// The tested codec.
        test: String,
        /// Its lowest and highest quality.
        test_range: (f64, f64),
    },
    /// One codec needs less at some qualities and more at others.
    #[error("{anchor} and {test} cross at quality {quality:.2}: compare them below and above")]
    Cross {
        /// The anchor.
        anchor: String,
        /// The tested codec.
        test: String,
        /// Where they cross first.
        quality: f64,
    },
}

/// Compares `test` with `anchor`.
///
/// # Errors
/// [`Refused`] names the curve or curves that have no delta rate.
pub fn delta_rate(anchor: Measured<'_>, test: Measured<'_>, interpolation: Interpolation) -> Result<Delta, Refused> {
    let fits = [Fit::of(anchor, interpolation)?, Fit::of(test, interpolation)?];
    let overlap = overlap(&fits);
    let narrower = fits.iter().map(|fit| fit.range.1 - fit.range.0).fold(f64::INFINITY, f64::min);
    if overlap.1 - overlap.0 < MIN_OVERLAP * narrower {
        let [anchor_range, test_range] = [fits[0].range, fits[1].range];
        let [anchor, test] = [anchor, test].map(|curve| curve.name.to_owned());
        return Err(Refused::Apart { anchor, anchor_range, test, test_range });
    }
    if let Some(quality) = crossing(&fits, overlap) {
        let [anchor, test] = [anchor, test].map(|curve| curve.name.to_owned());
        return Err(Refused::Cross { anchor, test, quality });
    }
    Ok(delta(&fits, overlap))
}

fn overlap([anchor, test]: &[Fit; 2]) -> (f64, f64) {
    (anchor.range.0.max(test.range.0), anchor.range.1.min(test.range.1))
}

fn delta([anchor, test]: &[Fit; 2], overlap: (f64, f64)) -> Delta {
    let (low, high) = overlap;
    let mean = (test.integral(low, high) - anchor.integral(low, high)) / (high - low);
    Delta { percent: (mean.exp() - 1.0) * 100.0, overlap }
}

/// Returns the first quality at which the other codec becomes the better one.
fn crossing([anchor, test]: &[Fit; 2], (low, high): (f64, f64)) -> Option<f64> {
    let mut sign = 0.0;
    for probe in 0..=CROSSING_PROBES {
        let quality = low + (high - low) * f64::from(probe) / f64::from(CROSSING_PROBES);
        let ahead = test.value(quality) - anchor.value(quality);
        if ahead.abs() <= EQUAL_PART {
            continue;
        }
        if sign * ahead < 0.0 {
            return Some(quality);
        }
        sign = ahead.signum();
    }
    None
}

/// Log-rate over quality.
struct Fit {
    range: (f64, f64),
    kind: Kind,
}

enum Kind {
    /// Coefficients, the constant first, of a polynomial in (quality - middle) / half.
    Cubic {
        coefficients: [f64; 4],
        middle: f64,
        half: f64,
    },
    Akima(Curve),
}

impl Fit {
    fn of(curve: Measured<'_>, interpolation: Interpolation) -> Result<Self, Refused> {
        let name = || curve.name.to_owned();
        let mut points = curve.points.to_vec();
        if points.iter().any(|point| point.bpp <= 0.0 || !point.bpp.is_finite() || !point.quality.is_finite()) {
            return Err(Refused::Point { curve: name() });
        }
        points.sort_by(|a, b| a.bpp.total_cmp(&b.bpp));
        points.dedup();
        if points.len() < MIN_POINTS {
            return Err(Refused::Points { curve: name(), points: points.len() });
        }
        if let Some(pair) = points.windows(2).find(|pair| pair[1].quality <= pair[0].quality) {
            return Err(Refused::Useless { curve: name(), from: pair[0].bpp, to: pair[1].bpp });
        }
        let knots: Vec<f64> = points.iter().map(|point| point.quality).collect();
        let values: Vec<f64> = points.iter().map(|point| point.bpp.ln()).collect();
        let range = (knots[0], knots[knots.len() - 1]);
        let kind = match interpolation {
            Interpolation::Cubic => cubic(&knots, &values, range),
            Interpolation::Akima => {
                let slopes = akima_slopes(&knots, &values);
                Kind::Akima(Curve { knots, values, slopes })
            }
        };
        Ok(Self { range, kind })
    }

    fn value(&self, quality: f64) -> f64 {
        match &self.kind {
            Kind::Cubic { coefficients, middle, half } => {
                let x = (quality - middle) / half;
                coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
            }
            Kind::Akima(curve) => curve.value(quality),
        }
    }

    fn integral(&self, low: f64, high: f64) -> f64 {
        match &self.kind {
            Kind::Cubic { coefficients, middle, half } => {
                let antiderivative = |quality: f64| {
                    let x = (quality - middle) / half;
                    let terms = coefficients.iter().zip(1..).map(|(c, power)| c * x.powi(power) / f64::from(power));
                    half * terms.sum::<f64>()
                };
                antiderivative(high) - antiderivative(low)
            }
            Kind::Akima(curve) => curve.integral(low, high),
        }
    }
}

/// Fits a cubic by least squares; through four points it is exact.
fn cubic(knots: &[f64], values: &[f64], (low, high): (f64, f64)) -> Kind {
    let (middle, half) = (f64::midpoint(low, high), (high - low) / 2.0);
    // The normal equations, with the right side as a fifth column. Scaled to -1..1, they are well conditioned.
    let mut rows = [[0.0; 5]; 4];
    for (knot, value) in knots.iter().zip(values) {
        let x = (knot - middle) / half;
        let powers = [1.0, x, x * x, x * x * x];
        for (row, power) in rows.iter_mut().zip(powers) {
            for (entry, other) in row.iter_mut().zip(powers.into_iter().chain([*value])) {
                *entry += power * other;
            }
        }
    }
    Kind::Cubic { coefficients: solve(rows), middle, half }
}

/// Solves four linear equations with as many unknowns, by elimination. The matrix is symmetric and positive definite.
fn solve(mut rows: [[f64; 5]; 4]) -> [f64; 4] {
    for step in 0..4 {
        let pivot = rows[step];
        for row in &mut rows[step + 1..] {
            let factor = row[step] / pivot[step];
            row.iter_mut().zip(pivot).for_each(|(entry, above)| *entry -= factor * above);
        }
    }
    let mut solution = [0.0; 4];
    for step in (0..4).rev() {
        let known: f64 = (step + 1..4).map(|column| rows[step][column] * solution[column]).sum();
        solution[step] = (rows[step][4] - known) / rows[step][step];
    }
    solution
}

/// Returns Akima's slopes: each weighs the secants of its sides by how little those beyond them turn.
fn akima_slopes(x: &[f64], y: &[f64]) -> Vec<f64> {
    let secants = x.windows(2).zip(y.windows(2)).map(|(x, y)| (y[1] - y[0]) / (x[1] - x[0]));
    // Two secants beyond each end, which continue the turn of the last two.
    let mut m: Vec<f64> = [0.0; 2].into_iter().chain(secants).chain([0.0; 2]).collect();
    let last = m.len() - 1;
    m[1] = 2.0 * m[2] - m[3];
    m[0] = 2.0 * m[1] - m[2];
    m[last - 1] = 2.0 * m[last - 2] - m[last - 3];
    m[last] = 2.0 * m[last - 1] - m[last - 2];
    let turn = |at: usize| (m[at + 1] - m[at]).abs();
    let turns: Vec<[f64; 2]> = (0..x.len()).map(|at| [turn(at), turn(at + 2)]).collect();
    let most = turns.iter().map(|[before, after]| before + after).fold(0.0, f64::max);
    let slope = |(at, [before, after]): (usize, &[f64; 2])| {
        if before + after > EQUAL_PART * most {
            (after * m[at + 1] + before * m[at + 2]) / (before + after)
        } else {
            f64::midpoint(m[at], m[at + 3])
        }
    };
    turns.iter().enumerate().map(slope).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(rates: &[f64], qualities: &[f64]) -> Vec<Point> {
        rates.iter().zip(qualities).map(|(&bpp, &quality)| Point { bpp, quality }).collect()
    }

    fn compare(anchor: &[Point], test: &[Point], interpolation: Interpolation) -> Result<f64, Refused> {
        let [anchor, test] = [("anchor", anchor), ("test", test)].map(|(name, points)| Measured { name, points });
        delta_rate(anchor, test, interpolation).map(|delta| delta.percent)
    }

    /// The example that implementations of VCEG-M33 have shown since 2011.
    fn example() -> [Vec<Point>; 2] {
        [
            points(&[686.76, 309.58, 157.11, 85.95], &[40.28, 37.18, 34.24, 31.42]),
            points(&[893.34, 407.8, 204.93, 112.75], &[40.39, 37.21, 34.17, 31.24]),
        ]
    }

    /// x265 with two presets: the example of the Python package `bjontegaard`.
    fn presets() -> [Vec<Point>; 2] {
        [
            points(&[9487.76, 4593.60, 2486.44, 1358.24], &[40.037, 38.615, 36.845, 34.851]),
            points(&[9787.80, 4469.00, 2451.52, 1356.24], &[40.121, 38.651, 36.970, 34.987]),
        ]
    }

    fn photos() -> [Vec<Point>; 2] {
        [
            points(&[0.14, 0.3, 0.53, 0.87, 1.34, 2.3], &[23.9, 27.3, 29.9, 32.2, 34.5, 38.0]),
            points(&[0.15, 0.27, 0.48, 0.77, 1.15, 1.93], &[27.0, 28.9, 31.2, 33.7, 36.2, 39.4]),
        ]
    }

    /// The values are those of the Python package `bjontegaard` 1.3.0 with its methods `cubic` and `akima`.
    #[test]
    fn agrees_with_published_values() {
        for ([anchor, test], expected) in [
            (example(), [31.397_374_054_9, 31.383_988_984_3]),
            (presets(), [-4.420_462_706_1, -4.425_245_157_0]),
            (photos(), [-35.217_753_584_4, -35.106_419_765_7]),
        ] {
            for (interpolation, expected) in [Interpolation::Cubic, Interpolation::Akima].into_iter().zip(expected) {
                let percent = compare(&anchor, &test, interpolation).expect("a delta rate");
                assert!((percent - expected).abs() < 1e-8, "{interpolation:?}: {percent}, not {expected}");
            }
        }
    }

    #[test]
    fn a_fifth_less_rate_is_minus_twenty_percent_in_any_order() {
        let anchor = example()[0].clone();
        let mut test: Vec<Point> = anchor.iter().map(|point| Point { bpp: 0.8 * point.bpp, ..*point }).collect();
        test.reverse();
        // The same measurement twice is one.
        test.push(test[0]);
        for interpolation in [Interpolation::Cubic, Interpolation::Akima] {
            let percent = compare(&anchor, &test, interpolation).expect("a delta rate");
            assert!((percent + 20.0).abs() < 1e-9, "{percent}");
            assert!(compare(&anchor, &anchor, interpolation).expect("a delta rate").abs() < 1e-9);
        }
    }

    #[test]
    fn curves_without_an_answer_are_refused_by_name() {
        let good = points(&[1.0, 2.0, 4.0, 8.0], &[30.0, 33.0, 36.0, 39.0]);
        let refused = |anchor: &[Point], test: &[Point]| {
            let texts = [Interpolation::Cubic, Interpolation::Akima]
                .map(|interpolation| compare(anchor, test, interpolation).expect_err("it is refused").to_string());
            texts[0].clone()
        };
        let few = refused(&good, &good[..3]);
        assert!(few.starts_with("test has 3 points"), "{few}");
        let free = points(&[0.0, 2.0, 4.0, 8.0], &[30.0, 33.0, 36.0, 39.0]);
        assert!(refused(&free, &good).starts_with("anchor has a point without a rate"));
        let lossless = points(&[1.0, 2.0, 4.0, 8.0], &[30.0, 33.0, 36.0, f64::INFINITY]);
        assert!(refused(&good, &lossless).starts_with("test has a point without a rate"));
        let worse = points(&[1.0, 2.0, 4.0, 8.0], &[30.0, 33.0, 32.0, 39.0]);
        assert_eq!(
            refused(&good, &worse),
            "test does not get better from rate 2 to 4, so it has no rate for each quality"
        );
        let apart = points(&[1.0, 2.0, 4.0, 8.0], &[38.5, 42.0, 45.0, 48.0]);
        assert_eq!(
            refused(&good, &apart),
            "anchor (30.00 to 39.00) and test (38.50 to 48.00) hardly overlap in quality"
        );
        let beyond = points(&[1.0, 2.0, 4.0, 8.0], &[50.0, 53.0, 56.0, 59.0]);
        assert!(refused(&good, &beyond).contains("hardly overlap"));
        let flat = points(&[0.5, 1.8, 5.0, 16.0], &[30.0, 33.0, 36.0, 39.0]);
        let cross = refused(&good, &flat);
        assert!(cross.starts_with("anchor and test cross at quality 3"), "{cross}");
    }
}
