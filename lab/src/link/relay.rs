//! The relay: a socket for clients, a socket to the server for each client, and a schedule for each direction.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::UdpSocket;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::schedule::{Link, Schedule};

/// The largest UDP packet in bytes.
const MAX_PACKET_BYTES: usize = 65_536;
/// The most packets that wait to be scheduled.
const MAX_WAITING_PACKETS: usize = 1024;
/// Held packets that the relay releases each millisecond: few enough for a socket's buffer.
const RELEASED_PER_MILLISECOND: usize = 16;

/// The traffic that a relay passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traffic {
    /// Both directions pass.
    Both,
    /// Both directions, but the relay holds what the server sends until the next change.
    Held,
    /// Packets of clients pass, the server's answers do not.
    ToServer,
    /// Nothing passes.
    Nothing,
}

/// A link that all clients of a relay share, until it is dropped.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    traffic: watch::Sender<Traffic>,
    _task: JoinSet<()>,
}

impl Relay {
    /// Starts to relay between clients of [`Relay::address`] and the server at `server`, which must be on this machine.
    /// Call it in a tokio runtime.
    ///
    /// # Errors
    /// If no port is free, or the server is on another machine.
    pub async fn start(server: SocketAddr, link: Link) -> io::Result<Self> {
        if !server.ip().is_loopback() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a simulated link stays on this machine"));
        }
        let near = Arc::new(UdpSocket::bind(SocketAddr::new(server.ip(), 0)).await?);
        let address = near.local_addr()?;
        let began = Instant::now();
        let (traffic, following) = watch::channel(Traffic::Both);
        let up = Schedule::new(link.back());
        let down = Schedule::new(link);
        let clients = BTreeMap::new();
        let held = VecDeque::new();
        let readers = JoinSet::new();
        let ends = Ends { near, server, began, up, down, clients, held, readers };
        let mut task = JoinSet::new();
        task.spawn(ends.run(following));
        Ok(Self { address, traffic, _task: task })
    }

    /// Returns the address at which clients find the server over the link.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the traffic that passes from now on.
    pub fn set_traffic(&self, traffic: Traffic) {
        self.traffic.send_replace(traffic);
    }
}

/// A packet from or to a client.
#[derive(Debug)]
struct Packet {
    client: SocketAddr,
    bytes: Vec<u8>,
}

/// The socket on which a packet was read.
#[derive(Debug)]
enum Read {
    FromClient(Packet),
    FromServer(Packet),
}

/// Both ends of the link.
#[derive(Debug)]
struct Ends {
    near: Arc<UdpSocket>,
    server: SocketAddr,
    began: Instant,
    up: Schedule<Packet>,
    down: Schedule<Packet>,
    /// The socket to the server for each client.
    clients: BTreeMap<SocketAddr, Arc<UdpSocket>>,
    held: VecDeque<Packet>,
    readers: JoinSet<()>,
}

impl Ends {
    async fn run(mut self, traffic: watch::Receiver<Traffic>) {
        let (outlet, mut inlet) = mpsc::channel(MAX_WAITING_PACKETS);
        self.readers.spawn(read_clients(Arc::clone(&self.near), outlet.clone()));
        let mut following = traffic.clone();
        loop {
            let due = [self.up.due(), self.down.due()].into_iter().flatten().min();
            let passing = *traffic.borrow();
            tokio::select! {
                Some(read) = inlet.recv() => match (read, passing) {
                    (Read::FromClient(packet), Traffic::Both | Traffic::Held | Traffic::ToServer) => {
                        self.open(packet.client, &outlet).await;
                        self.up.push(self.began.elapsed(), packet.bytes.len(), packet);
                    }
                    (Read::FromServer(packet), Traffic::Both) if self.held.is_empty() => self.push_down(packet),
                    (Read::FromServer(packet), Traffic::Both | Traffic::Held) => self.held.push_back(packet),
                    _ => {}
                },
                () = tokio::time::sleep(Duration::from_millis(1)), if passing == Traffic::Both && !self.held.is_empty() => {
                    for _ in 0..RELEASED_PER_MILLISECOND {
                        let Some(packet) = self.held.pop_front() else { break };
                        self.push_down(packet);
                    }
                }
                // Fails once the relay is dropped; this task then ends too.
                _ = following.changed() => {}
                () = until(due.map(|due| self.began + due)) => {}
            }
            let passing = *traffic.borrow();
            self.deliver(passing).await;
        }
    }

    /// Opens a socket to the server for a new client.
    async fn open(&mut self, client: SocketAddr, outlet: &mpsc::Sender<Read>) {
        if self.clients.contains_key(&client) {
            return;
        }
        let Ok(far) = UdpSocket::bind(SocketAddr::new(self.server.ip(), 0)).await else { return };
        if far.connect(self.server).await.is_ok() {
            let far = Arc::new(far);
            self.readers.spawn(read_server(Arc::clone(&far), client, outlet.clone()));
            self.clients.insert(client, far);
        }
    }

    fn push_down(&mut self, packet: Packet) {
        let bytes = packet.bytes.len();
        // A packet is lost if the queue has no room for it.
        let _ = self.down.push(self.began.elapsed(), bytes, packet);
    }

    /// Sends the packets that have arrived. A packet that cannot be sent is lost.
    async fn deliver(&mut self, traffic: Traffic) {
        let now = self.began.elapsed();
        while let Some(packet) = self.up.pop(now) {
            if let Some(far) = self.clients.get(&packet.client).filter(|_| traffic != Traffic::Nothing) {
                let _ = far.send(&packet.bytes).await;
            }
        }
        while let Some(packet) = self.down.pop(now) {
            if matches!(traffic, Traffic::Both | Traffic::Held) {
                let _ = self.near.send_to(&packet.bytes, packet.client).await;
            }
        }
    }
}

async fn read_clients(near: Arc<UdpSocket>, outlet: mpsc::Sender<Read>) {
    let mut buffer = vec![0; MAX_PACKET_BYTES];
    loop {
        // An error belongs to an earlier packet that nobody listened for; it counts as lost.
        let Ok((length, client)) = near.recv_from(&mut buffer).await else { continue };
        let packet = Packet { client, bytes: buffer[..length].to_vec() };
        if outlet.send(Read::FromClient(packet)).await.is_err() {
            return;
        }
    }
}

async fn read_server(far: Arc<UdpSocket>, client: SocketAddr, outlet: mpsc::Sender<Read>) {
    let mut buffer = vec![0; MAX_PACKET_BYTES];
    loop {
        let Ok(length) = far.recv(&mut buffer).await else { continue };
        let packet = Packet { client, bytes: buffer[..length].to_vec() };
        if outlet.send(Read::FromServer(packet)).await.is_err() {
            return;
        }
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn packets_go_both_ways() -> io::Result<()> {
        let server = UdpSocket::bind("127.0.0.1:0").await?;
        let relay = Relay::start(server.local_addr()?, Link::constant(10_000_000)).await?;
        let client = UdpSocket::bind("127.0.0.1:0").await?;
        client.connect(relay.address()).await?;
        let mut buffer = [0; 64];
        client.send(b"question").await?;
        let (length, peer) = server.recv_from(&mut buffer).await?;
        assert_eq!(&buffer[..length], b"question");
        server.send_to(b"answer", peer).await?;
        let length = client.recv(&mut buffer).await?;
        assert_eq!(&buffer[..length], b"answer");
        Ok(())
    }

    #[tokio::test]
    async fn each_client_gets_its_own_answers_when_they_are_no_longer_held() -> io::Result<()> {
        let server = UdpSocket::bind("127.0.0.1:0").await?;
        let relay = Relay::start(server.local_addr()?, Link::constant(10_000_000)).await?;
        relay.set_traffic(Traffic::Held);
        let mut buffer = [0; 64];
        let mut clients = Vec::new();
        for name in [b'a', b'b'] {
            let client = UdpSocket::bind("127.0.0.1:0").await?;
            client.send_to(&[name], relay.address()).await?;
            let (length, peer) = server.recv_from(&mut buffer).await?;
            for _ in 0..100 {
                server.send_to(&buffer[..length], peer).await?;
            }
            clients.push((name, client));
        }
        for (_, client) in &clients {
            let early = tokio::time::timeout(Duration::from_millis(50), client.recv(&mut [0; 64])).await;
            assert!(early.is_err(), "nothing comes while it is held");
        }
        relay.set_traffic(Traffic::Both);
        for (name, client) in &clients {
            for _ in 0..100 {
                assert_eq!((client.recv(&mut buffer).await?, buffer[0]), (1, *name));
            }
        }
        Ok(())
    }

    #[tokio::test]
    async fn a_server_elsewhere_is_refused() {
        let refused = Relay::start(([192, 0, 2, 1], 9).into(), Link::constant(1)).await;
        assert!(refused.is_err());
    }
}
