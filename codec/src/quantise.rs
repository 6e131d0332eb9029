//! The border between floats and integers (spec, "Quantiser"): past this file all is integer.

use crate::block::BLOCK;
use crate::header::MAX_PLANES;
use crate::layout::{self, Unit};
use crate::model::{Model, PLANES};
use crate::picture::Channels;
use crate::regions::rotates;
use crate::stripe::{NEGATIVE, Stripe};
use crate::transform::{Coefficients, Cut};

/// Largest magnitude: one below the sign's bit.
const LARGEST: u16 = NEGATIVE - 1;

/// Fills an empty stripe, which knows its regions' rotations, with the levels of its rows, and says how many bit planes they take.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a conversion saturates, and makes NaN zero"
)]
pub(crate) fn quantise(
    model: &Model,
    coefficients: &Coefficients,
    rows: &std::ops::Range<usize>,
    stripe: &mut Stripe,
) -> u8 {
    let (width, height) = (coefficients.size.width(), coefficients.size.height());
    let (mut all, mut buffer) = (0, Vec::new());
    stripe.truth = vec![0; stripe.levels.len()];
    for map in &mut stripe.units {
        let unit = Unit::at(map.index);
        let inverse = 1.0 / model.units[map.index].step;
        let own = layout::rows(unit, height, rows);
        let stride = unit.size(width, height).0;
        let rotated = rotates(unit) && stripe.regions.rotated();
        for y in 0..map.height {
            let row = |index: usize| &coefficients.units[index][(own.start + y) * stride..][..map.width];
            let line = if rotated {
                buffer.resize(map.width, 0.0);
                stripe.regions.rotate(
                    unit,
                    y,
                    [0, 1, 2].map(|other| row(layout::sibling(map.index, other))),
                    &mut buffer,
                );
                &buffer
            } else {
                row(map.index)
            };
            let levels = &mut stripe.truth[map.origin + y * map.stride..][..map.width];
            for (level, &value) in levels.iter_mut().zip(line) {
                let magnitude = ((value.abs() * inverse) as u16).min(LARGEST);
                *level = magnitude | if value < 0.0 && magnitude > 0 { NEGATIVE } else { 0 };
            }
            for (bx, chunk) in levels.chunks(BLOCK).enumerate() {
                let or = chunk.iter().fold(0, |or, level| or | level) & !NEGATIVE;
                stripe.blocks[map.grid.at(bx, y / BLOCK)].all |= or;
                map.all |= or;
            }
        }
        all |= map.all;
    }
    (1..=MAX_PLANES).rev().find(|plane| all >> (plane - 1) != 0).unwrap_or(0)
}

/// Writes what a stripe knows into its rows of the coefficients.
pub(crate) fn dequantise(model: &Model, stripe: &Stripe, out: &mut [&mut [f32]]) {
    for (map, out) in stripe.units.iter().zip(&mut *out) {
        if !map.active {
            continue;
        }
        let tables = &model.units[map.index];
        let points: [f32; PLANES + 1] = std::array::from_fn(|plane| {
            let half = tables.offsets[plane.min(PLANES - 1)];
            half * f32::from(1_u16 << plane.min(15)) * tables.step
        });
        let grid = &map.grid;
        for (bx, by) in (0..grid.down).flat_map(|by| (0..grid.across).map(move |bx| (bx, by))) {
            let block = &stripe.blocks[grid.at(bx, by)];
            let mut left = block.significant;
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                let (x, y) = (bx * BLOCK + (bit & 7) as usize, by * BLOCK + (bit >> 3) as usize);
                let at = map.origin + y * map.stride + x;
                let plane = usize::from(block.plane) - usize::from(block.visited >> bit & 1 != 0);
                let level = stripe.levels[at];
                let magnitude = f32::from(level & !NEGATIVE) * tables.step + points[plane];
                out[y * map.width + x] = if level & NEGATIVE != 0 { -magnitude } else { magnitude };
            }
        }
    }
    stripe.regions.undo(|unit| stripe.units[unit].width, out);
}

/// The cut that stripes are at, given (planes left, pieces done of the current plane, rows of pixels) of each.
#[expect(clippy::cast_precision_loss, reason = "a position needs no more than 24 bits")]
pub(crate) fn cut(positions: impl Iterator<Item = (u8, f32, usize)>, channels: Channels) -> Cut {
    let pieces = (3 * layout::units(channels).count()) as f32;
    let (mut sum, mut rows) = (0.0, 0.0);
    for (planes, done, weight) in positions {
        let at = if planes == 0 { 0.0 } else { f32::from(planes) - done / pieces };
        sum += at * weight as f32;
        rows += weight as f32;
    }
    Cut(sum / rows)
}
