//! The pictures that frames are predicted from, and how a frame moves them on (spec, "Floor and enhanced picture").
//!
//! Prior art: two prefixes of one embedded residual for two references are those of progressive fine granularity
//! scalability (Wu, Li and Zhang, "A framework for efficient progressive fine granularity scalable video coding", IEEE
//! Trans. Circuits and Systems for Video Technology 11(3), 2001). Here the enhanced picture (there: the high-quality
//! reference) leaks towards the floor (the low-quality one), and blocks leave it in turn.

use crate::motion::field::Field;
use crate::motion::overlap::{Kind, Overlap};
use crate::motion::reference::{BySource, GREATEST, LEAST, Past, Plane, Reference};
use crate::parallel;
use crate::picture::{Size, ViewMut};
use crate::residual::planes::Planes420;

/// Floor, enhanced picture, and what the frame at hand is predicted to be.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) size: Size,
    pub(crate) floor: Reference,
    pub(crate) enhanced: Reference,
    /// The enhanced picture after its leak.
    leaked: Reference,
    /// What both were for the frame before.
    leaked_before: Reference,
    floor_before: Reference,
    /// Nothing was before the last frame.
    pub(super) begins: bool,
    predicted_floor: Reference,
    /// Also what a shown frame is made of.
    pub(crate) predicted: Reference,
}

impl State {
    /// Grey pictures.
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

    /// Moves the enhanced picture by a 32nd of its distance towards the floor: that is what its blocks are predicted from.
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

    /// Predicts a frame, behind [`State::leak`].
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

    /// Predicts a frame that leads to another loop, both pictures from the floor; what was before it counts no more.
    pub(crate) fn predict_switch(&mut self, field: &Field, threads: usize, room: &mut [Overlap; 6]) {
        let Self { floor, predicted, predicted_floor, begins, .. } = self;
        *begins = true;
        predict_from(floor, field, threads, room, predicted);
        predicted_floor.clone_from(predicted);
    }

    /// What `field` makes of a shown picture, in the room that the next frame begins with: floor and enhanced picture stay.
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

    /// Makes the floor of what its bytes of the residual give.
    pub(crate) fn advance_floor(&mut self, residual: &Planes420<i16>, threads: usize) {
        std::mem::swap(&mut self.floor, &mut self.floor_before);
        sum(&mut self.floor, &self.predicted_floor, residual, threads);
    }

    /// Makes the enhanced picture of what its bytes of the residual give.
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

/// Makes `out` a prediction and what a residual adds to it.
pub(super) fn sum(out: &mut Reference, predicted: &Reference, residual: &Planes420<i16>, threads: usize) {
    let planes = out.planes.iter_mut().zip(&predicted.planes).zip(residual.planes());
    parallel::for_each(threads, planes, |((out, predicted), residual): ((&mut Plane, _), _)| {
        out.sum_of(predicted, residual, LEAST..=GREATEST);
    });
}
