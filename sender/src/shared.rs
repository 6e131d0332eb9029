//! State that all feeds of a broadcast share.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use nestcast_proto::{Archive, Bitrate, Close, Code, Demand, Hello, Offer, Sound, Welcome};
use tokio::sync::{Semaphore, watch};

use crate::access::{self, AccessRequest, Authorizer, Grant};
use crate::door::slots::{Place, Slots};
use crate::figures::statistics::Counters;
use crate::frames::fanout::FrameReceiver;
use crate::frames::recorded_frames::RecordedFrames;
use crate::frames::sound::{SoundFanout, SoundReceiver};

/// State that all feeds share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) offer: Arc<Offer>,
    pub(crate) authorizers: Vec<Arc<dyn Authorizer>>,
    /// The most bits a second for each receiver.
    pub(crate) max_bitrate: Option<Bitrate>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) demand: Demand,
    pub(crate) slots: Arc<Slots>,
    /// Empty if the offer has no sound.
    pub(crate) sound: SoundFanout,
    /// Why the frames ended; set when they have.
    pub(crate) end: OnceLock<Close>,
    /// Whether feeds must end even if part of the last frame is unsent.
    pub(crate) cut_off: Arc<watch::Sender<bool>>,
    /// The origins of pages that may watch; if empty, pages of any origin may.
    pub(crate) origins: Vec<String>,
    /// Where receivers may begin elsewhere.
    pub(crate) elsewhere: Option<Elsewhere>,
    /// The broadcast of which this is a part for one receiver.
    pub(crate) parent: Option<Arc<Self>>,
}

/// Where receivers may begin elsewhere.
#[derive(Debug, Clone)]
pub(crate) struct Elsewhere {
    pub(crate) archive: Arc<dyn Archive>,
    /// One receiver opens it at a time: those that begin all the time cost one core, and no more.
    pub(crate) turn: Arc<Semaphore>,
}

impl Elsewhere {
    pub(crate) fn new(archive: Arc<dyn Archive>) -> Self {
        Self { archive, turn: Arc::new(Semaphore::new(1)) }
    }
}

/// The close of a broadcast that ends normally.
pub(crate) const BROADCAST_DONE: Close = Close { code: Code::Done, why: "the broadcast ended" };

impl Shared {
    /// Returns what feeds tell receivers when there are no more frames.
    pub(crate) fn end(&self) -> Close {
        let parent = || self.parent.as_ref().map(|parent| parent.end());
        let failed = Close { code: Code::Failed, why: "the sender failed" };
        self.end.get().copied().or_else(parent).unwrap_or(failed)
    }

    /// Decides whether a receiver may watch, and takes a place for it. It does so between hello and welcome, so that a
    /// peer without a hello or without the right token takes none. `is_there` says whether the sender has the broadcast.
    pub(crate) async fn admit(
        &self,
        address: SocketAddr,
        hello: Hello,
        is_there: bool,
    ) -> Result<(Place, Grant), Close> {
        let full = Close { code: Code::Full, why: "all places are taken" };
        // First, because a token may admit once.
        if !self.slots.has_room(address) {
            return Err(full);
        }
        let request =
            AccessRequest { is_there, ..AccessRequest::new(address, hello.token, hello.max_bitrate, hello.broadcast) };
        let limit = Grant { name: None, max_bitrate: self.max_bitrate };
        let grant = access::decide(&self.authorizers, &request).await?.join(limit);
        Ok((self.slots.take(address).ok_or(full)?, grant))
    }

    /// Waits until all feeds must end.
    pub(crate) async fn is_cut_off(&self) {
        // It fails only if the watch sender is dropped, and `self` holds it.
        let _ = self.cut_off.subscribe().wait_for(|cut_off| *cut_off).await;
    }
}

/// A broadcast, as its feeds and local consumers see it.
#[derive(Debug, Clone)]
pub struct Station {
    pub(crate) shared: Arc<Shared>,
    pub(crate) frames: FrameReceiver,
}

impl Station {
    /// Returns what receivers learn of the frames before the first.
    #[must_use]
    pub fn welcome(&self) -> Welcome {
        self.shared.offer.welcome.clone()
    }

    /// Returns the sound that is announced, and subscribes to its packets; `None` if the broadcast has none.
    #[must_use]
    pub fn sound(&self) -> Option<(Sound, SoundReceiver)> {
        Some((self.shared.offer.sound?, self.shared.sound.subscribe()))
    }

    /// Returns whether receivers may begin elsewhere: at another place of a stored video, or earlier.
    #[must_use]
    pub fn can_rewind(&self) -> bool {
        self.shared.elsewhere.is_some()
    }

    /// Subscribes a local consumer, such as a relay. From the newest frame on, it gets every frame that receivers get,
    /// until the broadcast ends.
    #[must_use]
    pub fn frames(&self) -> FrameReceiver {
        self.frames.clone()
    }

    /// Returns the frames as a recorder keeps them, from the first or the newest on: all bytes of the rendition that has
    /// the most.
    #[must_use]
    pub fn recorded_frames(&self) -> RecordedFrames {
        RecordedFrames::new(self.frames.clone(), self.shared.demand.register())
    }

    /// Returns what receivers want, as the source sees it. If a consumer of [`frames`](Self::frames) wants frames made
    /// for it too, [register](Demand::register) it and state what it wants after each frame.
    #[must_use]
    pub fn demand(&self) -> Demand {
        self.shared.demand.clone()
    }
}
