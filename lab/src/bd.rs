//! Bjøntegaard delta rate: how much rate one codec saves over another at equal quality, on average.
//!
//! The rate's logarithm is interpolated over quality by a monotone piecewise cubic (PCHIP, Fritsch and Butland 1984,
//! with the slopes of MATLAB and SciPy). The difference of two such curves is averaged over the range of quality that
//! both cover. The project's own figures are made so, because the single cubic of Bjøntegaard's first proposal swings
//! between far-apart points. [`standard`] has that cubic and Akima's interpolation, for figures that others compare.

pub mod standard;

/// One measurement: a rate, and the quality it buys on any scale that grows with quality.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Rate in bits per pixel (any positive unit would do).
    pub bpp: f64,
    /// Quality, in dB.
    pub quality: f64,
}

/// The outcome of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delta {
    /// Rate of the tested codec relative to the anchor's, less 100 %: negative where it needs fewer bits.
    pub percent: f64,
    /// The qualities that both curves cover, lowest and highest.
    pub overlap: (f64, f64),
}

/// Compares `test` with `anchor`; `None` where their qualities do not overlap or a curve has fewer than two points.
///
/// Points may have any order. A point that costs more than another without being better does not count.
pub fn delta_rate(anchor: &[Point], test: &[Point]) -> Option<Delta> {
    delta_rate_within(anchor, test, (f64::NEG_INFINITY, f64::INFINITY))
}

/// Compares as [`delta_rate`] does, within a range of qualities (lowest, highest).
pub fn delta_rate_within(anchor: &[Point], test: &[Point], range: (f64, f64)) -> Option<Delta> {
    let curves = [Curve::through(anchor)?, Curve::through(test)?];
    let low = curves[0].knots[0].max(curves[1].knots[0]).max(range.0);
    let high = curves[0].last().min(curves[1].last()).min(range.1);
    if low >= high {
        return None;
    }
    let [anchor, test] = curves.map(|curve| curve.integral(low, high));
    Some(Delta { percent: (((test - anchor) / (high - low)).exp() - 1.0) * 100.0, overlap: (low, high) })
}

/// Log-rate over quality: cubic between knots, with given slopes at them.
pub(crate) struct Curve {
    pub(crate) knots: Vec<f64>,
    pub(crate) values: Vec<f64>,
    pub(crate) slopes: Vec<f64>,
}

impl Curve {
    fn through(points: &[Point]) -> Option<Self> {
        let mut sorted: Vec<Point> = points.iter().copied().filter(|p| p.bpp > 0.0 && p.quality.is_finite()).collect();
        sorted.sort_by(|a, b| a.bpp.total_cmp(&b.bpp).then(b.quality.total_cmp(&a.quality)));
        let mut best = f64::NEG_INFINITY;
        sorted.retain(|point| {
            let better = point.quality > best;
            best = best.max(point.quality);
            better
        });
        if sorted.len() < 2 {
            return None;
        }
        let knots: Vec<f64> = sorted.iter().map(|point| point.quality).collect();
        let values: Vec<f64> = sorted.iter().map(|point| point.bpp.ln()).collect();
        let slopes = pchip_slopes(&knots, &values);
        Some(Self { knots, values, slopes })
    }

    fn last(&self) -> f64 {
        self.knots[self.knots.len() - 1]
    }

    /// The integral from `low` to `high`, both within the knots.
    pub(crate) fn integral(&self, low: f64, high: f64) -> f64 {
        (0..self.knots.len() - 1)
            .map(|piece| {
                let ends = (self.knots[piece], self.knots[piece + 1]);
                let from = low.clamp(ends.0, ends.1);
                let to = high.clamp(ends.0, ends.1);
                self.antiderivative(piece, to) - self.antiderivative(piece, from)
            })
            .sum()
    }

    /// The value at `x`, within the knots.
    pub(crate) fn value(&self, x: f64) -> f64 {
        let piece = self.knots.partition_point(|knot| *knot <= x).clamp(1, self.knots.len() - 1) - 1;
        let width = self.knots[piece + 1] - self.knots[piece];
        let t = (x - self.knots[piece]) / width;
        let (t2, t3) = (t * t, t * t * t);
        let values = self.values[piece] * (2.0 * t3 - 3.0 * t2 + 1.0) + self.values[piece + 1] * (3.0 * t2 - 2.0 * t3);
        let slopes = self.slopes[piece] * (t3 - 2.0 * t2 + t) + self.slopes[piece + 1] * (t3 - t2);
        values + width * slopes
    }

    /// The integral of one piece from its left knot to `x`.
    fn antiderivative(&self, piece: usize, x: f64) -> f64 {
        let width = self.knots[piece + 1] - self.knots[piece];
        let t = (x - self.knots[piece]) / width;
        let t2 = t * t;
        let t3 = t * t * t;
        let t4 = t * t * t * t;
        // The integrals over t of the four Hermite basis functions.
        let left = t4 / 2.0 - t3 + t;
        let left_slope = t4 / 4.0 - 2.0 * t3 / 3.0 + t2 / 2.0;
        let right = t3 - t4 / 2.0;
        let right_slope = t4 / 4.0 - t3 / 3.0;
        let values = self.values[piece] * left + self.values[piece + 1] * right;
        let slopes = self.slopes[piece] * left_slope + self.slopes[piece + 1] * right_slope;
        width * (values + width * slopes)
    }
}

/// Returns slopes that keep every piece monotone; `x` increases strictly and has at least two values.
fn pchip_slopes(x: &[f64], y: &[f64]) -> Vec<f64> {
    let widths: Vec<f64> = x.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let secants: Vec<f64> = y.windows(2).zip(&widths).map(|(pair, width)| (pair[1] - pair[0]) / width).collect();
    let pieces = widths.len();
    if pieces == 1 {
        return vec![secants[0]; 2];
    }
    let mut slopes = vec![end_slope([widths[0], widths[1]], [secants[0], secants[1]])];
    for (width, secant) in widths.windows(2).zip(secants.windows(2)) {
        slopes.push(if secant[0] * secant[1] > 0.0 {
            let weights = [width[0] + 2.0 * width[1], 2.0 * width[0] + width[1]];
            (weights[0] + weights[1]) / (weights[0] / secant[0] + weights[1] / secant[1])
        } else {
            0.0
        });
    }
    slopes.push(end_slope([widths[pieces - 1], widths[pieces - 2]], [secants[pieces - 1], secants[pieces - 2]]));
    slopes
}

/// Returns the slope at an end from its two nearest pieces (nearest first), limited where it would overshoot.
fn end_slope(widths: [f64; 2], secants: [f64; 2]) -> f64 {
    let slope = ((2.0 * widths[0] + widths[1]) * secants[0] - widths[0] * secants[1]) / (widths[0] + widths[1]);
    if slope * secants[0] <= 0.0 {
        0.0
    } else if secants[0] * secants[1] <= 0.0 && slope.abs() > 3.0 * secants[0].abs() {
        3.0 * secants[0]
    } else {
        slope
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(rates: &[f64], qualities: &[f64]) -> Vec<Point> {
        rates.iter().zip(qualities).map(|(&bpp, &quality)| Point { bpp, quality }).collect()
    }

    fn jpeg_like() -> Vec<Point> {
        points(&[0.14, 0.3, 0.53, 0.87, 1.34, 2.3], &[23.9, 27.3, 29.9, 32.2, 34.5, 38.0])
    }

    #[test]
    fn a_fifth_less_rate_is_minus_twenty_percent() {
        let anchor = jpeg_like();
        let test: Vec<Point> = anchor.iter().map(|p| Point { bpp: 0.8 * p.bpp, ..*p }).collect();
        let delta = delta_rate(&anchor, &test).expect("they overlap");
        assert!((delta.percent + 20.0).abs() < 1e-9, "{delta:?}");
        assert_eq!(delta.overlap, (23.9, 38.0));
    }

    /// SciPy 1.x: `PchipInterpolator(quality, log(rate)).integrate` of both curves.
    #[test]
    fn agrees_with_scipy() {
        let test = points(&[0.15, 0.27, 0.48, 0.77, 1.15, 1.93], &[27.0, 28.9, 31.2, 33.7, 36.2, 39.4]);
        let delta = delta_rate(&jpeg_like(), &test).expect("they overlap");
        assert!((delta.percent + 35.127_084_905_036).abs() < 1e-9, "{delta:?}");
        let back = delta_rate(&test, &jpeg_like()).expect("they overlap");
        assert!(((1.0 + delta.percent / 100.0) * (1.0 + back.percent / 100.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_interpolation_agrees_with_scipy() {
        let x = [0.0, 1.0, 2.5, 4.0, 7.0];
        let y = [0.0, 2.0, 2.5, 6.0, 6.5];
        let slopes = pchip_slopes(&x, &y);
        for (slope, expected) in slopes.iter().zip([2.666_666_666_667, 0.6, 0.583_333_333_333, 0.344_262_295_082, 0.0])
        {
            assert!((slope - expected).abs() < 1e-9, "{slopes:?}");
        }
        let curve = Curve { knots: x.to_vec(), values: y.to_vec(), slopes };
        assert!((curve.integral(0.5, 6.0) - 23.171_324_757_134).abs() < 1e-9);
    }

    #[test]
    fn a_range_narrows_the_overlap() {
        let anchor = jpeg_like();
        let test: Vec<Point> = anchor.iter().map(|p| Point { bpp: 0.8 * p.bpp, ..*p }).collect();
        let delta = delta_rate_within(&anchor, &test, (25.0, 30.0)).expect("they overlap");
        assert!((delta.percent + 20.0).abs() < 1e-9, "{delta:?}");
        assert_eq!(delta.overlap, (25.0, 30.0));
        assert_eq!(delta_rate_within(&anchor, &test, (40.0, 45.0)), None);
    }

    #[test]
    fn order_and_useless_points_do_not_matter() {
        let anchor = jpeg_like();
        let mut shuffled = anchor.clone();
        shuffled.reverse();
        shuffled.push(Point { bpp: 1.0, quality: 30.0 });
        shuffled.push(Point { bpp: 3.0, quality: f64::INFINITY });
        let delta = delta_rate(&anchor, &shuffled).expect("they overlap");
        assert!(delta.percent.abs() < 1e-9, "{delta:?}");
    }

    #[test]
    fn without_overlap_there_is_no_answer() {
        let low = points(&[0.1, 0.2], &[20.0, 22.0]);
        let high = points(&[0.1, 0.2], &[30.0, 32.0]);
        assert_eq!(delta_rate(&low, &high), None);
        assert_eq!(delta_rate(&low, &low[..1]), None);
    }
}
