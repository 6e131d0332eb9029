//! The delay controller of [`nestcast_proto`] as quinn's congestion control, and the state that it shares with a feed.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nestcast_proto::{DelayController, INITIAL_WINDOW, PathStats};
use quinn::congestion::{Controller, ControllerFactory};
use tokio::sync::Notify;

use crate::clock;

/// How long a feed waits for room before it checks whether the peer has moved to another path.
const PATH_STAYS: Duration = Duration::from_millis(250);

/// State that a connection's congestion control shares with its feed.
#[derive(Debug, Default)]
pub(crate) struct Known {
    state: Mutex<State>,
    /// Notified when the bytes in flight have fallen.
    acknowledged: Notify,
    /// Packets that may exceed the window.
    beyond: AtomicU64,
    /// Whether the next packet is the connection's close. quinn-proto 0.11.19 counts the close against the window while
    /// stream bytes are unsent, and reads no further acknowledgements: with a full window it would never be sent.
    closing: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    path: PathStats,
    /// When the path will have transmitted what was sent.
    idle_from: Option<Instant>,
    /// An upper bound on the stream bytes that the transport holds unsent or must send again. quinn does not report
    /// this number; what it reports as buffered includes bytes that arrived after a lost packet.
    unsent: u64,
    /// Whether anything was sent since the last write.
    sent: bool,
    /// When streams were last reset: bytes in flight at that time are not sent again.
    reset: Option<Instant>,
}

impl State {
    /// Returns how many bytes may be written so that at most `pending` are in flight or unsent, without packet headers.
    /// It returns whole packets, so that each acknowledged packet makes room for one that is sent at once, in full.
    fn room(&mut self, pending: u64) -> u64 {
        // With nothing in flight nothing is unsent, whatever was lost of streams that were stopped: no later event
        // would say so.
        if self.path.in_flight == 0 && self.sent {
            self.unsent = 0;
        }
        let room = pending.saturating_sub(self.path.stream_bytes(self.path.in_flight) + self.unsent);
        if self.path.in_flight == 0 { room } else { room - room % self.path.payload() }
    }
}

impl Known {
    /// Returns the current state of the path.
    pub(crate) fn path(&self) -> PathStats {
        let state = lock(&self.state);
        let now = tokio::time::Instant::now().into_std();
        let backlog = state.idle_from.map(|from| from.saturating_duration_since(now)).unwrap_or_default();
        PathStats { unsent: state.unsent, backlog, ..state.path }
    }

    /// Waits until bytes may be written so that at most `pending` are in flight or unsent, and returns how many.
    /// Returns `None` after [`PATH_STAYS`], when the peer may have moved to another path.
    pub(crate) async fn room(&self, pending: Option<u64>) -> Option<usize> {
        let Some(pending) = pending else { return Some(usize::MAX) };
        let waiting = async {
            loop {
                let room = lock(&self.state).room(pending);
                if room > 0 {
                    return usize::try_from(room).unwrap_or(usize::MAX);
                }
                self.acknowledged.notified().await;
            }
        };
        tokio::time::timeout(PATH_STAYS, waiting).await.ok()
    }

    /// Notes that the streams written last were reset.
    pub(crate) fn handle_reset(&self) {
        let mut state = lock(&self.state);
        (state.unsent, state.reset) = (0, Some(tokio::time::Instant::now().into_std()));
    }

    /// Notes that `bytes` bytes were written to streams.
    pub(crate) fn handle_written(&self, bytes: u64) {
        let mut state = lock(&self.state);
        state.unsent += bytes;
        state.sent = false;
    }

    /// Lets `packets` packets exceed the window.
    pub(crate) fn allow_beyond(&self, packets: u64) {
        self.beyond.store(packets, Ordering::Relaxed);
    }

    /// Notes that the next packet is the connection's close.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }
}

/// Returns the state that a connection's congestion control shares.
pub(crate) fn known(connection: &quinn::Connection) -> Arc<Known> {
    let state = connection.congestion_state().into_any();
    state.downcast::<Congestion>().map(|congestion| congestion.known).unwrap_or_default()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A clock that all connections share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharedClock {
    began: Instant,
    time: Duration,
}

impl SharedClock {
    /// Begins at zero.
    pub(crate) fn simulated() -> Self {
        Self { began: tokio::time::Instant::now().into_std(), time: Duration::ZERO }
    }

    /// Shows UTC, so that senders on several machines share it.
    pub(crate) fn utc() -> Self {
        let (began, time) = clock::began();
        Self { began, time }
    }

    fn at(self, moment: Instant) -> Duration {
        self.time.saturating_add(moment.saturating_duration_since(self.began))
    }
}

/// Builds the congestion control of a connection.
#[derive(Debug)]
pub(crate) struct Factory(pub(crate) SharedClock);

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let controller = DelayController::new(mtu.into(), self.0.at(now));
        Box::new(Congestion { controller, epoch: now, known: Arc::default() })
    }
}

/// The delay controller as quinn's congestion control.
#[derive(Debug, Clone)]
struct Congestion {
    controller: DelayController,
    epoch: Instant,
    /// The feed reads this; otherwise quinn would copy the whole controller for each look.
    known: Arc<Known>,
}

impl Congestion {
    fn tell(&self) {
        let mut state = lock(&self.known.state);
        state.path = self.controller.path();
        state.idle_from = self.epoch.checked_add(self.controller.idle_from());
    }

    fn moment(&self, instant: Instant) -> Duration {
        instant.saturating_duration_since(self.epoch)
    }
}

impl Controller for Congestion {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
        let _ = self.known.beyond.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |packets| packets.checked_sub(1));
        self.controller.handle_sent(self.moment(now), bytes);
        self.tell();
        let mut state = lock(&self.known.state);
        state.unsent = state.unsent.saturating_sub(self.controller.path().stream_bytes(bytes));
        state.sent = true;
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, limited: bool, rtt: &quinn_proto::RttEstimator) {
        let mut state = lock(&self.known.state);
        if limited && state.sent {
            // quinn had nothing to send.
            state.unsent = 0;
        }
        drop(state);
        // Packets of an earlier path say nothing about this one.
        if sent >= self.epoch {
            let now = self.moment(now);
            self.controller.handle_transport(now, rtt.get(), rtt.min());
            self.controller.handle_ack(now, self.moment(sent), bytes);
        }
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, _limited: bool, _largest: Option<u64>) {
        self.controller.handle_acks_end(self.moment(now), in_flight);
        self.tell();
        self.known.acknowledged.notify_one();
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost: u64) {
        // quinn also reports packets that were marked (ECN): it sends everything as capable of marks (ECT(0)).
        if lost == 0 && !persistent {
            self.controller.handle_mark();
        }
        self.controller.handle_loss(self.moment(now), lost, persistent);
        self.tell();
        let mut state = lock(&self.known.state);
        if state.reset.is_none_or(|reset| sent > reset) {
            state.unsent += self.controller.path().stream_bytes(lost);
        }
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.controller.handle_mtu(mtu.into());
        self.tell();
    }

    /// Adds one byte: quinn sends nothing that would fill the window to its last byte.
    fn window(&self) -> u64 {
        if self.known.closing.load(Ordering::Relaxed) {
            // Above `u32::MAX` quinn does not pace either.
            return u64::MAX;
        }
        let PathStats { window, mtu, in_flight, .. } = self.controller.path();
        let beyond = match self.known.beyond.load(Ordering::Relaxed) {
            0 => 0,
            packets => in_flight + packets.saturating_mul(mtu),
        };
        window.max(beyond) + 1
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        INITIAL_WINDOW
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_thought_unsent_keeps_nothing_from_a_path_with_nothing_on_the_way() {
        let path = |in_flight| PathStats { in_flight, ..PathStats::default() };
        let mut state = State { path: path(1200), unsent: 100_000, idle_from: None, sent: true, reset: None };
        assert_eq!(state.room(4800), 0);
        state.path = path(0);
        state.sent = false;
        assert_eq!(state.room(4800), 0, "what was just written is about to be sent");
        state.sent = true;
        assert_eq!(state.room(4800), 4800);
    }

    #[test]
    fn there_is_room_for_whole_packets() {
        let path = PathStats { in_flight: 1200, ..PathStats::default() };
        let mut state = State { path, ..State::default() };
        assert_eq!(state.room(4800), 3 * path.payload());
        state.unsent = 3 * path.payload() - 100;
        assert_eq!(state.room(4800), 0, "for what is left no packet is sent that is not full");
    }
}
