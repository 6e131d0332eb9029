//! The reference pictures, and their update by a frame (spec, "Base-layer and enhancement references").
//!
//! Prior art: progressive fine granularity scalability makes two references from two prefixes of one embedded residual
//! (Wu, Li and Zhang, "A framework for efficient progressive fine granularity scalable video coding", IEEE Trans.
//! Circuits and Systems for Video Technology 11(3), 2001). Here the enhancement reference (there: the high-quality
//! reference) leaks towards the base-layer reference (the low-quality one), and blocks leave it in turn.

use crate::motion::field::Field;
use crate::motion::overlap::{Kind, Overlap};
use crate::motion::reference::{BySource, GREATEST, LEAST, Past, Plane, Reference};
use crate::parallel::{self, Threads};
use crate::picture::{Size, ViewMut};
use crate::residual::planes::Planes420;

/// Both references, and the prediction of the current frame.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) size: Size,
    pub(crate) base_reference: Reference,
    pub(crate) enhancement_reference: Reference,
    /// The enhancement reference after its leak.
    leaked: Reference,
    /// Both references as they were for the frame before.
    leaked_before: Reference,
    base_reference_before: Reference,
    /// Whether the last frame has no pictures before it.
    pub(super) begins: bool,
    predicted_base_reference: Reference,
    /// Also the prediction of the shown frame.
    pub(crate) predicted: Reference,
}

impl State {
    /// Begins with grey pictures.
    pub(crate) fn new(size: Size) -> Self {
        let grey = Reference::new(size);
        Self {
            size,
            base_reference: grey.clone(),
            enhancement_reference: grey.clone(),
            leaked: grey.clone(),
            leaked_before: grey.clone(),
            base_reference_before: grey.clone(),
            begins: true,
            predicted_base_reference: grey.clone(),
            predicted: grey,
        }
    }

    /// Moves the enhancement reference by a 32nd of its distance towards the base-layer one, and returns all
    /// references.
    pub(crate) fn leak(&mut self, threads: &Threads) -> BySource<Past<&Reference>> {
        std::mem::swap(&mut self.leaked, &mut self.leaked_before);
        let planes =
            self.leaked.planes.iter_mut().zip(&self.enhancement_reference.planes).zip(&self.base_reference.planes);
        parallel::for_each(threads, planes, |((leaked, enhancement_reference), base_reference)| {
            leaked.leak(enhancement_reference, base_reference)
        });
        if std::mem::take(&mut self.begins) {
            self.leaked_before.clone_from(&self.leaked);
            self.base_reference_before.clone_from(&self.base_reference);
        }
        BySource {
            enhancement_reference: Past { last: &self.leaked, before: &self.leaked_before },
            base_reference: Past { last: &self.base_reference, before: &self.base_reference_before },
        }
    }

    /// Predicts a frame, after [`State::leak`].
    pub(crate) fn predict(&mut self, field: &Field, threads: &Threads, room: &mut [Overlap; 6]) {
        let Self {
            base_reference,
            leaked,
            leaked_before,
            base_reference_before,
            predicted,
            predicted_base_reference,
            ..
        } = self;
        let outs = predicted.planes.iter_mut().chain(&mut predicted_base_reference.planes).zip(room);
        parallel::for_each(threads, outs.enumerate(), |(job, (out, room)): (usize, (&mut Plane, &mut Overlap))| {
            let plane = job % 3;
            let of_base_reference = job >= 3;
            let from_base_reference =
                Past { last: &*base_reference, before: &*base_reference_before }.map(|picture| &picture.planes[plane]);
            let from_enhancement_reference =
                Past { last: &*leaked, before: &*leaked_before }.map(|picture| &picture.planes[plane]);
            let enhancement_reference =
                if of_base_reference { from_base_reference } else { from_enhancement_reference };
            room.predict(
                field,
                Kind::ALL[plane],
                BySource { enhancement_reference, base_reference: from_base_reference },
                out,
            );
        });
    }

    /// Predicts a frame that leads to another rendition, both pictures from the base-layer reference; earlier ones
    /// expire.
    pub(crate) fn predict_switch(&mut self, field: &Field, threads: &Threads, room: &mut [Overlap; 6]) {
        let Self { base_reference, predicted, predicted_base_reference, begins, .. } = self;
        *begins = true;
        predict_from(base_reference, field, threads, room, predicted);
        predicted_base_reference.clone_from(predicted);
    }

    /// Predicts from a shown picture by `field`, in the memory that the next frame uses first; both references stay.
    pub(crate) fn carry_on(
        &mut self,
        field: &Field,
        shown: &ViewMut<'_>,
        threads: &Threads,
        room: &mut [Overlap; 6],
    ) -> &Reference {
        let Self { leaked_before, predicted_base_reference, .. } = self;
        let from = leaked_before.planes.iter_mut().zip(&shown.planes);
        let jobs = predicted_base_reference.planes.iter_mut().zip(from).zip(Kind::ALL).zip(room);
        parallel::for_each(threads, jobs, |(((out, (from, shown)), kind), room)| {
            from.take_samples(shown.samples, shown.stride);
            let past = Past { last: &*from, before: &*from };
            room.predict(field, kind, BySource { enhancement_reference: past, base_reference: past }, out);
        });
        predicted_base_reference
    }

    /// Predicts a frame from nothing.
    pub(crate) fn predict_nothing(&mut self) {
        self.begins = true;
        for plane in self.predicted.planes.iter_mut().chain(&mut self.predicted_base_reference.planes) {
            plane.fill(0);
        }
    }

    /// Sets the base-layer reference to its prediction plus its bytes of the residual.
    pub(crate) fn advance_base_reference(&mut self, residual: &Planes420<i16>, threads: &Threads) {
        std::mem::swap(&mut self.base_reference, &mut self.base_reference_before);
        sum(&mut self.base_reference, &self.predicted_base_reference, residual, threads);
    }

    /// Sets the enhancement reference to its prediction plus its bytes of the residual.
    pub(crate) fn advance_enhancement_reference(&mut self, residual: &Planes420<i16>, threads: &Threads) {
        sum(&mut self.enhancement_reference, &self.predicted, residual, threads);
    }
}

/// Predicts every block from one picture alone.
pub(super) fn predict_from(
    from: &Reference,
    field: &Field,
    threads: &Threads,
    room: &mut [Overlap; 6],
    out: &mut Reference,
) {
    let jobs = out.planes.iter_mut().zip(&from.planes).zip(Kind::ALL).zip(room);
    parallel::for_each(threads, jobs, |(((out, from), kind), room): (((&mut Plane, _), _), &mut Overlap)| {
        let past = Past { last: from, before: from };
        room.predict(field, kind, BySource { enhancement_reference: past, base_reference: past }, out);
    });
}

/// Sets `out` to the sum of a prediction and a residual.
pub(super) fn sum(out: &mut Reference, predicted: &Reference, residual: &Planes420<i16>, threads: &Threads) {
    let planes = out.planes.iter_mut().zip(&predicted.planes).zip(residual.planes());
    parallel::for_each(threads, planes, |((out, predicted), residual): ((&mut Plane, _), _)| {
        out.sum_of(predicted, residual, LEAST..=GREATEST);
    });
}
