//! What all of a broadcast's feeds share.

use std::sync::{Arc, OnceLock};

use nestcast_proto::{Close, Code, Demand, Offer};
use tokio::sync::watch;

use crate::door::places::Places;
use crate::figures::statistics::Counters;

/// What all feeds share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) offer: Arc<Offer>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) demand: Demand,
    pub(crate) places: Arc<Places>,
    /// Why there are no more frames, once there are none.
    pub(crate) end: OnceLock<Close>,
    /// Whether feeds must end though something of the last frame is unsent.
    pub(crate) cut_off: watch::Sender<bool>,
    /// The origins of pages that may watch; if there are none, pages of any origin may.
    pub(crate) origins: Vec<String>,
}

/// How a broadcast ends well.
pub(crate) const DONE: Close = Close { code: Code::Done, why: "the broadcast ended" };

impl Shared {
    /// What receivers are told when there are no more frames.
    pub(crate) fn end(&self) -> Close {
        self.end.get().copied().unwrap_or(Close { code: Code::Failed, why: "the sender failed" })
    }

    /// Waits until feeds must end.
    pub(crate) async fn is_cut_off(&self) {
        // It fails only once nobody can cut off any more, which is held here.
        let _ = self.cut_off.subscribe().wait_for(|cut_off| *cut_off).await;
    }
}
