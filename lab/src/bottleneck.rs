//! A network in virtual time: UDP sockets in one process, with simulated links between them, for any QUIC of quinn.
//!
//! ```text
//! clients <- delay <- rate <- queue <- servers
//!         -> delay ------------------>
//! ```
//!
//! Time is tokio's paused clock, which advances when every task waits. A run therefore lasts only as long as its
//! computation, and the machine's load does not change its results.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::link::{Link, Schedule};

/// Servers have this port, clients any other.
const SERVER_PORT: u16 = 443;

/// A packet from a server that reached a link.
#[derive(Debug, Clone, Copy)]
pub struct Passage {
    /// The link's index.
    pub link: usize,
    /// When it arrived.
    pub at: Duration,
    /// The server that sent it.
    pub server: SocketAddr,
    /// How long it waited in the queue; `None` if it was dropped.
    pub wait: Option<Duration>,
}

#[derive(Debug)]
struct Packet {
    from: SocketAddr,
    to: SocketAddr,
    bytes: Vec<u8>,
}

#[derive(Debug, Default)]
struct Inbox {
    /// A client's link.
    link: usize,
    packets: VecDeque<Packet>,
    waker: Option<Waker>,
}

/// Both directions of a link.
#[derive(Debug)]
struct Ways {
    down: Schedule<Packet>,
    up: Schedule<Packet>,
}

#[derive(Debug)]
struct State {
    links: Vec<Ways>,
    inboxes: BTreeMap<SocketAddr, Inbox>,
    /// The number of sockets ever opened.
    sockets: usize,
    passages: Vec<Passage>,
    seed: u64,
}

/// Links, and the sockets at their ends.
#[derive(Debug, Clone)]
pub struct Bottleneck {
    state: Arc<Mutex<State>>,
    pushed: Arc<Notify>,
    began: Instant,
}

impl Bottleneck {
    /// Creates idle links. The first link's seed determines what QUIC draws at random. Call it in a runtime whose time
    /// is paused.
    #[must_use]
    pub fn new(links: &[Link]) -> Self {
        let seed = links.first().map_or(0, |link| link.seed);
        let ways = |link: &Link| Ways { down: Schedule::new(link.clone()), up: Schedule::new(link.back()) };
        let links = links.iter().map(ways).collect();
        let inboxes = BTreeMap::new();
        let passages = Vec::new();
        let state = Arc::new(Mutex::new(State { links, inboxes, sockets: 0, passages, seed }));
        let bottleneck = Self { state, pushed: Arc::new(Notify::new()), began: Instant::now() };
        tokio::spawn(bottleneck.clone().carry());
        bottleneck
    }

    /// Returns the time on the links' clock.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Returns the packets that servers sent so far.
    #[must_use]
    pub fn passages(&self) -> Vec<Passage> {
        self.lock().passages.clone()
    }

    /// Opens a server's socket, on the far side of all links, and returns it with the seed of its QUIC.
    ///
    /// # Panics
    /// If 16 million sockets were opened before.
    #[must_use]
    pub fn server(&self) -> (Arc<dyn AsyncUdpSocket>, [u8; 32]) {
        self.socket(SERVER_PORT, 0)
    }

    /// Opens a client's socket at the near side of the link with this index, and returns it with the seed of its QUIC.
    ///
    /// # Panics
    /// If there is no such link, or 16 million sockets were opened before.
    #[must_use]
    pub fn client(&self, link: usize) -> (Arc<dyn AsyncUdpSocket>, [u8; 32]) {
        assert!(link < self.lock().links.len(), "there is no link {link}");
        self.socket(SERVER_PORT + 1, link)
    }

    fn socket(&self, port: u16, link: usize) -> (Arc<dyn AsyncUdpSocket>, [u8; 32]) {
        let mut state = self.lock();
        state.sockets += 1;
        let [high, hosts @ ..] = u32::try_from(state.sockets).expect("few sockets").to_be_bytes();
        assert_eq!(high, 0, "an address of 10.0.0.0/8 for each socket");
        let [a, b, c] = hosts;
        let address = SocketAddr::from((Ipv4Addr::new(10, a, b, c), port));
        state.inboxes.insert(address, Inbox { link, ..Inbox::default() });
        let mut seed = [c; 32];
        seed[..8].copy_from_slice(&state.seed.to_le_bytes());
        if [a, b] != [0, 0] {
            seed[8..11].copy_from_slice(&hosts);
        }
        (Arc::new(Socket { address, network: self.clone() }), seed)
    }

    /// Delivers packets when they are due.
    async fn carry(self) {
        loop {
            let pushed = self.pushed.notified();
            let due = {
                let mut state = self.lock();
                state.deliver(self.now());
                state.links.iter().flat_map(|link| [link.down.due(), link.up.due()]).flatten().min()
            };
            tokio::select! {
                () = pushed => {}
                () = until(due.map(|due| self.began + due)) => {}
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

impl State {
    fn push(&mut self, now: Duration, packet: Packet) {
        let bytes = packet.bytes.len();
        let from_server = packet.from.port() == SERVER_PORT;
        let client = if from_server { packet.to } else { packet.from };
        // A client that closed its socket counts as one of the first link.
        let link = self.inboxes.get(&client).map_or(0, |inbox| inbox.link);
        let Some(ways) = self.links.get_mut(link) else { return };
        if from_server {
            let server = packet.from;
            let wait = ways.down.push(now, bytes, packet);
            self.passages.push(Passage { link, at: now, server, wait });
        } else {
            ways.up.push(now, bytes, packet);
        }
    }

    fn deliver(&mut self, now: Duration) {
        let mut pop = || self.links.iter_mut().find_map(|link| link.down.pop(now).or_else(|| link.up.pop(now)));
        while let Some(packet) = pop() {
            // A closed socket receives nothing.
            let Some(inbox) = self.inboxes.get_mut(&packet.to) else { continue };
            inbox.packets.push_back(packet);
            if let Some(waker) = inbox.waker.take() {
                waker.wake();
            }
        }
    }
}

/// One end of the network.
struct Socket {
    address: SocketAddr,
    network: Bottleneck,
}

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.address)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.network.lock().inboxes.remove(&self.address);
    }
}

impl AsyncUdpSocket for Socket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(AlwaysWritable)
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let now = self.network.now();
        let mut state = self.network.lock();
        for bytes in transmit.contents.chunks(transmit.segment_size.unwrap_or(transmit.contents.len()).max(1)) {
            state.push(now, Packet { from: self.address, to: transmit.destination, bytes: bytes.to_vec() });
        }
        self.network.pushed.notify_one();
        Ok(())
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let mut state = self.network.lock();
        let Some(inbox) = state.inboxes.get_mut(&self.address) else { return Poll::Pending };
        let mut count = 0;
        for (buffer, meta) in buffers.iter_mut().zip(metas) {
            let Some(packet) = inbox.packets.pop_front() else { break };
            let len = packet.bytes.len().min(buffer.len());
            buffer[..len].copy_from_slice(&packet.bytes[..len]);
            *meta = RecvMeta { addr: packet.from, len, stride: len, ecn: None, dst_ip: None };
            count += 1;
        }
        if count == 0 {
            inbox.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(Ok(count))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }

    fn may_fragment(&self) -> bool {
        false
    }
}

#[derive(Debug)]
struct AlwaysWritable;

impl UdpPoller for AlwaysWritable {
    fn poll_writable(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
