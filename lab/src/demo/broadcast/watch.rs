//! Who looks at a broadcast for the demo: notes what comes, and keeps some of the pictures.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nestcast_codec::{Decoder, Picture};
use nestcast_models::Package;
use nestcast_receiver::{Announcement, Decoding, Shown, Totals, Viewer};

use crate::clip::Clip;
use crate::metrics;

/// A frame that was shown.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) id: u64,
    pub(super) bytes: usize,
    /// From the moment it was due at the sender to its picture.
    pub(super) latency: Duration,
    pub(super) psnr: f64,
    /// Kept for the moments that the page shows.
    pub(super) picture: Option<Picture>,
}

/// What one receiver noted so far.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) seen: Vec<Seen>,
    pub(super) totals: Totals,
}

/// Notes that are being taken.
pub(super) type Notebook = Arc<Mutex<Notes>>;

/// What is noted by now; whoever panicked left it whole.
pub(super) fn open(notebook: &Notebook) -> MutexGuard<'_, Notes> {
    notebook.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes notes.
pub(super) struct Watcher {
    pub(super) clip: Arc<Clip>,
    pub(super) package: Package,
    /// Whether a frame's picture is kept.
    pub(super) keep: fn(&Clip, u64) -> bool,
    pub(super) notebook: Notebook,
}

impl Viewer for Watcher {
    type Error = Infallible;

    fn handle_announcement(&mut self, _announced: &Announcement) -> Result<Option<Decoding>, Infallible> {
        Ok(Some(Decoding::new(Decoder::new(self.package.linear(1)))))
    }

    fn show(&mut self, shown: &Shown<'_>) -> Result<(), Infallible> {
        let psnr = metrics::psnr(self.clip.at(shown.id), shown.picture);
        let picture = (self.keep)(&self.clip, shown.id).then(|| shown.picture.clone());
        let seen = Seen { id: shown.id, bytes: shown.bytes, latency: shown.latency, psnr, picture };
        open(&self.notebook).seen.push(seen);
        Ok(())
    }

    fn report(&mut self, totals: &Totals) -> Result<(), Infallible> {
        open(&self.notebook).totals = *totals;
        Ok(())
    }
}
