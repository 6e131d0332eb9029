//! A path through this process: UDP packets both ways with a delay, losses from a seed, and silence or
//! a halt when asked for.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::net::UdpSocket;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Packets that go on in a millisecond after having been held back: a socket takes them.
const AT_ONCE: usize = 16;

/// What happens to packets.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    /// In each direction.
    pub delay: Duration,
    /// Of a thousand packets so many are lost, in each direction.
    pub loss: u64,
    /// Nothing comes back from the target.
    pub one_way: bool,
    /// Of the losses.
    pub seed: u64,
}

/// A path that is open until it is dropped.
#[derive(Debug)]
pub struct Proxy {
    /// Where it takes packets.
    pub address: SocketAddr,
    silent: Arc<AtomicBool>,
    held: watch::Sender<bool>,
    _tasks: JoinSet<()>,
}

impl Proxy {
    /// A path to `target`; within a runtime.
    ///
    /// # Panics
    /// If there are no sockets.
    pub async fn open(target: SocketAddr, path: Path) -> Self {
        let front = Arc::new(UdpSocket::bind("127.0.0.1:0").await.expect("a socket"));
        let address = front.local_addr().expect("it is bound");
        let silent = Arc::new(AtomicBool::new(false));
        let (held, holding) = watch::channel(false);
        let random = AtomicU64::new(path.seed);
        let shared = Arc::new(Shared { path, random, silent: Arc::clone(&silent), held: holding });
        let mut tasks = JoinSet::new();
        tasks.spawn(forward(front, target, shared));
        Self { address, silent, held, _tasks: tasks }
    }

    /// Lets nothing through any more.
    pub fn silence(&self) {
        self.silent.store(true, Ordering::Relaxed);
    }

    /// Keeps what comes back from the target, or lets it go on.
    pub fn hold_back(&self, held: bool) {
        self.held.send_replace(held);
    }
}

struct Shared {
    path: Path,
    random: AtomicU64,
    silent: Arc<AtomicBool>,
    held: watch::Receiver<bool>,
}

impl Shared {
    /// Sends a packet on when its time comes, if it is not lost.
    fn pass(self: &Arc<Self>, tasks: &mut JoinSet<()>, socket: &Arc<UdpSocket>, packet: Vec<u8>, to: SocketAddr) {
        // SplitMix64.
        let state = self.random.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        if (z ^ (z >> 31)) % 1000 < self.path.loss || self.silent.load(Ordering::Relaxed) {
            return;
        }
        let (socket, due) = (Arc::clone(socket), Instant::now() + self.path.delay);
        tasks.spawn(async move {
            tokio::time::sleep_until(due.into()).await;
            // What cannot be sent is lost.
            let _ = socket.send_to(&packet, to).await;
        });
    }
}

/// From whoever sends to `front` to the target, through a socket for each.
async fn forward(front: Arc<UdpSocket>, target: SocketAddr, shared: Arc<Shared>) {
    let mut sockets: BTreeMap<SocketAddr, Arc<UdpSocket>> = BTreeMap::new();
    let mut tasks = JoinSet::new();
    let mut buffer = vec![0; 2048];
    loop {
        let Ok((length, from)) = front.recv_from(&mut buffer).await else { continue };
        let socket = match sockets.get(&from) {
            Some(socket) => Arc::clone(socket),
            None => {
                let Ok(socket) = UdpSocket::bind("127.0.0.1:0").await else { continue };
                let socket = Arc::new(socket);
                if !shared.path.one_way {
                    tasks.spawn(back(Arc::clone(&socket), Arc::clone(&front), from, Arc::clone(&shared)));
                }
                sockets.insert(from, Arc::clone(&socket));
                socket
            }
        };
        shared.pass(&mut tasks, &socket, buffer[..length].to_vec(), target);
        while tasks.try_join_next().is_some() {}
    }
}

/// From the target to whoever sends to `front`. What is held back waits here: a socket would drop what is too much for it.
async fn back(socket: Arc<UdpSocket>, front: Arc<UdpSocket>, to: SocketAddr, shared: Arc<Shared>) {
    let mut tasks = JoinSet::new();
    let (mut held, mut waiting) = (shared.held.clone(), VecDeque::new());
    let mut buffer = vec![0; 2048];
    loop {
        tokio::select! {
            biased;
            received = socket.recv_from(&mut buffer) => {
                let Ok((length, _)) = received else { continue };
                waiting.push_back(buffer[..length].to_vec());
            }
            // It fails only once the path is dropped.
            () = async { drop(held.wait_for(|held| !held).await) }, if !waiting.is_empty() => {
                for packet in waiting.drain(..waiting.len().min(AT_ONCE)) {
                    shared.pass(&mut tasks, &front, packet, to);
                }
                if !waiting.is_empty() {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
        }
        while tasks.try_join_next().is_some() {}
    }
}
