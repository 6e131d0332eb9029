//! Memory that is used again: the next picture reuses the memory of the one before.

use std::sync::{Mutex, PoisonError};

/// Arrays of numbers that are free to be lent.
#[derive(Debug, Default)]
pub(crate) struct Scratch<T = f32>(Mutex<Vec<Vec<T>>>);

impl<T: Copy + Default> Scratch<T> {
    /// Lends an array of `count` numbers to `work`; their values are arbitrary.
    pub(crate) fn lend<R>(&self, count: usize, work: impl FnOnce(&mut [T]) -> R) -> R {
        let free = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut numbers = {
            let mut free = free();
            // The shortest that is long enough, else the longest.
            let best = (0..free.len()).min_by_key(|&at| (free[at].len() < count, free[at].len().abs_diff(count)));
            best.map_or_else(Vec::new, |at| free.swap_remove(at))
        };
        if numbers.len() < count {
            numbers = vec![T::default(); count];
        }
        let result = work(&mut numbers[..count]);
        free().push(numbers);
        result
    }
}

/// An array of numbers from which parts are taken.
pub(crate) struct Arena<'a, T = f32>(pub(crate) &'a mut [T]);

impl<'a, T> Arena<'a, T> {
    /// # Panics
    /// If fewer than `count` are left.
    pub(crate) fn take(&mut self, count: usize) -> &'a mut [T] {
        self.0.split_off_mut(..count).expect("whoever lent the arena counted what is taken")
    }
}
