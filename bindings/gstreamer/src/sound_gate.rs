//! Waits for moments of the pipeline's clock on a pad of its own, until a pause, a flush or the end interrupts it.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use gst::prelude::*;

/// Where the thread of a pad waits.
#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    is_playing: bool,
    is_open: bool,
    waiting: Option<gst::SingleShotClockId>,
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        // A thread that waits for the clock looks again.
        state.waiting.take().inspect(|id| id.unschedule());
        self.changed.notify_all();
    }

    /// Lets threads wait, or turns them away.
    pub(crate) fn set_open(&self, is_open: bool) {
        self.change(|state| state.is_open = is_open);
    }

    /// Says whether the pipeline plays. While it does not, threads wait for that.
    pub(crate) fn set_playing(&self, is_playing: bool) {
        self.change(|state| state.is_playing = is_playing);
    }

    /// Waits until the element plays and its running time is `until`.
    ///
    /// # Errors
    /// [`gst::FlowError::Flushing`] if the gate is closed, or is closed meanwhile.
    pub(crate) fn wait(&self, element: &gst::Element, until: gst::ClockTime) -> Result<(), gst::FlowError> {
        loop {
            let id = {
                let mut state = self.lock();
                while state.is_open && !state.is_playing {
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                if !state.is_open {
                    return Err(gst::FlowError::Flushing);
                }
                // A pipeline without a clock does not wait.
                let Some((clock, base)) = element.clock().zip(element.base_time()) else { return Ok(()) };
                let id = clock.new_single_shot_id(base + until);
                state.waiting = Some(id.clone());
                id
            };
            let (outcome, _) = id.wait();
            self.lock().waiting = None;
            if outcome != Err(gst::ClockError::Unscheduled) {
                return Ok(());
            }
        }
    }
}
