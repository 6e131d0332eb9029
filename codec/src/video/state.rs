//! The reference pictures, and their update by a frame (spec, "Floor and enhanced picture").
//!
//! Prior art: progressive fine granularity scalability makes two references from two prefixes of one embedded residual
//! (Wu, Li and Zhang, "A framework for efficient progressive fine granularity scalable video coding", IEEE Trans.
//! Circuits and Systems for Video Technology 11(3), 2001). Here the enhancement reference (there: the high-quality
//! reference) leaks towards the base-layer reference (the low-quality one), and blocks leave it in turn.

use crate::motion::field::Field;
use crate::motion::overlap::{Kind, Overlap};
use crate::motion::reference::{BySource, GREATEST, LEAST, Past, Plane, Reference};
use crate::parallel;
use crate::picture::{Size, ViewMut};
use crate::residual::planes::Planes420;

/// Both references, and the prediction of the current frame.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) size: Size,
    pub(crate) floor: Reference,
    pub(crate) enhanced: Reference,
    /// The enhancement reference after its leak.
    leaked: Reference,
    /// Both references as they were for the frame before.
    leaked_before: Reference,
    floor_before: Reference,
    /// Whether the last frame has no pictures before it.
    pub(super) begins: bool,
    predicted_floor: Reference,
    /// Also the prediction of the shown frame.
    pub(crate) predicted: Reference,
}

impl State {
    /// Begins with grey pictures.
    pub(crate) fn new(size: Size) -> Self {
        let grey = Reference::new(size);
        Self {
            size,
            floor: grey.clone(),
            enhanced: grey.clone(),
            leaked: grey.clone(),
            leaked_before: grey.clone(),
            floor_before: grey.clone(),
            begins: true,
            predicted_floor: grey.clone(),
            predicted: grey,
        }
    }

    /// Moves the enhancement reference by a 32nd of its distance towards the base-layer one, and returns all
    /// references.
    pub(crate) fn leak(&mut self, threads: usize) -> BySource<Past<&Reference>> {
        std::mem::swap(&mut self.leaked, &mut self.leaked_before);
        let planes = self.leaked.planes.iter_mut().zip(&self.enhanced.planes).zip(&self.floor.planes);
        parallel::for_each(threads, planes, |((leaked, enhanced), floor)| leaked.leak(enhanced, floor));
        if std::mem::take(&mut self.begins) {
            self.leaked_before.clone_from(&self.leaked);
            self.floor_before.clone_from(&self.floor);
        }
        BySource {
            enhanced: Past { last: &self.leaked, before: &self.leaked_before },
            floor: Past { last: &self.floor, before: &self.floor_before },
        }
    }

    /// Predicts a frame, after [`State::leak`].
    pub(crate) fn predict(&mut self, field: &Field, threads: usize, room: &mut [Overlap; 6]) {
        let Self { floor, leaked, leaked_before, floor_before, predicted, predicted_floor, .. } = self;
        let outs = predicted.planes.iter_mut().chain(&mut predicted_floor.planes).zip(room);
        parallel::for_each(threads, outs.enumerate(), |(job, (out, room)): (usize, (&mut Plane, &mut Overlap))| {
            let plane = job % 3;
            let of_floor = job >= 3;
            let from_floor = Past { last: &*floor, before: &*floor_before }.map(|picture| &picture.planes[plane]);
            let from_enhanced = Past { last: &*leaked, before: &*leaked_before }.map(|picture| &picture.planes[plane]);
            let enhanced = if of_floor { from_floor } else { from_enhanced };
            room.predict(field, Kind::ALL[plane], BySource { enhanced, floor: from_floor }, out);
        });
    }

    /// Predicts a frame that leads to another rendition, both pictures from the base-layer reference; earlier ones
    /// expire.
    pub(crate) fn predict_switch(&mut self, field: &Field, threads: usize, room: &mut [Overlap; 6]) {
        let Self { floor, predicted, predicted_floor, begins, .. } = self;
        *begins = true;
        predict_from(floor, field, threads, room, predicted);
        predicted_floor.clone_from(predicted);
    }

    /// Predicts from a shown picture by `field`, in the memory that the next frame uses first; both references stay.
    pub(crate) fn carry_on(
        &mut self,
        field: &Field,
        shown: &ViewMut<'_>,
        threads: usize,
        room: &mut [Overlap; 6],
    ) -> &Reference {
        let Self { leaked_before, predicted_floor, .. } = self;
        let from = leaked_before.planes.iter_mut().zip(&shown.planes);
        let jobs = predicted_floor.planes.iter_mut().zip(from).zip(Kind::ALL).zip(room);
        parallel::for_each(threads, jobs, |(((out, (from, shown)), kind), room)| {
            from.take_samples(shown.samples, shown.stride);
            let past = Past { last: &*from, before: &*from };
            room.predict(field, kind, BySource { enhanced: past, floor: past }, out);
        });
        predicted_floor
    }

    /// Predicts a frame from nothing.
    pub(crate) fn predict_nothing(&mut self) {
        self.begins = true;
        for plane in self.predicted.planes.iter_mut().chain(&mut self.predicted_floor.planes) {
            plane.fill(0);
        }
    }

    /// Sets the base-layer reference to its prediction plus its bytes of the residual.
    pub(crate) fn advance_floor(&mut self, residual: &Planes420<i16>, threads: usize) {
        std::mem::swap(&mut self.floor, &mut self.floor_before);
        sum(&mut self.floor, &self.predicted_floor, residual, threads);
    }

    /// Sets the enhancement reference to its prediction plus its bytes of the residual.
    pub(crate) fn advance_enhanced(&mut self, residual: &Planes420<i16>, threads: usize) {
        sum(&mut self.enhanced, &self.predicted, residual, threads);
    }
}

/// Predicts every block from one picture alone.
pub(super) fn predict_from(
    from: &Reference,
    field: &Field,
    threads: usize,
    room: &mut [Overlap; 6],
    out: &mut Reference,
) {
    let jobs = out.planes.iter_mut().zip(&from.planes).zip(Kind::ALL).zip(room);
    parallel::for_each(threads, jobs, |(((out, from), kind), room): (((&mut Plane, _), _), &mut Overlap)| {
        let past = Past { last: from, before: from };
        room.predict(field, kind, BySource { enhanced: past, floor: past }, out);
    });
}

/// Sets `out` to the sum of a prediction and a residual.
pub(super) fn sum(out: &mut Reference, predicted: &Reference, residual: &Planes420<i16>, threads: usize) {
    let planes = out.planes.iter_mut().zip(&predicted.planes).zip(residual.planes());
    parallel::for_each(threads, planes, |((out, predicted), residual): ((&mut Plane, _), _)| {
        out.sum_of(predicted, residual, LEAST..=GREATEST);
    });
}
