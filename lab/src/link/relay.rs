//! The relay: two sockets, and a schedule for each direction.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

use super::schedule::{Link, Schedule};

/// The largest UDP packet.
const LARGEST: usize = 65_536;

/// A packet that came to the link from the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    /// When it came, since the relay began.
    pub at: Duration,
    /// Its bytes, without the headers of UDP and IP.
    pub bytes: usize,
    /// How long it waited in the queue; nothing if it was dropped.
    pub wait: Option<Duration>,
}

/// A link that runs until it is dropped. The last client that was heard gets what the server sends.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    began: Instant,
    passed: Arc<Mutex<Vec<Passage>>>,
    tasks: [JoinHandle<()>; 2],
}

impl Relay {
    /// Begins to relay between clients of [`Relay::address`] and the server at `server`, which must be on this machine.
    /// Call it within a tokio runtime.
    ///
    /// # Errors
    /// If there is no free port, or the server is elsewhere.
    pub async fn start(server: SocketAddr, link: Link) -> io::Result<Self> {
        if !server.ip().is_loopback() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a simulated link stays on this machine"));
        }
        let anywhere = SocketAddr::new(server.ip(), 0);
        let near = Arc::new(UdpSocket::bind(anywhere).await?);
        let far = Arc::new(UdpSocket::bind(anywhere).await?);
        far.connect(server).await?;
        let address = near.local_addr()?;
        let began = Instant::now();
        let passed = Arc::default();
        let client = Arc::new(Mutex::new(None));
        let back = link.back();
        let up = Way { from: Arc::clone(&near), to: Arc::clone(&far), client: Arc::clone(&client), began };
        let down = Way { from: far, to: near, client, began };
        let tasks = [
            tokio::spawn(up.run(Schedule::new(back), None)),
            tokio::spawn(down.run(Schedule::new(link), Some(Arc::clone(&passed)))),
        ];
        Ok(Self { address, began, passed, tasks })
    }

    /// Where clients find the server behind the link.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// When it began: the zero of the link's times.
    #[must_use]
    pub const fn began(&self) -> Instant {
        self.began
    }

    /// The packets that came from the server since the last call.
    #[must_use]
    pub fn take_passages(&self) -> Vec<Passage> {
        std::mem::take(&mut *self.passed.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// One direction.
struct Way {
    from: Arc<UdpSocket>,
    to: Arc<UdpSocket>,
    client: Arc<Mutex<Option<SocketAddr>>>,
    began: Instant,
}

impl Way {
    /// The way from the server keeps a log, the other learns where the client is.
    async fn run(self, mut schedule: Schedule<Vec<u8>>, log: Option<Arc<Mutex<Vec<Passage>>>>) {
        let mut buffer = vec![0; LARGEST];
        loop {
            let due = schedule.due().map(|due| self.began + due);
            tokio::select! {
                // An error is that of an earlier packet, which nobody listened for: as if it were lost.
                received = self.from.recv_from(&mut buffer) => if let Ok((bytes, peer)) = received {
                    let at = self.began.elapsed();
                    let wait = schedule.push(at, bytes, buffer[..bytes].to_vec());
                    match &log {
                        Some(log) => log.lock().unwrap_or_else(PoisonError::into_inner).push(Passage { at, bytes, wait }),
                        None => *self.client() = Some(peer),
                    }
                },
                () = until(due) => {}
            }
            while let Some(packet) = schedule.pop(self.began.elapsed()) {
                self.send(&packet, log.is_some()).await;
            }
        }
    }

    async fn send(&self, packet: &[u8], down: bool) {
        let client = *self.client();
        let _ = match client {
            Some(client) if down => self.to.send_to(packet, client).await,
            _ => self.to.send(packet).await,
        };
    }

    fn client(&self) -> std::sync::MutexGuard<'_, Option<SocketAddr>> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
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
    async fn packets_go_both_ways_and_those_from_the_server_are_logged() -> io::Result<()> {
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
        let passages = relay.take_passages();
        assert!(matches!(passages[..], [Passage { bytes: 6, wait: Some(Duration::ZERO), .. }]), "{passages:?}");
        assert!(relay.take_passages().is_empty());
        Ok(())
    }

    #[tokio::test]
    async fn a_server_elsewhere_is_refused() {
        let refused = Relay::start(([192, 0, 2, 1], 9).into(), Link::constant(1)).await;
        assert!(refused.is_err());
    }
}
