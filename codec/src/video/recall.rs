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
    /// The difference between both predictions, in the zone. It becomes levels: of luma all but the finest, in a plane
    /// of half the width and height.
    levels: Planes420<i32>,
    /// Luma's finest level, in [tiles](Level::tiles).
    tiles: Vec<i32>,
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
        let Self { zone, second, rows, levels, tiles } = self;
        let zone = zone.as_ref()?;
        levels.resize(zone.size);
        tiles.resize(zone.size.pixels(), 0);
        let [_, down] = Field::grid(size);
        for (number, (rows, second)) in rows.iter_mut().zip(&mut *second).enumerate() {
            let [own, of_zone] = [size, zone.size].map(|size| plane_size(size, number));
            // They end a quarter of a block above the zone's end, unless the frame ends there. No refreshed block counts
            // in the rows after that, so both predictions are equal.
            *rows = overlap::rows(Kind::ALL[number], &zone.groups, down, own.height());
            if second.width != own.width() || second.height < rows.len() {
                *second = Plane::new(own.width(), of_zone.height() + BLOCK_SIDE);
            }
        }
        Some((zone.groups.clone(), second.each_mut().map(Plane::rows_mut)))
    }

    /// Analyses how the second prediction differs from `predicted`.
    pub(super) fn analyse(
        &mut self,
        predicted: &Reference,
        wavelet: &IntegerWavelet,
        (threads, room): (&Threads, &Scratch<i32>),
    ) {
        let Self { zone, second, rows, levels, tiles } = self;
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
        let finest = finest(zone, wavelet, Direction::Analysis);
        let job_rows = finest.height.div_ceil(threads.count());
        let [luma, blue, red] = levels.planes_mut();
        parallel::for_each(threads, luma.chunks_mut(job_rows * finest.width).enumerate(), |(job, levels)| {
            subtract(0, zone.rows.start + job * job_rows, levels);
            finest.rows(levels, room);
        });
        let all = &*luma;
        parallel::for_each(threads, finest.split(tiles), |(columns, tile)| {
            finest.copy_in(all, &columns, tile);
            finest.columns(tile);
        });
        let tiles = &*tiles;
        let [across, down] = finest.low();
        let luma = &mut luma[..across * down];
        parallel::for_each(threads, [luma, blue, red].into_iter().enumerate(), |(number, levels)| {
            let taps = taps(wavelet, number);
            if number > 0 {
                subtract(number, zone.rows_of(number).start, levels);
                return whole::transform(levels, second[number].width, taps, Direction::Analysis, room);
            }
            for columns in finest.tiles().filter(|columns| columns.start < across) {
                let tile = &tiles[finest.height * columns.start..];
                let own = columns.start..columns.end.min(across);
                for (y, row) in levels.chunks_exact_mut(across).enumerate() {
                    row[own.clone()].copy_from_slice(&tile[finest.row(2 * y, columns.len())][..own.len()]);
                }
            }
            whole::transform(levels, across, &taps[1..], Direction::Analysis, room);
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
        let limits = Limits { limits, places: &zone.places };
        let finest = finest(&zone, wavelet, Direction::Synthesis);
        let [across, down] = finest.low();
        let Self { levels, tiles, .. } = self;
        let [luma, blue, red] = levels.planes_mut();
        let coarse = &mut luma[..across * down];
        let [of_luma, of_chroma @ ..] = &mut predicted.planes;
        let mut of_chroma = of_chroma.iter_mut();
        let planes = [(&mut *coarse, None), (blue, of_chroma.next()), (red, of_chroma.next())].into_iter().enumerate();
        parallel::for_each(threads, planes, |(number, (levels, predicted))| {
            let width = predicted.as_ref().map_or(across, |predicted| predicted.width);
            // The finest level of a colour difference, and the second of luma, are the second of the picture.
            for level in 2..=ZONE_LEVELS {
                let stride = width << (level - 2);
                let across = width.div_ceil(1 << (level - 2));
                for (y, row) in levels.chunks_mut(stride).enumerate() {
                    limits.apply((number, level, across), y, 0, &mut row[..across]);
                }
            }
            let stride = width << (ZONE_LEVELS - 1);
            let lowest = width.div_ceil(1 << (ZONE_LEVELS - 1));
            levels.chunks_mut(stride).for_each(|row| row[..lowest].fill(0));
            whole::transform(levels, width, &wavelet.taps[1..ZONE_LEVELS], Direction::Synthesis, room);
            let Some(predicted) = predicted else { return };
            for (y, levels) in zone.rows_of(number).zip(levels.chunks_exact(width)) {
                widest!(correct(predicted.row_mut(y), levels));
            }
        });
        let coarse = &*coarse;
        parallel::for_each(threads, finest.split(tiles), |(columns, tile)| {
            let own = columns.start.min(across)..columns.end.min(across);
            for y in 0..finest.height {
                let row = &mut tile[finest.row(y, columns.len())];
                if y % 2 == 0 {
                    row[..own.len()].copy_from_slice(&coarse[y / 2 * across..][own.clone()]);
                }
                limits.apply((0, 1, finest.width), y, columns.start, row);
            }
            finest.columns(tile);
        });
        let (tiles, width) = (&*tiles, finest.width);
        let job_rows = finest.height.div_ceil(threads.count());
        let mut out = of_luma.rows_mut();
        out.split_off(zone.rows.start);
        let jobs = luma.chunks_mut(job_rows * width).enumerate().map(|(job, levels)| {
            let out = out.split_off(levels.len() / width);
            (job * job_rows, levels, out)
        });
        parallel::for_each(threads, jobs, |(first, levels, mut out)| {
            for columns in finest.tiles() {
                let tile = &tiles[finest.height * columns.start..];
                for (y, row) in (first..).zip(levels.chunks_exact_mut(width)) {
                    row[columns.clone()].copy_from_slice(&tile[finest.row(y, columns.len())]);
                }
            }
            finest.rows(levels, room);
            for (y, levels) in levels.chunks_exact(width).enumerate() {
                widest!(correct(out.row_mut(y), levels));
            }
        });
    }
}

/// Returns luma's finest level in a zone.
fn finest(zone: &Zone, wavelet: &IntegerWavelet, direction: Direction) -> Level {
    Level::new([zone.size.width(), zone.size.height()], 0, &wavelet.taps[0], direction)
}

/// The taps of a plane's levels in a zone.
fn taps(wavelet: &IntegerWavelet, plane: usize) -> &[Taps<i32>] {
    &wavelet.taps[ChromaFormat::Half.finest_level(plane) - 1..ZONE_LEVELS]
}

/// The limits of a zone's coefficients, and where those of each band are.
struct Limits<'a> {
    limits: &'a [i16],
    places: &'a [Range<usize>; SUBBAND_COUNT],
}

impl Limits<'_> {
    /// Takes five eighths of the coefficients in a part of row `y` of a plane's level, which is `across` wide, each
    /// within its limit. The part begins in column `first`.
    fn apply(&self, (plane, level, across): (usize, usize, usize), y: usize, first: usize, row: &mut [i32]) {
        let low = across.div_ceil(2);
        // HL is at the right of even rows, LH at the left of odd ones, HH at their right.
        let bands = [(0, low..across), (1, 0..low), (2, low..across)];
        for (band, columns) in bands.into_iter().filter(|(band, _)| usize::from(*band > 0) == y % 2) {
            let own = columns.start.max(first)..columns.end.min(first + row.len());
            if own.is_empty() {
                continue;
            }
            let limits = &self.limits[self.places[details(plane, level).start + band].clone()];
            let limits = &limits[y / 2 * columns.len() + own.start - columns.start..][..own.len()];
            widest!(limit(&mut row[own.start - first..own.end - first], limits));
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
