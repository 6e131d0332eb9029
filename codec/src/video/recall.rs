//! What the enhancement reference recalls of blocks that are being refreshed (spec, "Recall").
//!
//! A refreshed block is predicted from the base-layer reference, so that all receivers agree about it. A part of what is
//! lost by that is in coefficients that the frame's bytes leave at zero. A second prediction, from the enhancement
//! reference, says more about these than zero does: decoders take a part of it, up to a share of what the bytes leave
//! open. So references that differ come nearer to each other with every refresh.
//!
//! Prior art: in Wyner-Ziv video coding a decoder's own prediction chooses the value within a quantiser's bin (Girod,
//! Aaron, Rane and Rebollo-Monedero, "Distributed video coding", Proc. IEEE 93(1), 2005, section II).

use crate::motion::field::{BLOCK_SIDE, Field};
use crate::motion::overlap::{self, Kind};
use crate::motion::reference::{BySource, FRACTION_BITS, Past, Plane, Reference};
use crate::parallel::{self, Threads};
use crate::picture::Size;
use crate::residual::planes::{Planes420, plane_size};
use crate::scratch::Scratch;
use crate::simd::widest;
use crate::subband::layout::{ChromaFormat, details};
use crate::subband::quantise::RECALL_FRACTION;
use crate::subband::zone::{ZONE_ALIGN_ROWS, ZONE_LEVELS, Zone};
use crate::wavelet::integer::IntegerWavelet;
use crate::wavelet::lift::{Direction, Taps};
use crate::wavelet::whole;

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

    /// Predicts the refreshed blocks of a frame of this phase from the last two enhancement references, and analyses how
    /// that differs from `predicted`.
    pub(super) fn predict(
        &mut self,
        (field, size, phase): (&Field, Size, u8),
        past: Past<&Reference>,
        predicted: &Reference,
        wavelet: &IntegerWavelet,
        (threads, room): (&Threads, &Scratch<i32>),
    ) {
        self.zone = zone(size, phase);
        let Some(zone) = &self.zone else { return };
        self.levels.resize(zone.size);
        let planes = self.second.iter_mut().zip(self.levels.planes_mut()).enumerate();
        parallel::for_each(threads, planes, |(number, (second, levels))| {
            let past = past.map(|picture| &picture.planes[number]);
            subtract((field, zone), (number, past), room, second, &predicted.planes[number], levels);
            let width = second.width;
            whole::transform(levels, width, taps(wavelet, number), Direction::Analysis, room);
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
        let planes = predicted.planes.iter_mut().zip(self.levels.planes_mut()).enumerate();
        parallel::for_each(threads, planes, |(number, (predicted, levels))| {
            let width = predicted.width;
            let finest = ChromaFormat::Half.finest_level(number);
            let mut across = width;
            for level in finest..=ZONE_LEVELS {
                let low = across.div_ceil(2);
                let stride = width << (level - finest);
                for (band, index) in details(number, level).enumerate() {
                    // HL is at the right of even rows, LH at the left of odd ones, HH at their right.
                    let columns = if band == 1 { 0..low } else { low..across };
                    let rows = levels.chunks_mut(stride).skip(usize::from(band > 0)).step_by(2);
                    let limits = limits[places[index].clone()].chunks_exact(columns.len().max(1));
                    for (row, limits) in rows.zip(limits) {
                        widest!(limit(&mut row[columns.clone()], limits));
                    }
                }
                across = low;
            }
            let stride = width << (ZONE_LEVELS + 1 - finest);
            levels.chunks_mut(stride).for_each(|row| row[..across].fill(0));
            whole::transform(levels, width, taps(wavelet, number), Direction::Synthesis, room);
            for (y, levels) in zone.rows_of(number).zip(levels.chunks_exact(width)) {
                widest!(correct(predicted.row_mut(y), levels));
            }
        });
    }
}

/// The taps of a plane's levels in a zone.
fn taps(wavelet: &IntegerWavelet, plane: usize) -> &[Taps<i32>] {
    &wavelet.taps[ChromaFormat::Half.finest_level(plane) - 1..ZONE_LEVELS]
}

/// Fills `levels` with the second prediction of a zone's rows less the first, in the unit of coefficients.
fn subtract(
    (field, zone): (&Field, &Zone),
    (number, past): (usize, Past<&Plane>),
    room: &Scratch<i32>,
    second: &mut Plane,
    first: &Plane,
    levels: &mut [i32],
) {
    let kind = Kind::ALL[number];
    // They end a quarter of a block above the zone's end, unless the frame ends there. No refreshed block counts in the
    // rows after that, so both predictions are equal.
    let rows = overlap::rows(kind, &zone.groups, field.down, first.height);
    if second.width != first.width || second.height < rows.len() {
        *second = Plane::new(first.width, plane_size(zone.size, number).height() + BLOCK_SIDE);
    }
    let references = BySource { enhancement_reference: past, base_reference: past };
    let of_zone = (zone.groups.clone(), first.height);
    overlap::predict(field, kind, references, of_zone, room, &mut second.rows_mut());
    for (y, levels) in zone.rows_of(number).zip(levels.chunks_exact_mut(first.width)) {
        if y < rows.end {
            widest!(differ(second.row(y - rows.start), first.row(y), levels));
        } else {
            levels.fill(0);
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
