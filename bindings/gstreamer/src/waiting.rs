//! What waits between a reception and the thread of a pad: the newest, so that no delay grows.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Items that a pipeline has not taken yet.
pub(crate) struct Waiting<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    /// The most items that wait. A pipeline that is slower misses the oldest.
    max: usize,
}

struct State<T> {
    items: VecDeque<T>,
    /// Items that were dropped since the pipeline took one, because it was slow.
    dropped: u64,
    is_interrupted: bool,
    /// Set at the end, with what went wrong.
    end: Option<Option<String>>,
}

/// What a call that waits for an item gets.
pub(crate) enum Next<T> {
    Item {
        item: T,
        /// Items that were dropped before this one, because the pipeline was slow.
        dropped: u64,
    },
    Interrupted,
    End,
    Failed(String),
}

impl<T> Waiting<T> {
    pub(crate) fn new(max: usize) -> Self {
        let state = State { items: VecDeque::new(), dropped: 0, is_interrupted: false, end: None };
        Self { state: Mutex::new(state), changed: Condvar::new(), max }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, item: T) {
        let mut state = self.lock();
        if state.items.len() == self.max {
            state.items.pop_front();
            state.dropped += 1;
        }
        state.items.push_back(item);
        self.changed.notify_all();
    }

    /// Says that nothing more comes, and what went wrong if something did. The first call counts.
    pub(crate) fn end(&self, error: Option<String>) {
        self.lock().end.get_or_insert(error);
        self.changed.notify_all();
    }

    /// Waits for the next item.
    pub(crate) fn next(&self) -> Next<T> {
        let mut state = self.lock();
        loop {
            if state.is_interrupted {
                return Next::Interrupted;
            }
            if let Some(item) = state.items.pop_front() {
                return Next::Item { item, dropped: std::mem::take(&mut state.dropped) };
            }
            match &state.end {
                Some(Some(why)) => return Next::Failed(why.clone()),
                Some(None) => return Next::End,
                None => {}
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Interrupts calls that wait.
    pub(crate) fn interrupt(&self) {
        self.lock().is_interrupted = true;
        self.changed.notify_all();
    }

    /// Lets calls wait again. Items of before the interruption are of no use.
    pub(crate) fn resume(&self) {
        let mut state = self.lock();
        state.items.clear();
        state.is_interrupted = false;
    }
}
