//! The last frames, whose bases are sent again where a fall of the path's rate may have lost them.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use crate::bases;
use crate::estimator::Path;
use crate::frame::Frame;
use crate::limits::MAX_OPEN_FRAMES;

/// Frames that are on their way to one receiver.
#[derive(Debug)]
pub(crate) struct Recent {
    interval: Duration,
    /// With the moments at which they were due.
    frames: VecDeque<(Duration, Frame)>,
    /// Falls of the path's rate that were answered.
    falls: u64,
}

impl Recent {
    pub(crate) const fn new(interval: Duration) -> Self {
        Self { interval, frames: VecDeque::new(), falls: 0 }
    }

    /// A frame is due.
    pub(crate) fn handle_frame(&mut self, now: Duration, frame: &Frame) {
        if self.frames.len() == MAX_OPEN_FRAMES {
            self.frames.pop_front();
        }
        self.frames.push_back((now, frame.clone()));
    }

    /// If the path's rate fell: what carries the bases again of all frames that were sent since then and shortly before, when
    /// those packets left that the fall met on the way.
    pub(crate) fn handle_path(&mut self, now: Duration, path: &Path) -> Option<Bytes> {
        if std::mem::replace(&mut self.falls, path.falls) == path.falls {
            return None;
        }
        let since = now.saturating_sub(path.rtt + 2 * self.interval);
        let on_the_way = self.frames.iter().filter(|(due, _)| *due >= since).map(|(_, frame)| frame);
        let mut on_the_way = on_the_way.peekable();
        on_the_way.peek()?;
        Some(bases::encode(on_the_way))
    }
}
