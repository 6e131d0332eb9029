//! Senders that obey QUIC and break the session: a receiver must survive each scenario.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use nestcast_codec::{MAX_HEADER, ModelId};
use nestcast_models::Package;
use nestcast_proto::{
    Clock, Code, FrameHeader, FrameRate, FrameRateError, LateHeader, MAX_FRAME, MAX_MODEL, Message, ModelHeader,
    PackageHash, ParityHeader, StreamHead, Video, Welcome,
};
use quinn::{Connection, Endpoint, SendStream, TransportConfig, VarInt};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::hostile_video::{self, HostileVideo};
use crate::{later_version, tls};

/// The size that every scenario announces.
pub const SIZE: (u32, u32) = (320, 240);
/// The fastest rate that can be announced, and its seconds as a varint.
const FASTEST: Result<FrameRate, FrameRateError> = FrameRate::new(1_000_000, 1000);
const THOUSAND: [u8; 2] = [0x43, 0xE8];
/// Streams that a receiver grants at once.
const MAX_STREAMS: u64 = 16;
/// A model and a package that no receiver has.
const UNKNOWN: (ModelId, PackageHash) = (ModelId([9; 6]), PackageHash([9; 32]));

/// What a sender does to its receivers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scenario {
    /// Frames of 212 bytes that claim 10000x10000 pixels.
    LargerPictures,
    /// A close with this code for every hello.
    Refuses(Code),
    /// The same close, a quarter of a second after the control stream's end in both directions.
    EndsThenRefuses(Code),
    /// One good frame, then a close with Failed.
    FailsAfterAFrame,
    /// No stream for the hello.
    NoControlStream,
    /// Nothing after the hello.
    NoWelcome,
    /// A welcome, and no frame.
    NoFrames,
    /// A rate of a million frames a second.
    RateBeyondReason,
    /// A second welcome on the control stream.
    TalksOn,
    /// A clock of this many microseconds since 1970, and good frames of video whose capture times are a year apart,
    /// forwards and backwards.
    ClockThatJumps(u64),
    /// Frames of 16 MiB on every stream, none of which ends, for three seconds; then the broadcast's end.
    EndlessFrames,
    /// Ten whole frames of 16 MiB after a valid header; then the broadcast's end.
    LongFrames,
    /// Frames of one byte, as fast as possible.
    TinyFrames,
    /// Frames that are no streams of the codec.
    Undecodable,
    /// A good picture, and late bytes of it that overlap, leave gaps and never end, on every stream for three seconds;
    /// then the broadcast's end.
    LateBytes,
    /// Long frames whose end never arrives, each with its parity; then the broadcast's end.
    Parity,
    /// A frame that continues past the end that its parity states.
    ParityTooShort,
    /// An attack on video.
    Video(HostileVideo),
    /// Everything that a later version may say to a receiver of this version, which offered other versions than the
    /// chosen one or this one.
    LaterVersion {
        /// The version that it states.
        chosen: u8,
    },
    /// On every stream a model of the largest size that nobody asked for.
    UnaskedModels,
    /// On every stream the model that was asked for, of the largest size; no stream ends.
    ManyModels,
    /// Good frames, and never the model that was asked for.
    NoModel,
    /// The first byte of the model that was asked for, and good frames.
    ModelStops,
    /// These bytes for the model that was asked for.
    Model(Bytes),
}

impl Scenario {
    fn model(&self) -> (ModelId, PackageHash) {
        match self {
            Self::ManyModels | Self::NoModel | Self::ModelStops | Self::Model(_) => UNKNOWN,
            Self::Video(_) | Self::ClockThatJumps(_) => (hostile_video::models()[0], PackageHash([0; 32])),
            _ => photo(),
        }
    }
}

/// A sender that runs until it is dropped.
#[derive(Debug)]
pub struct HostileSender {
    /// Where it listens.
    pub address: SocketAddr,
    /// Its certificate's fingerprint.
    pub fingerprint: String,
    connections: Arc<AtomicU64>,
    _serving: JoinSet<()>,
}

impl HostileSender {
    /// Listens on a free port of this machine; call it in a runtime.
    ///
    /// # Panics
    /// If the system has no port or no random numbers.
    pub fn start(scenario: Scenario) -> Self {
        let (mut config, fingerprint) = tls::server();
        let mut transport = TransportConfig::default();
        let control = u32::from(scenario != Scenario::NoControlStream);
        transport.max_concurrent_bidi_streams(VarInt::from_u32(control));
        transport.keep_alive_interval(Some(Duration::from_secs(1)));
        config.transport_config(Arc::new(transport));
        let endpoint = Endpoint::server(config, ([127, 0, 0, 1], 0).into()).expect("a free port");
        let address = endpoint.local_addr().expect("it listens");
        let connections = Arc::new(AtomicU64::new(0));
        let mut serving = JoinSet::new();
        serving.spawn(serve(endpoint, scenario, Arc::clone(&connections)));
        Self { address, fingerprint, connections, _serving: serving }
    }

    /// Returns the number of connections so far.
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }
}

pub(crate) type Ended = Box<dyn std::error::Error + Send + Sync>;

async fn serve(endpoint: Endpoint, scenario: Scenario, connections: Arc<AtomicU64>) {
    let mut sessions = JoinSet::new();
    while let Some(incoming) = endpoint.accept().await {
        let (scenario, connections) = (scenario.clone(), Arc::clone(&connections));
        sessions.spawn(async move {
            let Ok(connection) = incoming.await else { return };
            connections.fetch_add(1, Ordering::Relaxed);
            // The receiver ends it, and no test waits for a sender.
            let _ = attack(&connection, &scenario).await;
            connection.closed().await;
        });
    }
}

async fn attack(connection: &Connection, scenario: &Scenario) -> Result<(), Ended> {
    let (mut control, mut hello) = connection.accept_bi().await?;
    hello.read_chunk(2048, true).await?;
    if let Scenario::Refuses(code) = scenario {
        connection.close(code.number().into(), b"");
        return Ok(());
    }
    if let Scenario::EndsThenRefuses(code) = scenario {
        drop((control, hello));
        sleep(Duration::from_millis(250)).await;
        connection.close(code.number().into(), b"");
        return Ok(());
    }
    if *scenario == Scenario::NoWelcome {
        return Err(connection.closed().await.into());
    }
    let welcome = announce(scenario);
    let package = welcome.package;
    if let Scenario::LaterVersion { chosen } = scenario {
        control.write_all(&later_version::greeting(*chosen, welcome)).await?;
        return later_version::broadcast(connection, control, &picture(SIZE.0, SIZE.1, &[0x55; 190])).await;
    }
    let mut welcome = Message::Welcome { version: 1, welcome }.encode().to_vec();
    if *scenario == Scenario::RateBeyondReason {
        // In one second.
        let at = welcome.windows(2).rposition(|pair| pair == THOUSAND).expect("the seconds");
        welcome[at..at + 2].copy_from_slice(&[0x40, 1]);
    }
    let micros = if let Scenario::ClockThatJumps(micros) = scenario { *micros } else { 0 };
    let clock = Message::Clock(Clock { micros }).encode();
    let welcome = [&welcome[..], &clock].concat();
    control.write_all(&welcome).await?;
    if *scenario == Scenario::TalksOn {
        control.write_all(&welcome).await?;
    }
    if scenario.model() == UNKNOWN {
        hello.read_chunk(2048, true).await?;
    }
    send_models(connection, scenario, package).await?;
    send_frames(connection, scenario).await
}

/// Returns what the scenario's sender announces.
fn announce(scenario: &Scenario) -> Welcome {
    let (ModelId(model), package) = scenario.model();
    let rate = if *scenario == Scenario::RateBeyondReason { FASTEST } else { FrameRate::new(30, 1) };
    let rate = rate.expect("a rate");
    let (width, height) = SIZE;
    let video = matches!(scenario, Scenario::Video(_) | Scenario::ClockThatJumps(_))
        .then(|| Video::new(hostile_video::models()[1].0));
    Welcome { model, package, width, height, rate, video }
}

async fn send_models(connection: &Connection, scenario: &Scenario, package: PackageHash) -> Result<(), Ended> {
    let head = |length| StreamHead::Model(ModelHeader { package, length }).encode();
    match scenario {
        Scenario::UnaskedModels | Scenario::ManyModels => {
            on_every_stream(connection, |_| head(MAX_MODEL), MAX_MODEL).await
        }
        Scenario::ModelStops => {
            let mut stream = connection.open_uni().await?;
            stream.write_all(&[&head(MAX_MODEL)[..], &[0]].concat()).await?;
            let connection = connection.clone();
            // The control stream stays open.
            tokio::spawn(async move {
                connection.closed().await;
                drop(stream);
            });
            Ok(())
        }
        Scenario::Model(bytes) => {
            let mut stream = connection.open_uni().await?;
            stream.write_all(&head(bytes.len() as u64)).await?;
            stream.write_all(bytes).await?;
            Ok(stream.finish()?)
        }
        _ => Ok(()),
    }
}

async fn send_frames(connection: &Connection, scenario: &Scenario) -> Result<(), Ended> {
    let good = picture(SIZE.0, SIZE.1, &[0x55; 190]);
    match scenario {
        Scenario::LargerPictures => frames(connection, &picture(10_000, 10_000, &[0x55; 190])).await,
        Scenario::FailsAfterAFrame => {
            frame(connection, 0, &good).await?.stopped().await?;
            // The receiver decodes it before it learns of the end.
            sleep(Duration::from_millis(200)).await;
            connection.close(Code::Failed.number().into(), b"");
            Ok(())
        }
        Scenario::EndlessFrames => endless_frames(connection).await,
        Scenario::LongFrames => long_frames(connection).await,
        Scenario::LateBytes => late_bytes(connection, &good).await,
        Scenario::Parity => parity(connection).await,
        Scenario::ParityTooShort => parity_too_short(connection).await,
        Scenario::Video(video) => hostile_video::attack(connection, *video).await,
        Scenario::ClockThatJumps(from) => hostile_video::clock_that_jumps(connection, *from).await,
        Scenario::TinyFrames => tiny_frames(connection).await,
        Scenario::Undecodable => frames(connection, &[0xA5; 1000]).await,
        Scenario::NoModel | Scenario::ModelStops => frames(connection, &good).await,
        _ => Ok(()),
    }
}

/// Sends frames on every stream that never end.
async fn endless_frames(connection: &Connection) -> Result<(), Ended> {
    let writing = on_every_stream(connection, endless_frame, MAX_FRAME);
    let _ = timeout(Duration::from_secs(3), writing).await;
    connection.close(Code::Done.number().into(), b"");
    Ok(())
}

/// Sends ten frames of the greatest length.
async fn long_frames(connection: &Connection) -> Result<(), Ended> {
    let long = picture(SIZE.0, SIZE.1, &vec![0xA5; usize::try_from(MAX_FRAME)? - MAX_HEADER]);
    for id in 0..10 {
        frame(connection, id, &long).await?.stopped().await?;
    }
    connection.close(Code::Done.number().into(), b"");
    Ok(())
}

/// Sends a frame, and late bytes of it that leave gaps and overlap.
async fn late_bytes(connection: &Connection, good: &[u8]) -> Result<(), Ended> {
    frame(connection, 0, good).await?.stopped().await?;
    let late = |at: u64| {
        StreamHead::Late(LateHeader { id: 0, offset: good.len() as u64 + at % 5 * 700 * at, full: MAX_FRAME })
    };
    let writing = on_every_stream(connection, |at| late(at).encode(), MAX_FRAME / 4);
    let _ = timeout(Duration::from_secs(3), writing).await;
    connection.close(Code::Done.number().into(), b"");
    Ok(())
}

/// Sends frames whose parity replaces what never arrives.
async fn parity(connection: &Connection) -> Result<(), Ended> {
    let unfinished = protected_frames(connection, 360_000, 372_000).await?;
    sleep(Duration::from_secs(1)).await;
    connection.close(Code::Done.number().into(), b"");
    drop(unfinished);
    Ok(())
}

/// Sends parity of streams that then have more bytes than it stated.
async fn parity_too_short(connection: &Connection) -> Result<(), Ended> {
    let mut unfinished = protected_frames(connection, 1000, 1100).await?;
    sleep(Duration::from_millis(500)).await;
    for stream in &mut unfinished {
        stream.write_all(&[1; 200]).await?;
    }
    connection.closed().await;
    drop(unfinished);
    Ok(())
}

/// Sends a frame every 20 ms, while the receiver accepts them.
async fn frames(connection: &Connection, bytes: &[u8]) -> Result<(), Ended> {
    for id in 0.. {
        frame(connection, id, bytes).await?;
        sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

pub(crate) async fn frame(connection: &Connection, id: u64, bytes: &[u8]) -> Result<SendStream, Ended> {
    let full = bytes.len() as u64;
    let header = FrameHeader { id, skipped: 0, captured: 0, full, base: full.min(64) };
    let mut stream = connection.open_uni().await?;
    stream.write_all(&StreamHead::Frame(header).encode()).await?;
    stream.write_all(bytes).await?;
    stream.finish()?;
    Ok(stream)
}

async fn tiny_frames(connection: &Connection) -> Result<(), Ended> {
    for id in 0.. {
        frame(connection, id, &[0]).await?;
    }
    Ok(())
}

/// Sends thirty frames with `bytes` of their bytes each, which do not end, each with the parity of a stream of `length`
/// bytes. Sends parity alone first, because a receiver keeps nothing for it until some arrives.
async fn protected_frames(connection: &Connection, bytes: usize, length: u64) -> Result<Vec<SendStream>, Ended> {
    let mut unfinished = Vec::new();
    send_parity(connection, 0, length).await?;
    sleep(Duration::from_millis(300)).await;
    for id in 0..30 {
        let mut stream = connection.open_uni().await?;
        stream.write_all(&endless_frame(id)).await?;
        stream.write_all(&vec![1; bytes]).await?;
        send_parity(connection, VarInt::from(stream.id()).into_inner(), length).await?;
        unfinished.push(stream);
    }
    Ok(unfinished)
}

/// Sends parity of arbitrary bytes, which replaces few.
async fn send_parity(connection: &Connection, stream: u64, length: u64) -> Result<(), Ended> {
    let header = ParityHeader { stream, length, pieces: 1, block: 32 };
    let mut parity = connection.open_uni().await?;
    parity.write_all(&StreamHead::Parity(header).encode()).await?;
    parity.write_all(&vec![7; header.parity_bytes()]).await?;
    Ok(parity.finish()?)
}

fn endless_frame(id: u64) -> Bytes {
    StreamHead::Frame(FrameHeader { id, skipped: 0, captured: 0, full: MAX_FRAME, base: MAX_FRAME }).encode()
}

/// Opens all streams at once, and writes all bytes except the last on each.
async fn on_every_stream(connection: &Connection, head: impl Fn(u64) -> Bytes, length: u64) -> Result<(), Ended> {
    let body = Bytes::from(vec![1; usize::try_from(length)? - 1]);
    let mut writing = JoinSet::new();
    for id in 0..MAX_STREAMS {
        let (connection, head, body) = (connection.clone(), head(id), body.clone());
        writing.spawn(async move {
            let mut stream = connection.open_uni().await?;
            stream.write_all(&head).await?;
            stream.write_all(&body).await?;
            // The streams do not end while the connection lives.
            connection.closed().await;
            drop(stream);
            Ok::<_, Ended>(())
        });
    }
    writing.join_all().await.into_iter().collect()
}

fn photo() -> (ModelId, PackageHash) {
    let package = Package::builtin("photo").expect("it is built in");
    (package.id(), PackageHash(package.hash()))
}

/// Makes a stream with a valid header of 15 planes, and an arbitrary body.
fn picture(width: u32, height: u32, body: &[u8]) -> Vec<u8> {
    let mut stream = b"nst\x01\x01".to_vec();
    for side in [width - 1, height - 1] {
        let [low, high, ..] = (side << 1).to_le_bytes();
        stream.extend(if side < 128 { vec![low >> 1] } else { vec![low >> 1 | 0x80, high] });
    }
    stream.extend(photo().0.0);
    stream.push(15);
    stream.extend([0; 4]);
    stream.extend(body);
    stream
}
