//! The broadcasts at an address, and the one that a receiver chose.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use nestcast_proto::{BroadcastName, Close, Code, DemandEntry, Hello, Start};
use tokio::sync::Semaphore;

use crate::access::Grant;
use crate::door::slots::Place;
use crate::frames::fanout::FrameReceiver;
use crate::rewound::{self, Playing, Rewound};
use crate::shared::{Shared, Station};

/// All broadcasts of a sender, at least one.
#[derive(Debug, Clone)]
pub(crate) struct Directory {
    /// The one that counts peers which have not said yet what they want.
    pub(crate) first: BroadcastName,
    pub(crate) stations: BTreeMap<BroadcastName, Station>,
    /// The places of receivers that begin elsewhere.
    pub(crate) rewound: Arc<Semaphore>,
}

impl Directory {
    pub(crate) fn first(&self) -> &Station {
        &self.stations[&self.first]
    }

    /// Waits until no broadcast has further frames, for all receivers.
    pub(crate) async fn ended(&self) {
        for station in self.stations.values() {
            station.frames.clone().ended().await;
        }
        // It fails only if the semaphore is closed, and it never is.
        let all = u32::try_from(MAX_REWOUND).unwrap_or(u32::MAX);
        let _ = self.rewound.acquire_many(all).await;
    }
}

/// The most receivers that begin elsewhere at once: each has a thread, and reads frames of its own.
pub(crate) const MAX_REWOUND: usize = 64;

/// The broadcast that a receiver asked for; the first one before that.
#[derive(Debug)]
pub(crate) struct Chosen<'a> {
    directory: &'a Directory,
    station: &'a Station,
    /// States what the receiver wants of the broadcast that it gets.
    pub(crate) entry: DemandEntry,
    /// The receiver's number in the figures of the broadcast, also if it begins elsewhere.
    pub(crate) number: u64,
    /// Where it asked to begin.
    start: Option<Start>,
    /// The broadcast of its own, if it begins elsewhere.
    own: Option<Own>,
}

/// A broadcast for one receiver.
#[derive(Debug)]
struct Own {
    shared: Arc<Shared>,
    /// Its frames from the first on, until they are taken.
    frames: Option<FrameReceiver>,
    /// Hands them out.
    _playing: Playing,
}

impl<'a> Chosen<'a> {
    pub(crate) fn new(directory: &'a Directory, entry: DemandEntry) -> Self {
        Self { directory, station: directory.first(), number: entry.receiver(), entry, start: None, own: None }
    }

    pub(crate) fn shared(&self) -> Arc<Shared> {
        Arc::clone(self.own.as_ref().map_or(&self.station.shared, |own| &own.shared))
    }

    /// Returns the frames: from the newest on, or of a receiver that begins elsewhere from its first.
    pub(crate) fn frames(&mut self) -> FrameReceiver {
        let own = self.own.as_mut().and_then(|own| own.frames.take());
        own.unwrap_or_else(|| self.station.frames.clone())
    }

    /// Admits a receiver to the broadcast that it asks for.
    pub(crate) async fn admit(&mut self, address: SocketAddr, hello: Hello) -> Result<(Place, Grant), Close> {
        let chosen = self.choose(&hello.broadcast);
        self.start = hello.start;
        let (place, grant) = self.station.shared.admit(address, hello, chosen.is_ok()).await?;
        // Not before, because names would be told to peers that may not watch.
        chosen?;
        Ok((place, grant))
    }

    /// Chooses the broadcast of this name.
    fn choose(&mut self, name: &BroadcastName) -> Result<(), Close> {
        let unknown = Close { code: Code::NoBroadcast, why: "the sender has no broadcast of this name" };
        let station = self.directory.stations.get(name).ok_or(unknown)?;
        if !std::ptr::eq(station, self.station) {
            self.station = station;
            self.entry = station.shared.demand.register();
            self.number = self.entry.receiver();
        }
        Ok(())
    }

    /// Lets a receiver that was admitted begin elsewhere, if it asks for that. Returns where; `None` if it begins where all
    /// do.
    pub(crate) async fn rewind(&mut self) -> Option<Start> {
        let begun = rewound::begin(&self.station.shared, self.start?, &self.directory.rewound).await;
        let Rewound { station, start, playing } = begun?;
        self.entry = station.shared.demand.register();
        self.own = Some(Own { shared: station.shared, frames: Some(station.frames), _playing: playing });
        Some(start)
    }
}
