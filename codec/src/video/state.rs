//! The two pictures that frames are predicted from, and how a frame moves them on (spec, "Floor and loop").
//!
//! Prior art: two prefixes of one embedded residual for two references are those of progressive fine granularity
//! scalability (Wu, Li and Zhang, "A framework for efficient progressive fine granularity scalable video coding", IEEE
//! Trans. Circuits and Systems for Video Technology 11(3), 2001). Here the loop leaks towards the floor, and blocks leave
//! it in turn.

use crate::motion::field::Field;
use crate::motion::overlap::{Kind, Overlap};
use crate::motion::reference::{GREATEST, LEAST, Plane, Reference};
use crate::parallel;
use crate::picture::{Size, ViewMut};
use crate::residual::planes::Planes420;

/// Floor, loop, and what the frame at hand is predicted to be.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) size: Size,
    pub(crate) floor: Reference,
    pub(crate) closed: Reference,
    /// The loop after its leak.
    leaked: Reference,
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
            closed: grey.clone(),
            leaked: grey.clone(),
            predicted_floor: grey.clone(),
            predicted: grey,
        }
    }

    /// The loop, moved by a 32nd of its distance towards the floor: what blocks of the loop are predicted from.
    pub(crate) fn leak(&mut self, threads: usize) -> (&Reference, &Reference) {
        let planes = self.leaked.planes.iter_mut().zip(&self.closed.planes).zip(&self.floor.planes);
        parallel::for_each(threads, planes, |((leaked, closed), floor)| leaked.leak(closed, floor));
        (&self.leaked, &self.floor)
    }

    /// Predicts a frame, behind [`State::leak`].
    pub(crate) fn predict(&mut self, field: &Field, threads: usize, room: &mut [Overlap; 6]) {
        let Self { floor, leaked, predicted, predicted_floor, .. } = self;
        let closed = predicted.planes.iter_mut().zip(&leaked.planes).zip(&floor.planes);
        let open = predicted_floor.planes.iter_mut().zip(&floor.planes).zip(&floor.planes);
        let jobs = closed.chain(open).zip(Kind::ALL.into_iter().cycle()).zip(room);
        parallel::for_each(threads, jobs, |((((out, from_loop), from_floor), kind), room)| {
            room.predict(field, kind, from_loop, from_floor, out);
        });
    }

    /// What `field` makes of a shown picture, in the room that the next frame begins with: floor and loop stay.
    pub(crate) fn carry_on(
        &mut self,
        field: &Field,
        shown: &ViewMut<'_>,
        threads: usize,
        room: &mut [Overlap; 6],
    ) -> &Reference {
        let Self { leaked, predicted_floor, .. } = self;
        let from = leaked.planes.iter_mut().zip(&shown.planes);
        let jobs = predicted_floor.planes.iter_mut().zip(from).zip(Kind::ALL).zip(room);
        parallel::for_each(threads, jobs, |(((out, (from, shown)), kind), room)| {
            from.take_samples(shown.samples, shown.stride);
            room.predict(field, kind, from, from, out);
        });
        predicted_floor
    }

    /// Predicts a frame from nothing.
    pub(crate) fn predict_nothing(&mut self) {
        for plane in self.predicted.planes.iter_mut().chain(&mut self.predicted_floor.planes) {
            plane.fill(0);
        }
    }

    /// Makes the floor of what its bytes of the residual give.
    pub(crate) fn advance_floor(&mut self, residual: &Planes420<i16>, threads: usize) {
        sum(&mut self.floor, &self.predicted_floor, residual, threads);
    }

    /// Makes the loop of what its bytes of the residual give.
    pub(crate) fn advance_loop(&mut self, residual: &Planes420<i16>, threads: usize) {
        sum(&mut self.closed, &self.predicted, residual, threads);
    }
}

fn sum(out: &mut Reference, predicted: &Reference, residual: &Planes420<i16>, threads: usize) {
    let planes = out.planes.iter_mut().zip(&predicted.planes).zip(residual.planes());
    parallel::for_each(threads, planes, |((out, predicted), residual): ((&mut Plane, _), _)| {
        out.sum_of(predicted, residual, LEAST..=GREATEST);
    });
}
