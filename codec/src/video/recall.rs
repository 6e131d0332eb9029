//! What the enhancement reference recalls of blocks that are being refreshed (spec, "Recall").
//!
//! A refreshed block is predicted from the base-layer reference, so that all receivers agree about it. A part of what is
//! lost by that is in coefficients that the frame's bytes leave at zero. A second prediction, from the enhancement
//! reference, says more about these than zero does: decoders take a part of it, up to a share of what the bytes leave
//! open. So references that differ come nearer to each other with every refresh.
//!
//! Prior art: in Wyner-Ziv video coding a decoder's own prediction chooses the value within a quantiser's bin (Girod,
//! Aaron, Rane and Rebollo-Monedero, "Distributed video coding", Proc. IEEE 93(1), 2005, section II).

use std::ops::Range;

use crate::motion::field::{BLOCK_SIDE, Field};
use crate::motion::overlap::{self, Kind};
use crate::motion::reference::{FRACTION_BITS, Plane, Reference, RowsMut};
use crate::parallel::{self, Threads};
use crate::picture::Size;
use crate::residual::planes::{Planes420, plane_size};
use crate::scratch::Scratch;
use crate::simd::widest;
use crate::subband::layout::{ChromaFormat, SUBBAND_COUNT, details};
use crate::subband::quantise::RECALL_FRACTION;
use crate::subband::zone::{ZONE_ALIGN_ROWS, ZONE_LEVELS, Zone};
use crate::wavelet::integer::IntegerWavelet;
use crate::wavelet::lift::{Direction, Taps};
use crate::wavelet::whole::{self, Level};

/// Fraction bits that a coefficient has beyond those of a sample.
const FINER_BITS: u32 = RECALL_FRACTION - FRACTION_BITS;
/// The greatest correction of a sample, as of a residual.
const MAX_CORRECTION: i32 = 4095;

const _: () = assert!(ZONE_ALIGN_ROWS == BLOCK_SIDE, "a zone has whole rows of blocks");

/// Returns the rows of blocks of which a frame of this phase recalls something: those with refreshed blocks, one above
/// and one below. `None` if it refreshes no block.
pub(super) fn zone(frame: Size, phase: u8) -> Option<Zone> {
    let [across, down] = Field::grid(frame);
    let refreshed = Field::refreshed(across * down, phase.into());
    let blocks = (refreshed.start / across).saturating_sub(1)..(refreshed.end.div_ceil(across) + 1).min(down);
    (!refreshed.is_empty()).then(|| Zone::new(frame, blocks))
}

/// What the second prediction of a frame says.
#[derive(Debug, Clone, Default)]
pub(super) struct Recall {
    /// `None` if the frame recalls nothing, or has recalled it already.
    zone: Option<Zone>,
    second: [Plane; 3],
    /// The rows of the frame's planes that `second` has.
    rows: [Range<usize>; 3],
    /// The levels of the difference between both predictions, in the zone.
    levels: Planes420<i32>,
}

impl Recall {
    /// Recalls nothing of this frame.
    pub(super) fn forget(&mut self) {
        self.zone = None;
    }

    /// The rows of which this frame recalls something.
    pub(super) const fn zone(&self) -> Option<&Zone> {
        self.zone.as_ref()
    }

    /// Begins a frame of this phase. Returns the rows of blocks that are to be predicted a second time, from the last
    /// two enhancement references, and where: the rows of each plane that [`overlap::rows`] says.
    pub(super) fn begin(&mut self, size: Size, phase: u8) -> Option<(Range<usize>, [RowsMut<'_>; 3])> {
        self.zone = zone(size, phase);
        let zone = self.zone.as_ref()?;
        self.levels.resize(zone.size);
        let [_, down] = Field::grid(size);
        for (number, (rows, second)) in self.rows.iter_mut().zip(&mut self.second).enumerate() {
            let [own, zone] = [size, zone.size].map(|size| plane_size(size, number));
            // They end a quarter of a block above the zone's end, unless the frame ends there. No refreshed block counts
            // in the rows after that, so both predictions are equal.
            *rows = overlap::rows(Kind::ALL[number], &self.zone.as_ref()?.groups, down, own.height());
            if second.width != own.width() || second.height < rows.len() {
                *second = Plane::new(own.width(), zone.height() + BLOCK_SIDE);
            }
        }
        Some((zone.groups.clone(), self.second.each_mut().map(Plane::rows_mut)))
    }

    /// Analyses how the second prediction differs from `predicted`.
    pub(super) fn analyse(
        &mut self,
        predicted: &Reference,
        wavelet: &IntegerWavelet,
        (threads, room): (&Threads, &Scratch<i32>),
    ) {
        let Self { zone, second, rows, levels } = self;
        let Some(zone) = zone else { return };
        let subtract = |number: usize, first: usize, levels: &mut [i32]| {
            let (second, predicted, rows) = (&second[number], &predicted.planes[number], &rows[number]);
            for (y, levels) in (first..).zip(levels.chunks_exact_mut(second.width)) {
                if y < rows.end {
                    widest!(differ(second.row(y - rows.start), predicted.row(y), levels));
                } else {
                    levels.fill(0);
                }
            }
        };
        let (width, height) = (zone.size.width(), zone.size.height());
        let finest = Level::new([width, height], 0, &taps(wavelet, 0)[0], Direction::Analysis, room);
        let [luma, blue, red] = levels.planes_mut();
        let jobs = height.div_ceil(threads.count());
        parallel::for_each(threads, luma.chunks_mut(jobs * width).enumerate(), |(job, levels)| {
            subtract(0, zone.rows.start + job * jobs, levels);
            finest.rows(levels);
        });
        parallel::for_each(threads, finest.tiles(luma), |mut tile| finest.columns(&mut tile.rows));
        parallel::for_each(threads, [luma, blue, red].into_iter().enumerate(), |(number, levels)| {
            if number > 0 {
                subtract(number, zone.rows_of(number).start, levels);
            }
            let levels_left = (taps(wavelet, number), usize::from(number == 0));
            whole::transform(levels, second[number].width, levels_left, Direction::Analysis, room);
        });
    }

    /// Adds what is recalled within these limits to the prediction, once.
    pub(super) fn add(
        &mut self,
        limits: &[i16],
        predicted: &mut Reference,
        wavelet: &IntegerWavelet,
        (threads, room): (&Threads, &Scratch<i32>),
    ) {
        let Some(zone) = self.zone.take() else { return };
        let (places, _) = zone.places();
        let limits = Limits { limits, places };
        let (width, height) = (zone.size.width(), zone.size.height());
        let levels = self.levels.planes_mut();
        // All levels of the colour differences, and those of luma but the finest.
        let planes = predicted.planes.iter_mut().zip(levels).enumerate();
        parallel::for_each(threads, planes, |(number, (predicted, levels))| {
            let width = predicted.width;
            let finest = ChromaFormat::Half.finest_level(number);
            let first = usize::from(number == 0);
            for level in finest + first..=ZONE_LEVELS {
                let rows = levels.chunks_mut(width << (level - finest));
                let across = width.div_ceil(1 << (level - finest));
                limits.apply((number, level, across), 0, rows.map(|row| &mut row[..across]));
            }
            let across = width.div_ceil(1 << (ZONE_LEVELS + 1 - finest));
            let stride = width << (ZONE_LEVELS + 1 - finest);
            levels.chunks_mut(stride).for_each(|row| row[..across].fill(0));
            whole::transform(levels, width, (taps(wavelet, number), first), Direction::Synthesis, room);
            if number > 0 {
                for (y, levels) in zone.rows_of(number).zip(levels.chunks_exact(width)) {
                    widest!(correct(predicted.row_mut(y), levels));
                }
            }
        });
        let finest = Level::new([width, height], 0, &taps(wavelet, 0)[0], Direction::Synthesis, room);
        let [luma, ..] = self.levels.planes_mut();
        parallel::for_each(threads, finest.tiles(luma), |mut tile| {
            limits.apply((0, 1, width), tile.first, tile.rows.iter_mut().map(|row| &mut **row));
            finest.columns(&mut tile.rows);
        });
        let jobs = height.div_ceil(threads.count());
        let mut rows = predicted.planes[0].rows_mut();
        let _above = rows.split_off(zone.rows.start);
        let jobs = luma.chunks_mut(jobs * width).map(|levels| {
            let rows = rows.split_off(levels.len() / width);
            (levels, rows)
        });
        parallel::for_each(threads, jobs, |(levels, mut rows)| {
            finest.rows(levels);
            for (y, levels) in levels.chunks_exact(width).enumerate() {
                widest!(correct(rows.row_mut(y), levels));
            }
        });
    }
}

/// The taps of a plane's levels in a zone.
fn taps(wavelet: &IntegerWavelet, plane: usize) -> &[Taps<i32>] {
    &wavelet.taps[ChromaFormat::Half.finest_level(plane) - 1..ZONE_LEVELS]
}

/// The limits of a zone's coefficients, and where those of each band are.
struct Limits<'a> {
    limits: &'a [i16],
    places: [Range<usize>; SUBBAND_COUNT],
}

impl Limits<'_> {
    /// Takes five eighths of the coefficients of a plane's level, which is `across` wide, each within its limit. `rows`
    /// are those of the level, from column `first` on.
    fn apply<'a>(
        &self,
        (plane, level, across): (usize, usize, usize),
        first: usize,
        rows: impl Iterator<Item = &'a mut [i32]>,
    ) {
        let low = across.div_ceil(2);
        let [hl, lh, hh] = [0, 1, 2].map(|band| &self.limits[self.places[details(plane, level).start + band].clone()]);
        for (y, row) in rows.enumerate() {
            // HL is at the right of even rows, LH at the left of odd ones, HH at their right.
            let bands =
                if y % 2 == 0 { [(&[][..], 0..low), (hl, low..across)] } else { [(lh, 0..low), (hh, low..across)] };
            for (limits, columns) in bands {
                let own = columns.start.max(first)..columns.end.min(first + row.len());
                if own.is_empty() || limits.is_empty() {
                    continue;
                }
                let limits = &limits[y / 2 * columns.len() + own.start - columns.start..][..own.len()];
                widest!(limit(&mut row[own.start - first..own.end - first], limits));
            }
        }
    }
}

#[inline(always)]
fn differ(second: &[i16], first: &[i16], out: &mut [i32]) {
    for ((out, second), first) in out.iter_mut().zip(second).zip(first) {
        *out = i32::from(second - first) << FINER_BITS;
    }
}

/// Takes five eighths of each coefficient, within its limit.
#[inline(always)]
fn limit(levels: &mut [i32], limits: &[i16]) {
    for (level, limit) in levels.iter_mut().zip(limits) {
        let limit = i32::from(*limit);
        // Whoever gives residuals may give limits below zero.
        *level = (level.wrapping_mul(5).wrapping_add(4) >> 3).min(limit).max(-limit);
    }
}

/// Adds the nearest numbers of a sample's unit to a row.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "clamped")]
fn correct(row: &mut [i16], corrections: &[i32]) {
    for (sample, correction) in row.iter_mut().zip(corrections) {
        let nearest = correction.wrapping_add(1 << (FINER_BITS - 1)) >> FINER_BITS;
        *sample += nearest.clamp(-MAX_CORRECTION, MAX_CORRECTION) as i16;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_has_the_rows_of_all_refreshed_blocks_and_one_more_on_each_side() {
        for (width, height) in [(1, 1), (16, 200), (100, 60), (641, 359), (1920, 1080)] {
            let size = Size::new(width, height).expect("a valid size");
            let [across, down] = Field::grid(size);
            for phase in 0..128 {
                let refreshed = Field::refreshed(across * down, phase.into());
                let Some(zone) = zone(size, phase) else {
                    assert!(refreshed.is_empty());
                    continue;
                };
                let [first, last] = [refreshed.start / across, (refreshed.end - 1) / across];
                assert_eq!(zone.groups, first.saturating_sub(1)..(last + 2).min(down), "{size:?}, phase {phase}");
                assert_eq!([zone.size.width(), zone.size.height()], [size.width(), zone.rows.len()]);
            }
        }
    }
}
