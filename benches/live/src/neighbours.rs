//! One healthy receiver's goodput, alone and with receivers that are a burden. QUIC is real, and each run has its own
//! sender.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nestcast_lab::link::{Link, Relay};
use quinn::{Connection, Endpoint};
use tokio::runtime::{Builder, Runtime};

use crate::crowd::{self, Counters};
use crate::links::over;
use crate::still_broadcast;

/// The rate of the healthy receiver's link; a slow one's is a tenth of it.
const LINK_BITS_PER_SECOND: u64 = 4_000_000;
const TENTH_BITS_PER_SECOND: u64 = LINK_BITS_PER_SECOND / 10;
/// As good as no link: for a receiver that vanishes.
const FAST_BITS_PER_SECOND: u64 = 1_000_000_000;
/// Bytes of a frame: at 9.6 Mbit/s, several times what the link carries.
const FRAME_BYTES: usize = 40_000;
/// Time for the sender to find the rates, and for the neighbours to become a burden.
const SETTLE_TIME: Duration = Duration::from_millis(1500);

/// The other receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbour {
    /// No other receiver.
    Nobody,
    /// A receiver that reads nothing, but acknowledges.
    Deaf,
    /// A receiver that is gone and has not said so.
    Vanished,
    /// A receiver whose link has a tenth of the rate.
    Slow,
}

impl Neighbour {
    /// The neighbours that are a burden.
    pub const BURDENS: [Self; 3] = [Self::Deaf, Self::Vanished, Self::Slow];

    /// Returns the name in the table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nobody => "nobody",
            Self::Deaf => "reads nothing",
            Self::Vanished => "vanished",
            Self::Slow => "a tenth of the rate",
        }
    }

    /// Receives in this way until the returned value is dropped.
    async fn join(self, sender: SocketAddr) -> Result<Option<Joined>> {
        let relay = match self {
            Self::Nobody => return Ok(None),
            Self::Deaf => None,
            Self::Vanished => Some(Relay::start(sender, Link::constant(FAST_BITS_PER_SECOND)).await?),
            Self::Slow => Some(Relay::start(sender, Link::constant(TENTH_BITS_PER_SECOND)).await?),
        };
        let address = relay.as_ref().map_or(sender, Relay::address);
        let (endpoint, connection) = connect(address).await?;
        let taker = connection.clone();
        let taking = tokio::spawn(async move {
            if self == Self::Deaf {
                // Keeps the control stream open.
                let _control = crowd::greet(&taker).await?;
                return std::future::pending().await;
            }
            crowd::take(&taker, &Counters::default()).await
        });
        if self == Self::Vanished {
            tokio::time::sleep(SETTLE_TIME / 3).await;
            drop(relay);
            return Ok(Some(Joined { _endpoint: endpoint, _connection: connection, _relay: None, taking }));
        }
        Ok(Some(Joined { _endpoint: endpoint, _connection: connection, _relay: relay, taking }))
    }
}

/// A neighbour that receives.
struct Joined {
    _endpoint: Endpoint,
    _connection: Connection,
    _relay: Option<Relay>,
    taking: tokio::task::JoinHandle<Result<()>>,
}

impl Drop for Joined {
    fn drop(&mut self) {
        self.taking.abort();
    }
}

/// Returns the goodput of a healthy receiver next to `count` such neighbours, in Mbit/s: over a link of 4 Mbit/s with a
/// round trip in milliseconds and a loss in percent, or directly on loopback, where whole frames are the limit.
pub fn goodput(neighbour: Neighbour, count: usize, link: Option<(u64, f64)>, time: Duration) -> Result<f64> {
    // The sender has one thread for its network, and so does each receiver: the cost of one feed affects another.
    let [sending, receiving, alongside] = [worker()?, worker()?, worker()?];
    let sender = sending.block_on(start())?;
    let neighbours = alongside.block_on(async {
        let mut joined = Vec::new();
        for _ in 0..count {
            joined.push(neighbour.join(sender).await?);
        }
        anyhow::Ok(joined)
    })?;
    let rate = receiving.block_on(healthy(sender, link, time));
    alongside.block_on(async { drop(neighbours) });
    for runtime in [sending, receiving, alongside] {
        runtime.shutdown_background();
    }
    rate
}

fn worker() -> Result<Runtime> {
    Ok(Builder::new_multi_thread().worker_threads(1).enable_all().build()?)
}

async fn start() -> Result<SocketAddr> {
    let broadcast = still_broadcast::listen(FRAME_BYTES)?;
    let address = broadcast.address().context("it listens")?;
    tokio::spawn(broadcast.run(std::future::pending()));
    Ok(address)
}

async fn connect(address: SocketAddr) -> Result<(Endpoint, Connection)> {
    let endpoint = crowd::socket();
    let connection = endpoint.connect(address, "localhost")?.await?;
    Ok((endpoint, connection))
}

async fn healthy(sender: SocketAddr, link: Option<(u64, f64)>, time: Duration) -> Result<f64> {
    let relay = match link {
        Some((rtt, loss)) => Some(Relay::start(sender, over(Link::constant(LINK_BITS_PER_SECOND), rtt, loss)).await?),
        None => None,
    };
    let address = relay.as_ref().map_or(sender, Relay::address);
    let (_endpoint, connection) = connect(address).await?;
    let counters: Arc<Counters> = Arc::default();
    let counting = Arc::clone(&counters);
    let taking = tokio::spawn(async move { crowd::take(&connection, &counting).await });
    tokio::time::sleep(SETTLE_TIME).await;
    let (began, before) = (Instant::now(), counters.bytes.load(Ordering::Relaxed));
    tokio::time::sleep(time).await;
    let bytes = counters.bytes.load(Ordering::Relaxed) - before;
    let seconds = began.elapsed().as_secs_f64();
    ensure!(!taking.is_finished(), "the healthy receiver lost its connection");
    taking.abort();
    Ok(bytes as f64 * 8e-6 / seconds)
}
