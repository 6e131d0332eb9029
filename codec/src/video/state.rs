//! The reference pictures, and their update by a frame (spec, "Base-layer and enhancement references").
//!
//! Prior art: progressive fine granularity scalability makes two references from two prefixes of one embedded residual
//! (Wu, Li and Zhang, "A framework for efficient progressive fine granularity scalable video coding", IEEE Trans.
//! Circuits and Systems for Video Technology 11(3), 2001). Here blocks leave the enhancement reference (there: the
//! high-quality reference) in turn, and continue from the base-layer reference (the low-quality one).

use std::ops::Range;

use crate::model::Model;
use crate::motion::field::{Field, Turn, columns};
use crate::motion::overlap::{self, Kind};
use crate::motion::reference::{BySource, Past, Plane, Reference, RowsMut, add, add_to};
use crate::parallel::{self, Threads};
use crate::picture::{Size, ViewMut};
use crate::residual::decoder::ResidualDecoder;
use crate::scratch::Scratch;
use crate::simd::widest;
use crate::subband::zone::Zone;
use crate::video::recall::Recall;
use crate::video::shown;
use crate::video::strip::NextPlanes;

/// The fewest rows of blocks that justify predicting the row above them once more.
const MIN_BAND_BLOCK_ROWS: usize = 6;

/// Both references, and the prediction of the current frame.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) size: Size,
    pub(crate) base_reference: Reference,
    pub(crate) enhancement_reference: Reference,
    /// Both references as they were for the frame before.
    base_reference_before: Reference,
    enhancement_reference_before: Reference,
    /// Whether the last frame has no pictures before it.
    pub(super) begins: bool,
    predicted_base_reference: Reference,
    /// Also the prediction of the shown frame.
    pub(crate) predicted: Reference,
    /// What the enhancement reference recalls of the current frame's refreshed blocks.
    recall: Recall,
    limits: Vec<i16>,
    /// The shown picture that concealment moves; `None` before the first.
    continued: Option<Reference>,
}

impl State {
    /// Begins with grey pictures.
    pub(crate) fn new(size: Size) -> Self {
        let grey = Reference::new(size);
        Self {
            size,
            base_reference: grey.clone(),
            enhancement_reference: grey.clone(),
            base_reference_before: grey.clone(),
            enhancement_reference_before: grey.clone(),
            begins: true,
            predicted_base_reference: grey.clone(),
            predicted: grey,
            recall: Recall::default(),
            limits: Vec::new(),
            continued: None,
        }
    }

    /// Puts the last pictures in the place of those before them, if there are none.
    fn begin(&mut self) {
        if std::mem::take(&mut self.begins) {
            self.base_reference_before.copy_from(&self.base_reference);
            self.enhancement_reference_before.copy_from(&self.enhancement_reference);
        }
    }

    /// Returns the pictures that the next frame may be predicted from.
    pub(crate) fn references(&mut self) -> BySource<Past<&Reference>> {
        self.begin();
        BySource {
            enhancement_reference: Past {
                last: &self.enhancement_reference,
                before: &self.enhancement_reference_before,
            },
            base_reference: Past { last: &self.base_reference, before: &self.base_reference_before },
        }
    }

    /// Predicts a frame of this phase, whose residual has these tables.
    pub(crate) fn predict(
        &mut self,
        (field, phase): (&Field, u8),
        model: &Model,
        threads: &Threads,
        room: &Scratch<i32>,
    ) {
        self.begin();
        let Self {
            base_reference,
            base_reference_before,
            enhancement_reference,
            enhancement_reference_before,
            predicted,
            predicted_base_reference,
            recall,
            size,
            ..
        } = self;
        let from_enhancement_reference = Past { last: &*enhancement_reference, before: &*enhancement_reference_before };
        let from_base_reference = Past { last: &*base_reference, before: &*base_reference_before };
        let [references, of_base_reference, of_second_prediction] = [
            (from_enhancement_reference, from_base_reference),
            (from_base_reference, from_base_reference),
            (from_enhancement_reference, from_enhancement_reference),
        ]
        .map(|(enhancement_reference, base_reference)| BySource { enhancement_reference, base_reference });
        let mut bands = Bands::new(field, threads);
        bands.add(rows_mut(predicted), &(0..field.down), references);
        bands.add(rows_mut(predicted_base_reference), &(0..field.down), of_base_reference);
        if let Some((blocks, out)) = recall.begin(*size, phase) {
            bands.add(out, &blocks, of_second_prediction);
        }
        bands.predict(room);
        recall.analyse(predicted, &model.integer_wavelet, (threads, room));
    }

    /// Returns the rows of which the enhancement reference recalls something in the current frame.
    pub(super) const fn zone(&self) -> Option<&Zone> {
        self.recall.zone()
    }

    /// Adds what the enhancement reference recalls to the prediction, as far as the bytes that `decoder` got leave it
    /// open; once for each frame.
    pub(super) fn recall(&mut self, decoder: &ResidualDecoder, model: &Model, threads: &Threads, room: &Scratch<i32>) {
        let Some(zone) = self.recall.zone() else { return };
        let mut limits = std::mem::take(&mut self.limits);
        limits.resize(zone.coefficients, 0);
        decoder.limits_into(model, zone, &mut limits);
        self.recall_within(&limits, model, threads, room);
        self.limits = limits;
    }

    /// As [`State::recall`], within these limits.
    pub(super) fn recall_within(&mut self, limits: &[i16], model: &Model, threads: &Threads, room: &Scratch<i32>) {
        self.recall.add(limits, &mut self.predicted, &model.integer_wavelet, (threads, room));
    }

    /// Predicts the next base-layer reference alone; the enhancement reference becomes invalid.
    pub(super) fn predict_base_layer(&mut self, field: &Field, threads: &Threads, room: &Scratch<i32>) {
        let Self { base_reference, base_reference_before, predicted_base_reference, begins, .. } = self;
        if std::mem::take(begins) {
            base_reference_before.copy_from(base_reference);
        }
        let past = Past { last: &*base_reference, before: &*base_reference_before };
        predict_all(predicted_base_reference, past, field, threads, room);
    }

    /// Predicts a frame that leads to another rendition, both pictures from the base-layer reference; earlier ones
    /// expire.
    pub(crate) fn predict_switch(&mut self, field: &Field, threads: &Threads, room: &Scratch<i32>) {
        self.recall.forget();
        let Self { base_reference, predicted, predicted_base_reference, begins, .. } = self;
        *begins = true;
        predict_from(base_reference, field, threads, room, predicted);
        predicted_base_reference.copy_from(predicted);
    }

    /// Predicts from a shown picture by `field`; both references stay.
    pub(crate) fn carry_on(
        &mut self,
        field: &Field,
        shown: &ViewMut<'_>,
        threads: &Threads,
        room: &Scratch<i32>,
    ) -> &Reference {
        let Self { size, continued, predicted_base_reference, .. } = self;
        let continued = continued.get_or_insert_with(|| Reference::new(*size));
        let deep = shown::deep_bits(shown);
        for (plane, shown) in continued.planes.iter_mut().zip(&shown.planes) {
            match deep {
                Some(bits) => plane.take_deep_samples(shown.samples, shown.stride, bits),
                None => plane.take_samples(shown.samples, shown.stride),
            }
        }
        predict_from(continued, field, threads, room, predicted_base_reference);
        predicted_base_reference
    }

    /// Predicts a frame whose picture is the one before: each block from its own place, refreshed ones from the
    /// base-layer reference. Renewed blocks are predicted from nothing.
    pub(crate) fn predict_same(&mut self, turn: Turn) {
        self.recall.forget();
        let Self { size, base_reference, enhancement_reference, predicted, predicted_base_reference, begins, .. } =
            self;
        *begins = true;
        // Both references are written anew from their predictions.
        std::mem::swap(predicted, enhancement_reference);
        std::mem::swap(predicted_base_reference, base_reference);
        let [across, down] = Field::grid(*size);
        let count = across * down;
        let refreshed = Field::refreshed(count, turn.phase.into());
        let renewed = Field::renewed(count, turn);
        let planes = predicted.planes.iter_mut().zip(&mut predicted_base_reference.planes).enumerate();
        for (number, (predicted, of_base_reference)) in planes {
            for y in 0..predicted.height {
                let [refreshed, renewed] =
                    [&refreshed, &renewed].map(|blocks| columns(blocks, across, number, y, predicted.width));
                of_base_reference.row_mut(y)[renewed.clone()].fill(0);
                let row = predicted.row_mut(y);
                row[refreshed.clone()].copy_from_slice(&of_base_reference.row(y)[refreshed]);
                row[renewed].fill(0);
            }
        }
    }

    /// Predicts a frame from nothing.
    pub(crate) fn predict_nothing(&mut self) {
        self.recall.forget();
        self.begins = true;
        for plane in self.predicted.planes.iter_mut().chain(&mut self.predicted_base_reference.planes) {
            plane.fill(0);
        }
    }

    /// Returns the planes of the next base-layer reference, which hold their prediction. They become its sum with its
    /// bytes of the residual.
    pub(super) fn next_base_reference(&mut self) -> NextPlanes<'_> {
        std::mem::swap(&mut self.base_reference, &mut self.base_reference_before);
        std::mem::swap(&mut self.base_reference, &mut self.predicted_base_reference);
        self.base_reference.planes.each_mut().map(|plane| (plane.rows_mut(), None))
    }

    /// As [`State::next_base_reference`], of the enhancement reference, whose prediction stays.
    pub(super) fn next_enhancement_reference(&mut self) -> NextPlanes<'_> {
        std::mem::swap(&mut self.enhancement_reference, &mut self.enhancement_reference_before);
        with_prediction(&mut self.enhancement_reference, &self.predicted)
    }
}

/// Predicts every block from one picture alone.
pub(super) fn predict_from(
    from: &Reference,
    field: &Field,
    threads: &Threads,
    room: &Scratch<i32>,
    out: &mut Reference,
) {
    predict_all(out, Past { last: from, before: from }, field, threads, room);
}

/// Predicts every block from the same pictures.
fn predict_all(out: &mut Reference, past: Past<&Reference>, field: &Field, threads: &Threads, room: &Scratch<i32>) {
    let mut bands = Bands::new(field, threads);
    bands.add(rows_mut(out), &(0..field.down), BySource { enhancement_reference: past, base_reference: past });
    bands.predict(room);
}

/// Some rows of blocks of one plane, to be predicted.
struct Band<'a> {
    kind: Kind,
    references: BySource<Past<&'a Plane>>,
    blocks: Range<usize>,
    height: usize,
    out: RowsMut<'a>,
}

/// The pictures that are predicted at the same time: both references', and what is recalled.
const MAX_PICTURES: usize = 3;

/// Rows of blocks that are to be predicted, in bands, so that those of all pictures are shared out evenly.
struct Bands<'a> {
    field: &'a Field,
    threads: &'a Threads,
    /// What is left of each plane, and the most rows of blocks in a band of it.
    planes: [Option<(Band<'a>, usize)>; 3 * MAX_PICTURES],
}

impl<'a> Bands<'a> {
    fn new(field: &'a Field, threads: &'a Threads) -> Self {
        Self { field, threads, planes: Default::default() }
    }

    /// Adds rows of blocks of a picture; beyond [`MAX_PICTURES`] it does nothing. `out` has the rows of each plane that
    /// [`overlap::rows`] says.
    fn add(&mut self, out: [RowsMut<'a>; 3], blocks: &Range<usize>, references: BySource<Past<&'a Reference>>) {
        let free = self.planes.iter_mut().filter(|plane| plane.is_none());
        for (number, ((out, kind), plane)) in out.into_iter().zip(Kind::ALL).zip(free).enumerate() {
            let references = references.map(|past| past.map(|picture| &picture.planes[number]));
            let height = references.base_reference.last.height;
            let count = self.threads.count().div_ceil(if kind == Kind::Luma { 2 } else { 8 });
            let most = blocks.len().div_ceil(count).max(MIN_BAND_BLOCK_ROWS);
            *plane = Some((Band { kind, references, blocks: blocks.clone(), height, out }, most));
        }
    }

    /// Predicts them.
    fn predict(self, room: &Scratch<i32>) {
        let (field, threads) = (self.field, self.threads);
        parallel::for_each(threads, self, |Band { kind, references, blocks, height, mut out }| {
            overlap::predict(field, kind, references, (blocks, height), room, &mut out);
        });
    }
}

impl<'a> Iterator for Bands<'a> {
    type Item = Band<'a>;

    fn next(&mut self) -> Option<Band<'a>> {
        let left = self.planes.iter_mut().flatten().find(|(band, _)| !band.blocks.is_empty());
        let (Band { kind, references, blocks, height, out }, most) = left?;
        let own = blocks.start..blocks.end.min(blocks.start + *most);
        blocks.start = own.end;
        let out = out.split_off(overlap::rows(*kind, &own, self.field.down, *height).len());
        Some(Band { kind: *kind, references: *references, blocks: own, height: *height, out })
    }
}

/// Returns the rows of a picture's planes.
fn rows_mut(picture: &mut Reference) -> [RowsMut<'_>; 3] {
    picture.planes.each_mut().map(Plane::rows_mut)
}

/// Returns the rows of a picture's planes, each with its prediction.
pub(super) fn with_prediction<'a>(out: &'a mut Reference, predicted: &'a Reference) -> NextPlanes<'a> {
    let mut predicted = predicted.planes.each_ref().into_iter();
    out.planes.each_mut().map(|plane| (plane.rows_mut(), predicted.next()))
}

/// Sets pictures to the sum of their prediction and a residual.
pub(super) fn sum(out: NextPlanes<'_>, residual: [&[i16]; 3], threads: &Threads) {
    parallel::for_each(threads, out.into_iter().zip(residual), |((mut out, predicted), residual)| {
        for (y, residual) in residual.chunks_exact(out.width()).enumerate() {
            match predicted {
                Some(predicted) => widest!(add(predicted.row(y), residual, out.row_mut(y))),
                None => widest!(add_to(residual, out.row_mut(y))),
            }
            out.continue_row(y);
        }
        out.continue_plane();
    });
}
