//! A relay of TCP on this machine that is as late as a path with a round trip: for pages whose server is far away.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

/// The most bytes of one read.
const MAX_READ_BYTES: usize = 16 * 1024;
/// The reads that are on their way, so that a slow reader slows the writer down.
const MAX_READS: usize = 1024;

/// Relays connections until it is dropped.
#[derive(Debug)]
pub struct TcpDelay {
    /// Where clients connect.
    pub address: SocketAddr,
    _task: JoinSet<()>,
}

impl TcpDelay {
    /// Relays to `server` with this round trip. TCP's own handshake takes one of them too: the relay holds the first bytes
    /// of a client for so long. It has no limit of rate, and no slow start. Call it in a tokio runtime.
    ///
    /// # Errors
    /// If no port is free.
    pub async fn start(server: SocketAddr, round_trip: Duration) -> io::Result<Self> {
        let listener = TcpListener::bind((server.ip(), 0)).await?;
        let address = listener.local_addr()?;
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(async move {
                    let Ok(far) = TcpStream::connect(server).await else { return };
                    let opened = Instant::now() + round_trip;
                    let (near_in, near_out) = client.into_split();
                    let (far_in, far_out) = far.into_split();
                    let way = round_trip / 2;
                    tokio::join!(pass(near_in, far_out, way, opened), pass(far_in, near_out, way, opened));
                });
            }
        });
        Ok(Self { address, _task: task })
    }
}

/// Passes bytes on, each `way` after it came, or after the connection was `opened`.
async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, way: Duration, opened: Instant) {
    let (sent, mut arriving) = mpsc::channel(MAX_READS);
    let read = async move {
        loop {
            let mut bytes = vec![0; MAX_READ_BYTES];
            let count = from.read(&mut bytes).await.unwrap_or(0);
            bytes.truncate(count);
            if sent.send((Instant::now().max(opened) + way, bytes)).await.is_err() || count == 0 {
                return;
            }
        }
    };
    let write = async move {
        while let Some((due, bytes)) = arriving.recv().await {
            sleep_until(due).await;
            let written = if bytes.is_empty() { to.shutdown().await } else { to.write_all(&bytes).await };
            if written.is_err() {
                return;
            }
        }
    };
    tokio::join!(read, write);
}
