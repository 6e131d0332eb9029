//! Section 13, "Post-filter", sample by sample.

use super::Levels;
use super::tables::Filter;

/// Offsets of the neighbours on one side: right, then down.
const PAIRS: [(i64, i64); 12] =
    [(1, 0), (2, 0), (0, 1), (0, 2), (1, 1), (-1, 1), (2, 1), (-2, 1), (1, 2), (-1, 2), (2, 2), (-2, 2)];

/// The planes of a picture, in 1/64, and the significance of its blocks.
pub(super) struct Planes {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) samples: Vec<Vec<i64>>,
    /// 0..3 by component and block.
    pub(super) significance: Vec<Vec<usize>>,
}

/// Returns the integers that the filter works on.
#[expect(clippy::cast_possible_truncation, reason = "clamped")]
pub(super) fn rounded(plane: &[f64]) -> Vec<i64> {
    plane.iter().map(|value| (64.0 * value).round_ties_even().clamp(-32767.0, 32767.0) as i64).collect()
}

/// Returns, for every block of 4 x 4 samples of a plane, 4 less the finest significant level; `levels` are the bands of
/// levels 1, 2 and 3.
pub(super) fn significance([width, height]: [usize; 2], levels: [&[Levels]; 3]) -> Vec<usize> {
    let (across, down) = (width.div_ceil(4), height.div_ceil(4));
    let mut out = vec![0; across * down];
    for (level, bands) in [3, 2, 1].map(|level| (level, levels[level - 1])) {
        for band in bands {
            for at in (0..band.levels.len()).filter(|&at| band.levels[at] != 0) {
                let (x, y) = (at % band.width, at / band.width);
                let covered = |at: usize, blocks: usize| {
                    ((at << level) / 4..(((at + 1) << level).div_ceil(4))).filter(move |&block| block < blocks)
                };
                for (by, bx) in covered(y, down).flat_map(|by| covered(x, across).map(move |bx| (by, bx))) {
                    out[by * across + bx] = 4 - level;
                }
            }
        }
    }
    out
}

impl Planes {
    /// Returns all samples of a component, filtered, in 1/64; `t` is in 2^-20 of a plane.
    pub(super) fn filtered(&self, filter: &Filter, component: usize, t: i64) -> Vec<i64> {
        let m = clip(filter.step, t);
        let across = self.width.div_ceil(4);
        let classes =
            (0..across * self.height.div_ceil(4)).map(|block| self.class(component, block % across, block / across, m));
        let classes: Vec<usize> = classes.collect();
        let filters: Vec<Vec<i64>> = (0..720).map(|place| taps(filter, component, place, t)).collect();
        let mut out = Vec::new();
        for (y, x) in (0..self.height).flat_map(|y| (0..self.width).map(move |x| (y, x))) {
            let phase = 2 * (y % 2) + x % 2;
            let taps = &filters[classes[y / 4 * across + x / 4] * 4 + phase];
            let mut sum = self.samples[component][y * self.width + x];
            for (&tap, difference) in taps.iter().zip(self.differences(component, x, y, m)) {
                sum += (tap * difference + (1 << 14)) >> 15;
            }
            out.push(sum);
        }
        out
    }

    #[expect(clippy::cast_possible_truncation, reason = "it is clamped to a side")]
    fn at(&self, component: usize, x: i64, y: i64) -> i64 {
        let inside = |at: i64, side: usize| at.clamp(0, side as i64 - 1) as usize;
        self.samples[component][inside(y, self.height) * self.width + inside(x, self.width)]
    }

    fn class(&self, component: usize, bx: usize, by: usize, m: i64) -> usize {
        let change = |dx: i64, dy: i64| -> i64 {
            let mut sum = 0;
            for y in 4 * by as i64 - 2..4 * by as i64 + 6 {
                for x in 4 * bx as i64 - 2..4 * bx as i64 + 6 {
                    let difference = self.at(component, x + dx, y + dy) - self.at(component, x - dx, y - dy);
                    sum += difference.abs().min(4095);
                }
            }
            sum
        };
        let (h, v, d, e) = (change(1, 0), change(0, 1), change(1, 1), change(-1, 1));
        let activity = (0..8).filter(|k| h + v >= (10 * m) << k).count();
        let (most, least, way) = if h.max(v) * d.min(e) >= d.max(e) * h.min(v) {
            (h.max(v), h.min(v), if h > v { 1 } else { 2 })
        } else {
            (d.max(e), d.min(e), if d > e { 3 } else { 4 })
        };
        let direction = if 2 * most > 3 * least { way } else { 0 };
        (activity * 5 + direction) * 4 + self.significance[component][by * self.width.div_ceil(4) + bx]
    }

    fn differences(&self, component: usize, x: usize, y: usize, m: i64) -> Vec<i64> {
        let (x, y) = (x as i64, y as i64);
        let sums = |source: usize, pairs: &[(i64, i64)]| -> Vec<i64> {
            let clipped =
                |x_there: i64, y_there: i64| (self.at(source, x_there, y_there) - self.at(source, x, y)).clamp(-m, m);
            pairs.iter().map(|(dx, dy)| clipped(x + dx, y + dy) + clipped(x - dx, y - dy)).collect()
        };
        if component == 0 {
            return sums(0, &PAIRS);
        }
        [sums(component, &PAIRS[..6]), sums(0, &PAIRS[..6]), sums(3 - component, &[PAIRS[0], PAIRS[2]])].concat()
    }
}

/// Returns the limit to which differences are clipped.
fn clip(step: u32, t: i64) -> i64 {
    let (planes, part) = (t >> 20, t >> 12 & 255);
    if planes < 0 {
        return (i64::from(step) * (256 + 15 * part)) >> (8 - 4 * planes);
    }
    (((i64::from(step) * (256 + part)) << planes) >> 8).min(8191)
}

/// Returns the taps of a filter, in 1/32768.
#[expect(clippy::cast_possible_truncation, reason = "it is less than 1024")]
fn taps(filter: &Filter, component: usize, place: usize, t: i64) -> Vec<i64> {
    let count = if component == 0 { 12 } else { 14 };
    let from_first = (t >> 12).clamp(256, 1280) - 256;
    let first = (from_first / 512).min(1);
    let share = (from_first - 512 * first) as i32 / 2;
    let tap = |cut: usize, k: usize| filter.taps[component][(cut * 720 + place) * count + k];
    let between = |k: usize| tap(first as usize, k) * (256 - share) + tap(first as usize + 1, k) * share;
    (0..count).map(|k| i64::from(between(k) >> 1)).collect()
}
