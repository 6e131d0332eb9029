//! Admission of peers to the handshake: some connect faster than the sender can do handshakes, and some never say
//! hello.

use std::sync::Arc;
use std::time::Duration;

use nestcast_proto::{Close, Code};
use tokio::time::{Instant, sleep, sleep_until};

use crate::door::address_prefix::AddressPrefix;
use crate::door::half_open::{HalfOpenConnections, SlotGuard};
use crate::door::waiting::Waiting;
use crate::figures::statistics::Counters;
use crate::quic::endpoint::{Handshake, Listener};

/// The longest time from the start of a handshake to its hello, while there is room for others.
const HELLO_WITHIN: Duration = Duration::from_secs(3);
/// The most connections without a hello: more than may begin within the time that each is undisturbed.
const MAX_HALF_OPEN: usize = 1024;
/// The number of connections without a hello from which addresses are validated, because an address that has not
/// answered may be forged.
const RETRY_ABOVE: usize = 64;
/// The most peers that wait for their handshake.
const MAX_WAITING: usize = 1024;
/// The gap between two handshakes, and how many may begin before the gap applies. A TLS handshake takes about half a
/// millisecond, so a long flood uses a quarter of a core,
const SUSTAINED_HANDSHAKES: (Duration, u32) = (Duration::from_millis(2), 512);
/// and a thousand peers at once use half a core for a second.
const BURST_HANDSHAKES: (Duration, u32) = (Duration::from_millis(1), 32);

/// A rate limit for handshakes.
#[derive(Debug)]
struct HandshakeLimit {
    gap: Duration,
    burst: Duration,
    /// When the next handshake would begin without a burst.
    next: Instant,
}

impl HandshakeLimit {
    fn new((gap, burst): (Duration, u32)) -> Self {
        Self { gap, burst: gap * burst, next: Instant::now() }
    }

    fn begins_at(&self, now: Instant) -> Instant {
        self.next.checked_sub(self.burst).unwrap_or(now).max(now)
    }

    fn begin(&mut self, now: Instant) {
        self.next = self.next.max(now) + self.gap;
    }
}

/// Lets peers begin their handshakes.
#[derive(Debug)]
pub(crate) struct Admission {
    listener: Listener,
    waiting: Waiting<Handshake>,
    half_open: HalfOpenConnections,
    limits: [HandshakeLimit; 2],
    counters: Arc<Counters>,
}

impl Admission {
    pub(crate) fn new(listener: Listener, counters: Arc<Counters>) -> Self {
        let waiting = Waiting::new(MAX_WAITING);
        let half_open = HalfOpenConnections::new(MAX_HALF_OPEN);
        Self {
            listener,
            waiting,
            half_open,
            limits: [SUSTAINED_HANDSHAKES, BURST_HANDSHAKES].map(HandshakeLimit::new),
            counters,
        }
    }

    /// Returns the next peer that may begin; `None` once the endpoint is closed. May be dropped while it waits.
    pub(crate) async fn next(&mut self) -> Option<(Handshake, SlotGuard)> {
        loop {
            let start = self.start_at();
            tokio::select! {
                () = sleep_until(start), if self.waiting.len() > 0 => {
                    if let Some(begun) = self.begin() {
                        return Some(begun);
                    }
                }
                handshake = self.listener.accept() => self.receive(handshake?),
            }
        }
    }

    /// Refuses the peers that wait, closes the open connections, and waits until the peers have the reason and the socket
    /// is closed.
    pub(crate) async fn close(self, close: Close) {
        let Self { listener, waiting, .. } = self;
        drop(waiting);
        listener.close(close).await;
    }

    /// Queues a new peer, or has it validate its address first.
    fn receive(&mut self, handshake: Handshake) {
        let pressed = self.half_open.len() + self.waiting.len() >= RETRY_ABOVE;
        if pressed && !handshake.address_validated() {
            Counters::add(&self.counters.retries, 1);
            return handshake.retry();
        }
        for dropped in self.waiting.push(Instant::now(), handshake.address(), handshake) {
            self.counters.refuse("handshake");
            tracing::debug!(peer = %dropped.address(), "ignored: too many handshakes");
            dropped.ignore();
        }
    }

    /// Returns when the next peer may begin.
    fn start_at(&self) -> Instant {
        let now = Instant::now();
        let room = self.half_open.room_at(now);
        self.limits.iter().map(|limit| limit.begins_at(now)).fold(room, Instant::max)
    }

    fn begin(&mut self) -> Option<(Handshake, SlotGuard)> {
        let now = Instant::now();
        let handshake = self.waiting.pop(now)?;
        let Some(ticket) = self.half_open.enter(now, AddressPrefix::of(handshake.address())) else {
            handshake.ignore();
            return None;
        };
        self.limits.iter_mut().for_each(|limit| limit.begin(now));
        Some((handshake, ticket))
    }
}

/// Waits until a peer's time for its hello has passed.
pub(crate) async fn time_is_up(mut ticket: SlotGuard) -> Close {
    tokio::select! {
        () = ticket.evicted() => Close { code: Code::Slow, why: "others wait, and no hello came" },
        () = sleep(HELLO_WITHIN) => Close { code: Code::Slow, why: "no hello came in time" },
    }
}
