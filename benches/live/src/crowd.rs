//! Many receivers in one process, each as light as QUIC allows: they read frames and discard them. They are native
//! receivers, or pages in a browser, which use WebTransport.

use std::io::BufRead as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::ValueEnum;
use nestcast_proto::{Message, SoundRequest, StreamHead};
use nestcast_tests::hostile_receiver::{client, endpoint, hello};
use nestcast_tests::page::{self, Browser};
use quinn::{Connection, Endpoint, ReadError, RecvStream, SendStream};
use tokio::sync::Semaphore;

/// Receivers that share a socket, whose buffer holds their simultaneous frames.
const RECEIVERS_PER_SOCKET: usize = 10;
/// Simultaneous handshakes.
const MAX_CONNECTING: usize = 16;
/// The time in which all must get their first frames.
const FIRST_FRAMES_TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes that a sender may have in flight to one receiver.
const RECEIVE_WINDOW_BYTES: u32 = 1024 * 1024;
/// The most bytes of one read.
const MAX_READ_BYTES: usize = 64 * 1024;

/// What receivers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Peers {
    /// Native receivers.
    Native,
    /// Pages in a browser.
    Pages,
}

impl Peers {
    /// Returns the name on the command line and in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Pages => "pages",
        }
    }

    fn socket(self) -> Endpoint {
        match self {
            Self::Native => socket(),
            Self::Pages => page::socket(),
        }
    }
}

/// Counts over all receivers.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    started: AtomicU64,
    frames: AtomicU64,
    packets: AtomicU64,
    pub(crate) bytes: AtomicU64,
}

/// Connects `count` receivers, which ask for sound if they hear, and prints `ready` once each has a frame. Then it answers
/// each line with frames, packets of sound, and the bytes of both.
pub fn receive(address: SocketAddr, count: usize, peers: Peers, hears: bool) -> Result<()> {
    let counters: Arc<Counters> = Arc::default();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(start(address, count, peers, hears, &counters))?;
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        line?;
        let [frames, packets, bytes] =
            [&counters.frames, &counters.packets, &counters.bytes].map(|count| count.load(Ordering::Relaxed));
        println!("{frames} {packets} {bytes}");
    }
    Ok(())
}

async fn start(address: SocketAddr, count: usize, peers: Peers, hears: bool, counters: &Arc<Counters>) -> Result<()> {
    let places = Arc::new(Semaphore::new(MAX_CONNECTING));
    for first in (0..count).step_by(RECEIVERS_PER_SOCKET) {
        let endpoint = peers.socket();
        for _ in first..count.min(first + RECEIVERS_PER_SOCKET) {
            let (endpoint, counters, places) = (endpoint.clone(), Arc::clone(counters), Arc::clone(&places));
            tokio::spawn(async move {
                let ended = match peers {
                    Peers::Native => one(&endpoint, address, hears, &counters, places).await,
                    Peers::Pages => one_page(&endpoint, address, &counters, places).await,
                };
                if let Err(error) = ended {
                    eprintln!("a receiver ended: {error:#}");
                }
            });
        }
    }
    let all = async {
        while counters.started.load(Ordering::Relaxed) < count as u64 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(FIRST_FRAMES_TIMEOUT, all).await.context("not every receiver got a frame")
}

/// Opens a socket for receivers.
pub(crate) fn socket() -> Endpoint {
    endpoint(Ipv4Addr::LOCALHOST, client(RECEIVE_WINDOW_BYTES))
}

async fn one(
    endpoint: &Endpoint,
    address: SocketAddr,
    hears: bool,
    counters: &Counters,
    places: Arc<Semaphore>,
) -> Result<()> {
    let place = places.acquire_owned().await?;
    let connection = endpoint.connect(address, "localhost")?.await?;
    drop(place);
    let (mut control, _welcome) = greet(&connection).await?;
    if hears {
        control.write_chunk(Message::SoundRequest(SoundRequest { wanted: true }).encode()).await?;
    }
    take_frames(&connection, counters).await
}

/// Begins a session as a page does, then reads and discards until the connection ends.
async fn one_page(endpoint: &Endpoint, address: SocketAddr, counters: &Counters, places: Arc<Semaphore>) -> Result<()> {
    let place = places.acquire_owned().await?;
    let mut browser = Browser::connect_from(endpoint, address).await?;
    browser.open_all().await;
    let connection = browser.connection.clone();
    let page = browser.session().await;
    let (mut control, _welcome) = page.open_control().await;
    control.write_chunk(hello(b"")).await?;
    drop(place);
    // The control stream of HTTP/3 does not end.
    let _settings = connection.accept_uni().await?;
    take_frames(&connection, counters).await
}

/// Says hello, then reads and discards until the connection ends.
pub(crate) async fn take(connection: &Connection, counters: &Counters) -> Result<()> {
    let _control = greet(connection).await?;
    take_frames(connection, counters).await
}

/// Reads frames and packets of sound, and discards them, until the connection ends.
async fn take_frames(connection: &Connection, counters: &Counters) -> Result<()> {
    let mut first = true;
    loop {
        let stream = connection.accept_uni().await?;
        let Read { bytes, is_whole, is_sound } = discard(stream).await?;
        let count = if is_sound { &counters.packets } else { &counters.frames };
        count.fetch_add(u64::from(is_whole), Ordering::Relaxed);
        counters.bytes.fetch_add(bytes, Ordering::Relaxed);
        if !is_sound {
            counters.started.fetch_add(u64::from(std::mem::take(&mut first)), Ordering::Relaxed);
        }
    }
}

/// What was read of a stream.
#[derive(Debug, Default)]
struct Read {
    bytes: u64,
    /// Whether the sender ended it, and did not reset it.
    is_whole: bool,
    is_sound: bool,
}

/// Says hello. The control stream stays open while the caller holds the returned streams.
pub(crate) async fn greet(connection: &Connection) -> Result<(SendStream, RecvStream)> {
    let (mut control, welcome) = connection.open_bi().await?;
    control.write_chunk(hello(b"")).await?;
    Ok((control, welcome))
}

/// Reads a stream to its end, or until the sender resets it, as it does after a fall of the rate.
async fn discard(mut stream: RecvStream) -> Result<Read> {
    let mut read = Read::default();
    loop {
        match stream.read_chunk(MAX_READ_BYTES, false).await {
            Ok(Some(chunk)) => {
                read.bytes += chunk.bytes.len() as u64;
                let is_head = chunk.offset == 0;
                read.is_sound |=
                    is_head && matches!(StreamHead::parse(&chunk.bytes), Ok(Some((StreamHead::Sound(_), _))));
            }
            Ok(None) => return Ok(Read { is_whole: true, ..read }),
            Err(ReadError::Reset(_)) => return Ok(read),
            Err(error) => return Err(error.into()),
        }
    }
}
