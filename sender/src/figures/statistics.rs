//! A broadcast's figures, for people: nothing here decides anything. Frames are counted without locks.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nestcast_proto::{Bitrate, BroadcastFrame, PathStats, SendStats};

/// The figures at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Statistics {
    /// Frames that were made.
    pub frames: u64,
    /// Frames that were due but not made, because the source was late.
    pub skipped: u64,
    /// Bytes of these frames, in all renditions of video.
    pub encoded_bytes: u64,
    /// Renditions of the newest frame.
    pub renditions: u64,
    /// The time that encoding took.
    pub encode_time: Duration,
    /// Receivers that were admitted.
    pub accepted: u64,
    /// Peers refused or closed for what they did, by [`Code::name`](nestcast_proto::Code::name). `"handshake"` counts
    /// peers that do not speak nestcast or did not complete the handshake.
    pub refusals: BTreeMap<&'static str, u64>,
    /// Peers whose address was validated first, because many handshakes were in flight.
    pub retries: u64,
    /// Times that the source broke off; the first ends the broadcast.
    pub source_failures: u64,
    /// The current receivers.
    pub receivers: Vec<ReceiverStatistics>,
}

impl Statistics {
    /// Returns the number of peers refused or closed for what they did.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refusals.values().sum()
    }

    /// Returns the number of receivers of each [rendition](nestcast_proto::Rendition), by the number of their newest
    /// frame's.
    #[must_use]
    pub fn rendition_receivers(&self) -> BTreeMap<u64, u64> {
        let mut receivers = BTreeMap::new();
        let inside = self.receivers.iter().filter_map(|receiver| receiver.rendition);
        inside.for_each(|number| *receivers.entry(number).or_default() += 1);
        receivers
    }
}

/// One line: frames on air, whether they were encoded for that or stored before, and receivers served.
impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self { frames, skipped, accepted, .. }, refused) = (self, self.refused());
        write!(f, "{} on air", counted(*frames, "frame"))?;
        if *skipped > 0 {
            write!(f, ", {skipped} skipped because the encoder was busy")?;
        }
        write!(f, "; {} served, {refused} refused", counted(*accepted, "receiver"))
    }
}

fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// One receiver.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceiverStatistics {
    /// The sender's number for the receiver, unique within the broadcast.
    pub number: u64,
    /// The receiver's address.
    pub address: SocketAddr,
    /// The viewer's name, if an authorizer gave one.
    pub name: Option<Arc<str>>,
    /// The number of its newest frame's rendition; `None` if the broadcast has one at most.
    pub rendition: Option<u64>,
    /// The rate that its path delivered over the last eight frames, with all headers. It is below
    /// [`PathStats::target_rate`], the delay controller's limit, if frames are smaller than that allows.
    pub delivery_rate: Bitrate,
    /// The most bytes of the next frame that it can use.
    pub useful_bytes: u64,
    /// What the sender sent to it.
    pub sent: SendStats,
    /// Its path.
    pub path: PathStats,
}

/// The counters of [`Statistics`].
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) frames: AtomicU64,
    pub(crate) skipped: AtomicU64,
    pub(crate) encoded_bytes: AtomicU64,
    pub(crate) renditions: AtomicU64,
    pub(crate) encode_nanos: AtomicU64,
    pub(crate) accepted: AtomicU64,
    pub(crate) retries: AtomicU64,
    pub(crate) source_failures: AtomicU64,
    refusals: Mutex<BTreeMap<&'static str, u64>>,
    receivers: Mutex<BTreeMap<u64, Arc<Mutex<ReceiverStatistics>>>>,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64, count: u64) {
        counter.fetch_add(count, Ordering::Relaxed);
    }

    /// Counts a frame that the source made.
    pub(crate) fn handle_frame(&self, made: &BroadcastFrame) {
        let BroadcastFrame { frame, renditions, encode_time } = made;
        Self::add(&self.frames, 1);
        let (count, bytes) = match renditions {
            Some(all) => (all.len(), all.iter().map(|rendition| rendition.frame.bytes.len()).sum()),
            None => (1, frame.bytes.len()),
        };
        Self::add(&self.encoded_bytes, bytes as u64);
        Self::add(&self.encode_nanos, u64::try_from(encode_time.as_nanos()).unwrap_or(u64::MAX));
        self.renditions.store(count as u64, Ordering::Relaxed);
        self.skipped.store(frame.skipped, Ordering::Relaxed);
    }

    /// Counts a refused peer.
    pub(crate) fn refuse(&self, why: &'static str) {
        *lock(&self.refusals).entry(why).or_default() += 1;
    }

    /// Adds a receiver, until the returned handle is dropped.
    pub(crate) fn serve(self: &Arc<Self>, receiver: u64, figures: ReceiverStatistics) -> Served {
        let figures = Arc::new(Mutex::new(figures));
        lock(&self.receivers).insert(receiver, Arc::clone(&figures));
        Served { receiver, figures, counters: Arc::clone(self) }
    }

    pub(crate) fn read(&self) -> Statistics {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Statistics {
            frames: load(&self.frames),
            skipped: load(&self.skipped),
            encoded_bytes: load(&self.encoded_bytes),
            renditions: load(&self.renditions),
            encode_time: Duration::from_nanos(load(&self.encode_nanos)),
            accepted: load(&self.accepted),
            retries: load(&self.retries),
            source_failures: load(&self.source_failures),
            refusals: lock(&self.refusals).clone(),
            receivers: lock(&self.receivers).values().map(|figures| lock(figures).clone()).collect(),
        }
    }
}

/// The figures of one receiver, updated without a lock that others hold.
#[derive(Debug)]
pub(crate) struct Served {
    receiver: u64,
    figures: Arc<Mutex<ReceiverStatistics>>,
    counters: Arc<Counters>,
}

impl Served {
    /// Replaces the receiver's figures.
    pub(crate) fn note(&self, figures: ReceiverStatistics) {
        *lock(&self.figures) = figures;
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        lock(&self.counters.receivers).remove(&self.receiver);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
