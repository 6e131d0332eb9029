//! Section 20: residual bitstreams, in integers with each step modulo 2^32.

use std::ops::Range;

use super::layout::{Kind, Payloads, borders, level, low, subband_size, subbands};
use super::post_filter;
use super::slice::{Area, Journal};
use super::synthesis::{join, mirrored, split};
use super::tables::{Record, Tables};
use super::{Levels, known};

/// A residual bitstream that answers for each of its prefixes.
#[derive(Debug)]
pub(super) struct Residual<'a> {
    tables: &'a Tables,
    width: usize,
    height: usize,
    planes: i32,
    string: &'a [u8],
    slices: Vec<Journal>,
}

impl<'a> Residual<'a> {
    pub(super) fn decode(tables: &'a Tables, [width, height]: [usize; 2], planes: i32, string: &'a [u8]) -> Self {
        let borders = borders(width, height);
        let payloads = Payloads::of(string, borders.len() - 1);
        let slices = borders.windows(2).zip(&payloads.of_slices).map(|(rows, payload)| {
            let area = Area { width, height: rows[1] - rows[0], kind: Kind::Residual, gains: false, fine: 0 };
            Journal::of(tables, area, planes, payload)
        });
        let slices = slices.collect();
        Self { tables, width, height, planes, string, slices }
    }

    /// Returns R(bytes): the three planes of the string's first bytes.
    pub(super) fn of(&self, bytes: usize) -> [Vec<i64>; 3] {
        let borders = borders(self.width, self.height);
        let payloads = Payloads::of(&self.string[..bytes], borders.len() - 1);
        let levels = known(Kind::Residual, [self.width, self.height], &self.slices, &payloads.of_slices);
        let records = &self.tables.subbands;
        let values: Vec<Vec<i64>> = levels.iter().zip(records).map(|(levels, record)| values(levels, record)).collect();
        [0, 1, 2].map(|component| self.plane(&values, component))
    }

    /// Section 26, "Recall": returns the correction of the prediction of `rows` of luma, and of the rows of the other planes
    /// there, for the string's first bytes. `differences` are those of both predictions in these rows.
    pub(super) fn recalled(&self, differences: [Vec<i64>; 3], rows: &Range<usize>, bytes: usize) -> [Vec<i64>; 3] {
        let limits = self.limits(bytes);
        let mut component = 0;
        differences.map(|plane| {
            let last = usize::from(component > 0) + 1;
            let size = |level: usize| (low(self.width, level), low(rows.len(), level));
            let mut lowest: Vec<i64> = plane.iter().map(|sample| sample * 8).collect();
            let mut bands = Vec::new();
            for level in last..5 {
                let taps = self.taps(level);
                let [next, details @ ..] = split(&lowest, size(level - 1), |line| lift(line, &taps));
                lowest = next;
                bands.push(details);
            }
            lowest.fill(0);
            for (level, details) in (last..5).zip(bands).rev() {
                let taps = self.taps(level);
                let mut index = 3 + 9 * (6 - level) + 3 * component;
                let details = details.map(|band| {
                    let (width, _) = subband_size(index, self.width, self.height);
                    let limits = &limits[index][(rows.start >> level) * width..];
                    index += 1;
                    let within =
                        |(value, limit): (&i64, &i64)| (signed(5 * i128::from(*value) + 4) >> 3).clamp(-limit, *limit);
                    band.iter().zip(limits).map(within).collect()
                });
                let [hl, lh, hh] = details;
                lowest = join(&[lowest, hl, lh, hh], size(level - 1), |line| unlift(line, &taps));
            }
            component += 1;
            lowest.into_iter().map(|value| (signed(i128::from(value) + 4) >> 3).clamp(-4095, 4095)).collect()
        })
    }

    /// Section 26, "Recall": returns the limit of every coefficient of the frame's subbands.
    fn limits(&self, bytes: usize) -> Vec<Vec<i64>> {
        let borders = borders(self.width, self.height);
        let payloads = Payloads::of(&self.string[..bytes], borders.len() - 1);
        let known = known(Kind::Residual, [self.width, self.height], &self.slices, &payloads.of_slices);
        let mut limits: Vec<Vec<i64>> = known.iter().map(|band| vec![0; band.levels.len()]).collect();
        for ((journal, payload), rows) in self.slices.iter().zip(&payloads.of_slices).zip(borders.windows(2)) {
            if payload.is_empty() || self.planes == 0 {
                continue;
            }
            let (opens, left) = journal.opens_within(payload.len());
            for index in subbands(Kind::Residual) {
                let (width, height) = subband_size(index, self.width, rows[1] - rows[0]);
                let across = width.div_ceil(8);
                let mut open = vec![left; across * height.div_ceil(8)];
                for &(_, block, plane) in opens.iter().filter(|(subband, ..)| *subband == index) {
                    open[block] = plane;
                }
                let step = i128::from(fixed(self.tables.subbands[index].step * 4096.0));
                for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
                    let at = ((rows[0] >> level(index)) + y) * width + x;
                    if known[index].levels[at] == 0 {
                        let limit = ((75 * step) << open[y / 8 * across + x / 8]) >> 14;
                        limits[index][at] = i64::try_from(limit.clamp(0, 32767)).expect("clamped");
                    }
                }
            }
        }
        limits
    }

    /// The taps of a level.
    fn taps(&self, level: usize) -> [[i64; 2]; 4] {
        [0, 1, 2, 3].map(|step| {
            let (near, far) = self.tables.tap(level, step);
            [near, far].map(|tap| fixed(tap * 4096.0))
        })
    }

    /// Section 14, for the string's first bytes.
    pub(super) fn t(&self, bytes: usize) -> i64 {
        let borders = borders(self.width, self.height);
        let payloads = Payloads::of(&self.string[..bytes], borders.len() - 1);
        let rows = |index: usize| (borders[index + 1] - borders[index]) as u64;
        let slices = self.slices.iter().enumerate();
        let sum: u64 = slices.map(|(index, slice)| slice.at(payloads.of_slices[index].len()) * rows(index)).sum();
        sum.div_ceil(self.height as u64).cast_signed()
    }

    /// Section 27: returns the significance of the blocks of a plane.
    pub(super) fn significance(&self, bytes: usize, component: usize) -> Vec<usize> {
        let borders = borders(self.width, self.height);
        let payloads = Payloads::of(&self.string[..bytes], borders.len() - 1);
        let known = known(Kind::Residual, [self.width, self.height], &self.slices, &payloads.of_slices);
        let finest = usize::from(component > 0);
        let bands = |own_level: usize| &known[3 + 9 * (6 - own_level - finest) + 3 * component..][..3];
        post_filter::significance([low(self.width, finest), low(self.height, finest)], [1, 2, 3].map(bands))
    }

    fn plane(&self, values: &[Vec<i64>], component: usize) -> Vec<i64> {
        let last = if component == 0 { 1 } else { 2 };
        let mut lowest = values[component].clone();
        for level in (last..=6).rev() {
            let first = 3 + 9 * (6 - level) + 3 * component;
            let bands = [lowest, values[first].clone(), values[first + 1].clone(), values[first + 2].clone()];
            let size = (low(self.width, level - 1), low(self.height, level - 1));
            let taps = self.taps(level);
            lowest = join(&bands, size, |line| unlift(line, &taps));
        }
        lowest.into_iter().map(|value| (signed(i128::from(value) + 1) >> 1).clamp(-4096, 4095)).collect()
    }
}

/// Returns the number from -2^31 to 2^31 - 1 that equals this one modulo 2^32.
fn signed(number: i128) -> i64 {
    let number = number.rem_euclid(1 << 32);
    i64::try_from(if number < 1 << 31 { number } else { number - (1 << 32) }).expect("32 bits")
}

#[expect(clippy::cast_possible_truncation, reason = "floats of tables are below 10000 * 10000 * 2^26")]
fn fixed(value: f64) -> i64 {
    signed((value + 0.5).floor() as i128)
}

fn values(levels: &Levels, record: &Record) -> Vec<i64> {
    let step = i128::from(fixed(record.step * 4096.0));
    let value = |(&level, &known): (&i32, &i32)| {
        if level == 0 {
            return 0;
        }
        let plane = f64::from(1 << known);
        let point = fixed(record.offsets[known as usize] * plane * record.step * 4096.0);
        let sum = signed(i128::from(level.abs()) * step + i128::from(point) + 128);
        i64::from(level.signum()) * (sum >> 8)
    };
    levels.levels.iter().zip(&levels.known).map(value).collect()
}

fn unlift(mut line: Vec<i64>, taps: &[[i64; 2]; 4]) -> Vec<i64> {
    if line.len() < 2 {
        return line;
    }
    for step in (0..4).rev() {
        let [near, far] = taps[step].map(i128::from);
        for k in ((step + 1) % 2..line.len()).step_by(2) {
            let at = |offset: isize| i128::from(line[mirrored(k.cast_signed() + offset, line.len())]);
            let a = near * (at(-1) + at(1)) + far * (at(-3) + at(3));
            line[k] = signed(i128::from(line[k]) - i128::from(signed(a + 2048) >> 12));
        }
    }
    line
}

/// The steps of `unlift` in the other order, with taps of the other sign.
fn lift(mut line: Vec<i64>, taps: &[[i64; 2]; 4]) -> Vec<i64> {
    if line.len() < 2 {
        return line;
    }
    for (step, taps) in taps.iter().enumerate() {
        let [near, far] = taps.map(|tap| -i128::from(tap));
        for k in ((step + 1) % 2..line.len()).step_by(2) {
            let at = |offset: isize| i128::from(line[mirrored(k.cast_signed() + offset, line.len())]);
            let a = near * (at(-1) + at(1)) + far * (at(-3) + at(3));
            line[k] = signed(i128::from(line[k]) - i128::from(signed(a + 2048) >> 12));
        }
    }
    line
}
