//! A latest-value slot between two threads: the reader gets the newest value.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The newest value that was put and not yet taken.
#[derive(Debug)]
pub(crate) struct LatestValue<T> {
    state: Mutex<State<T>>,
    news: Condvar,
}

#[derive(Debug)]
struct State<T> {
    newest: Option<T>,
    closed: bool,
}

impl<T> Default for LatestValue<T> {
    fn default() -> Self {
        Self { state: Mutex::new(State { newest: None, closed: false }), news: Condvar::new() }
    }
}

impl<T> LatestValue<T> {
    /// Replaces the value that was not taken, and returns it.
    pub(crate) fn put(&self, it: T) -> Option<T> {
        let replaced = self.state().newest.replace(it);
        self.news.notify_one();
        replaced
    }

    /// Waits for a value; returns `None` once the slot is closed and empty.
    pub(crate) fn take(&self) -> Option<T> {
        let nothing = |state: &mut State<T>| state.newest.is_none() && !state.closed;
        self.news.wait_while(self.state(), nothing).unwrap_or_else(PoisonError::into_inner).newest.take()
    }

    /// Closes the slot: a waiting reader returns.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.news.notify_all();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Closes the slot when the returned guard is dropped, however the thread ends.
    pub(crate) fn close_on_drop(&self) -> CloseOnDrop<'_, T> {
        CloseOnDrop(self)
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`LatestValue::close_on_drop`].
#[derive(Debug)]
pub(crate) struct CloseOnDrop<'a, T>(&'a LatestValue<T>);

impl<T> Drop for CloseOnDrop<'_, T> {
    fn drop(&mut self) {
        self.0.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_found_and_what_is_left_at_the_end() {
        let newest = LatestValue::default();
        assert_eq!([0, 1, 2].map(|number| newest.put(number)), [None, Some(0), Some(1)]);
        assert_eq!(newest.take(), Some(2));
        newest.put(3);
        drop(newest.close_on_drop());
        assert!(newest.is_closed());
        assert_eq!([newest.take(), newest.take()], [Some(3), None]);
    }
}
