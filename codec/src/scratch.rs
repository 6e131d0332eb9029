//! Memory that is used again: what one picture took serves the next.

use std::sync::{Mutex, PoisonError};

/// Arrays of floats that wait to be lent.
#[derive(Debug, Default)]
pub(crate) struct Scratch(Mutex<Vec<Vec<f32>>>);

impl Scratch {
    /// Lends `count` floats of any values to `work`.
    pub(crate) fn lend<R>(&self, count: usize, work: impl FnOnce(&mut [f32]) -> R) -> R {
        let free = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut floats = {
            let mut free = free();
            // The shortest that is long enough, else the longest.
            let best = (0..free.len()).min_by_key(|&at| (free[at].len() < count, free[at].len().abs_diff(count)));
            best.map_or_else(Vec::new, |at| free.swap_remove(at))
        };
        if floats.len() < count {
            floats = vec![0.0; count];
        }
        let result = work(&mut floats[..count]);
        free().push(floats);
        result
    }
}

/// One array of floats, of which parts are taken.
pub(crate) struct Arena<'a>(pub(crate) &'a mut [f32]);

impl<'a> Arena<'a> {
    /// # Panics
    /// If there are not so many left.
    pub(crate) fn take(&mut self, count: usize) -> &'a mut [f32] {
        self.0.split_off_mut(..count).expect("whoever lent the arena counted what is taken")
    }
}
