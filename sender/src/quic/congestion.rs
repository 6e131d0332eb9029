//! The delay controller of [`nestcast_proto`] as quinn's congestion control, and what it and a feed tell each other.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nestcast_proto::{DelayController, INITIAL_WINDOW, PathStats};
use quinn::congestion::{Controller, ControllerFactory};
use tokio::sync::Notify;

use crate::clock;

/// How long a path is waited on before it is looked whether the peer has moved to another.
const PATH_STAYS: Duration = Duration::from_millis(250);

/// What a connection's congestion control and its feed tell each other.
#[derive(Debug, Default)]
pub(crate) struct Known {
    state: Mutex<State>,
    /// Tells that fewer bytes may be in flight than were.
    acknowledged: Notify,
    /// Packets that may go beyond the window.
    beyond: AtomicU64,
    /// The next packet is the connection's close. quinn-proto 0.11.19 counts it against the window while stream bytes
    /// are unsent, and reads no acknowledgements any more: a close that finds the window full would never be sent.
    closing: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    path: PathStats,
    /// Bytes of streams that the transport holds and has not sent, or must send again: no fewer than it does. It does not tell,
    /// and what it says is buffered has bytes in it that arrived behind a lost packet.
    unsent: u64,
    /// Whether anything was sent since bytes were last written.
    sent: bool,
    /// When streams were last reset: what was on the way then is not sent again.
    reset: Option<Instant>,
}

impl State {
    /// Bytes that may be written so that no more than `pending` are in flight or unsent, not counting packets' headers: what fills
    /// whole packets, so that every acknowledged one makes room for one that is sent at once, and nothing waits for its rest.
    fn room(&mut self, pending: u64) -> u64 {
        // Where nothing is on the way nothing waits to be sent, whatever was lost of streams that were stopped: nothing is to come
        // that would say so.
        if self.path.in_flight == 0 && self.sent {
            self.unsent = 0;
        }
        let room = pending.saturating_sub(self.path.stream_bytes(self.path.in_flight) + self.unsent);
        if self.path.in_flight == 0 { room } else { room - room % self.path.payload() }
    }
}

impl Known {
    /// What is known of the path now.
    pub(crate) fn path(&self) -> PathStats {
        let state = held(&self.state);
        PathStats { unsent: state.unsent, ..state.path }
    }

    /// Waits until bytes may be written so that no more than `pending` are in flight or unsent; gives how many, or nothing if that
    /// takes so long that the peer may have moved to another path.
    pub(crate) async fn room(&self, pending: Option<u64>) -> Option<usize> {
        let Some(pending) = pending else { return Some(usize::MAX) };
        let waiting = async {
            loop {
                let room = held(&self.state).room(pending);
                if room > 0 {
                    return usize::try_from(room).unwrap_or(usize::MAX);
                }
                self.acknowledged.notified().await;
            }
        };
        tokio::time::timeout(PATH_STAYS, waiting).await.ok()
    }

    /// The streams that were written last were reset.
    pub(crate) fn handle_reset(&self) {
        let mut state = held(&self.state);
        (state.unsent, state.reset) = (0, Some(tokio::time::Instant::now().into_std()));
    }

    /// So many bytes were written to streams.
    pub(crate) fn handle_written(&self, bytes: u64) {
        let mut state = held(&self.state);
        state.unsent += bytes;
        state.sent = false;
    }

    /// So many packets may go beyond the window.
    pub(crate) fn allow_beyond(&self, packets: u64) {
        self.beyond.store(packets, Ordering::Relaxed);
    }

    /// The close comes next.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }
}

/// That of a connection.
pub(crate) fn known(connection: &quinn::Connection) -> Arc<Known> {
    let state = connection.congestion_state().into_any();
    state.downcast::<Congestion>().map(|congestion| congestion.known).unwrap_or_default()
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
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

    /// Shows the time of the world (UTC), so that the senders of several machines share it too.
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
    /// What the feed reads: quinn would copy all of this for it each time.
    known: Arc<Known>,
}

impl Congestion {
    fn tell(&self) {
        held(&self.known.state).path = self.controller.path();
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
        let mut state = held(&self.known.state);
        state.unsent = state.unsent.saturating_sub(self.controller.path().stream_bytes(bytes));
        state.sent = true;
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, limited: bool, rtt: &quinn_proto::RttEstimator) {
        let mut state = held(&self.known.state);
        if limited && state.sent {
            // There was nothing to send.
            state.unsent = 0;
        }
        drop(state);
        // Packets of an earlier path say nothing of this one.
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
        // quinn tells so of packets that came marked: all that it sends is said to take marks (ECT(0)).
        if lost == 0 && !persistent {
            self.controller.handle_mark();
        }
        self.controller.handle_loss(self.moment(now), lost, persistent);
        self.tell();
        let mut state = held(&self.known.state);
        if state.reset.is_none_or(|reset| sent > reset) {
            state.unsent += self.controller.path().stream_bytes(lost);
        }
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.controller.handle_mtu(mtu.into());
        self.tell();
    }

    /// quinn sends nothing that would fill the window to its last byte.
    fn window(&self) -> u64 {
        if self.known.closing.load(Ordering::Relaxed) {
            // Beyond `u32::MAX` quinn does not pace either.
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
        let mut state = State { path: path(1200), unsent: 100_000, sent: true, reset: None };
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
