//! Frames between decoding and display: the last decoded one, which is drawn when it is shown, and pictures of earlier
//! ones that wait for their moment.

use std::collections::VecDeque;
use std::time::Duration;

use nestcast_codec::Picture;

/// The most bytes of pictures that wait to be shown. If there is no room for another one, the oldest is shown early.
const MAX_WAITING_BYTES: usize = 67_108_864;
/// This many pictures may wait whatever their size.
const LEAST_LIMIT: usize = 8;
/// No more pictures than these wait, however small they are.
const GREATEST_LIMIT: usize = 64;

/// A decoded frame, as [`Present::Show`](crate::Present::Show) describes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decoded {
    pub(crate) id: u64,
    pub(crate) captured: u64,
    pub(crate) bytes: usize,
    pub(crate) full: u64,
    pub(crate) receiving: Duration,
    /// Whether it has not been shown yet.
    pub(crate) is_new: bool,
    /// Whether to show it.
    pub(crate) is_due: bool,
    /// When it was ready, and when to present it; `None` until the caller says how late it is after decoding.
    pub(crate) timing: Option<Timing>,
}

/// When a frame was ready, and when to present it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    pub(crate) ready: Duration,
    pub(crate) at: Duration,
    pub(crate) is_late: bool,
}

/// Pictures that wait to be shown, in order.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    pictures: VecDeque<(Decoded, Picture)>,
    /// Pictures for reuse.
    spares: Vec<Picture>,
}

impl Waiting {
    /// Returns when to show the next picture.
    pub(crate) fn at(&self) -> Option<Duration> {
        let (first, picture) = self.pictures.front()?;
        Some(if self.is_full(picture) {
            Duration::ZERO
        } else {
            first.timing.map_or(Duration::ZERO, |timing| timing.at)
        })
    }

    /// Adds a picture after all others. If there is no room, the oldest is not shown any more.
    pub(crate) fn push(&mut self, frame: Decoded, picture: Picture) {
        if self.is_full(&picture)
            && let Some((_, oldest)) = self.pictures.pop_front()
        {
            self.reuse(oldest);
        }
        self.pictures.push_back((frame, picture));
    }

    /// Takes the newest picture that is due. Earlier ones are not shown any more.
    pub(crate) fn take(&mut self, now: Duration) -> Option<(Decoded, Picture)> {
        let mut newest = None;
        while self.at().is_some_and(|at| at <= now)
            && let Some(due) = self.pictures.pop_front()
        {
            if let Some((_, picture)) = newest.replace(due) {
                self.reuse(picture);
            }
        }
        newest
    }

    /// Returns whether there is no room for another picture like this one.
    fn is_full(&self, picture: &Picture) -> bool {
        let most = MAX_WAITING_BYTES / picture.samples().len().max(1);
        self.pictures.len() >= most.clamp(LEAST_LIMIT, GREATEST_LIMIT)
    }

    /// Returns a picture to draw into, if there is one.
    pub(crate) fn spare(&mut self) -> Option<Picture> {
        self.spares.pop()
    }

    /// Keeps a picture that was shown, to draw into it.
    pub(crate) fn reuse(&mut self, picture: Picture) {
        if self.spares.len() <= LEAST_LIMIT {
            self.spares.push(picture);
        }
    }
}

impl Decoded {
    /// Returns when to present it: at once if it is shown already and more of it arrived.
    pub(crate) fn presented_at(&self) -> Duration {
        self.timing.filter(|_| self.is_new).map_or(Duration::ZERO, |timing| timing.at)
    }
}
