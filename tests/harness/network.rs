//! Broadcasts over a simulated link in virtual time: the sender's feed, its QUIC and its congestion control as they are,
//! and receivers that put frames together as the session says. The same seed, the same run.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use nestcast_lab::link::Link;
use nestcast_proto::{
    Arrived, Bases, Control, DecoderKind, Frame, FrameHeader, Hello, Message, PackageHash, ReceiveStats, StreamHead,
    Subscriber, Welcome,
};
use nestcast_receiver::Trust;
use nestcast_receiver::measured::client_config;
use nestcast_sender::{Identity, measured};
use quinn::{Connection, Endpoint, RecvStream, SendStream, ServerConfig, VarInt};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::bottleneck::{Bottleneck, Passage};

/// Frames come at 30 a second.
pub const INTERVAL: Duration = Duration::from_micros(33_333);
/// More than any link here carries.
pub const FULL: usize = 60_000;
/// A base of half a packet.
pub const BASE: usize = 400;
/// Frames on their way to the feeds.
const WAITING: usize = 4;
const READ: usize = 64 * 1024;

/// A link of a recording: seconds and Mbit/s on each line.
///
/// # Panics
/// If it is none.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates are positive and small")]
#[must_use]
pub fn recorded(text: &str) -> Link {
    let numbers = |line: &str| {
        let mut numbers = line.split_whitespace().map(|word| word.parse().expect("a number"));
        (numbers.next().expect("seconds"), numbers.next().expect("Mbit/s"))
    };
    let rate = |(at, megabits): (f64, f64)| (Duration::from_secs_f64(at), (megabits * 1e6) as u64);
    Link::varying(text.lines().map(|line| rate(numbers(line))).collect())
}

/// A link whose rate steps at whole seconds.
#[must_use]
pub fn steps(rates: &[(u64, u64)]) -> Link {
    Link::varying(rates.iter().map(|&(second, bits)| (Duration::from_secs(second), bits)).collect())
}

/// What a broadcast sends, and to how many.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// How long it lasts.
    pub time: Duration,
    /// Bytes of each frame, and of its base.
    pub full: usize,
    /// See `full`.
    pub base: usize,
    /// Receivers that share the link. Each joins a second after the one before.
    pub receivers: usize,
    /// A download over QUIC with CUBIC shares the link, from this moment on.
    pub download: Option<Duration>,
    /// The peer acknowledges when so many packets came or after so long, if not as the sender asks by itself.
    pub acks: Option<(u32, Duration)>,
}

impl Scenario {
    /// Frames of more than a link carries, to one receiver.
    #[must_use]
    pub const fn lasting(time: Duration) -> Self {
        Self { time, full: FULL, base: BASE, receivers: 1, download: None, acks: None }
    }
}

/// What a run gave.
#[derive(Debug)]
pub struct Outcome {
    /// Of each receiver.
    pub receivers: Vec<Seen>,
    /// The packets of the broadcast on the link.
    pub passages: Vec<Passage>,
    /// Bytes that the download brought, by time.
    pub downloaded: Vec<(Duration, usize)>,
}

/// What one receiver saw.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Frames in the order in which they were shown, with their times.
    pub shown: Vec<Arrived>,
    /// Its counts.
    pub received: ReceiveStats,
}

impl Seen {
    /// Bytes of frames that were shown between two moments.
    #[must_use]
    pub fn bytes(&self, from: Duration, to: Duration) -> u64 {
        let within = self.shown.iter().filter(|shown| (from..to).contains(&shown.shown));
        within.map(|shown| shown.prefix.len() as u64).sum()
    }

    /// From capture until it was shown: of half of the frames between two moments it took no longer.
    #[must_use]
    pub fn latency(&self, from: Duration, to: Duration) -> Duration {
        let within = self.shown.iter().filter(|shown| (from..to).contains(&shown.shown));
        let mut latencies: Vec<_> =
            within.map(|shown| shown.shown.saturating_sub(Duration::from_micros(shown.header.captured))).collect();
        latencies.sort_unstable();
        latencies.get(latencies.len() / 2).copied().unwrap_or_default()
    }
}

impl Outcome {
    /// The only receiver's.
    #[must_use]
    pub fn seen(&self) -> &Seen {
        &self.receivers[0]
    }

    /// Of what the link carried between two moments, the share that was bytes of frames that were shown, in percent.
    #[must_use]
    pub fn used(&self, link: &Link, from: Duration, to: Duration) -> f64 {
        let bytes: u64 = self.receivers.iter().map(|seen| seen.bytes(from, to)).sum();
        bytes as f64 * 800.0 / link.capacity(from, to)
    }

    /// The same of the download's bytes.
    #[must_use]
    pub fn used_by_download(&self, link: &Link, from: Duration, to: Duration) -> f64 {
        let within = self.downloaded.iter().filter(|(at, _)| (from..to).contains(at));
        let bytes: usize = within.map(|(_, bytes)| bytes).sum();
        bytes as f64 * 800.0 / link.capacity(from, to)
    }

    /// How evenly the receivers share what they get between two moments: 1 if all get the same, 1/n if one of n gets all
    /// (Jain, Chiu, Hawe 1984).
    #[must_use]
    pub fn fairness(&self, from: Duration, to: Duration) -> f64 {
        let shares = self.receivers.iter().map(|seen| seen.bytes(from, to) as f64);
        let (sum, squares) = shares.fold((0.0, 0.0), |(sum, squares), share| (sum + share, squares + share * share));
        sum * sum / squares / self.receivers.len() as f64
    }

    /// Frames that a receiver did not get to show, of all receivers.
    #[must_use]
    pub fn blank(&self) -> u64 {
        self.receivers.iter().map(|seen| seen.received.blank).sum()
    }

    /// The wait in the queue that 95 % of the packets between two moments stayed below.
    #[must_use]
    pub fn queue_p95(&self, from: Duration, to: Duration) -> Duration {
        let within = self.passages.iter().filter(|passage| (from..to).contains(&passage.at));
        let mut waits: Vec<_> = within.filter_map(|passage| passage.wait).collect();
        waits.sort_unstable();
        waits.get(waits.len() * 95 / 100).copied().unwrap_or_default()
    }

    /// Packets between two moments that the queue had no room for.
    #[must_use]
    pub fn dropped(&self, from: Duration, to: Duration) -> usize {
        let within = self.passages.iter().filter(|passage| (from..to).contains(&passage.at));
        within.filter(|passage| passage.wait.is_none()).count()
    }
}

/// Broadcasts over `link`.
///
/// # Panics
/// If a connection cannot be made or a side breaks the session's rules.
#[must_use]
pub fn broadcast(link: &Link, scenario: Scenario) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(run(link, scenario))
}

async fn run(link: &Link, scenario: Scenario) -> Outcome {
    let network = Bottleneck::new(link);
    let identity = identity();
    let trust = Trust::fingerprint(&identity.fingerprint().to_string()).expect("a fingerprint");
    let mut config = measured::server_config(identity).expect("a configuration");
    if let Some((every, within)) = scenario.acks {
        measured::ask_for_acks(&mut config, every, within);
    }
    let endpoint = network.server(config.clone());
    let address = endpoint.local_addr().expect("it is bound");
    let welcome = Welcome { model: [1; 6], package: PackageHash([1; 32]), width: 1, height: 1, rate: (30, 1) };
    let (frames, inlet) = mpsc::channel(WAITING);
    tokio::spawn(measured::serve((endpoint, config.clone()), welcome, INTERVAL, inlet));
    tokio::spawn(make_frames(frames, scenario));
    let download = scenario
        .download
        .map(|from| tokio::spawn(download(network.clone(), trust.clone(), config, (from, scenario.time))));
    let receivers: Vec<_> = (0..scenario.receivers)
        .map(|index| {
            let (network, trust) = (network.clone(), trust.clone());
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(index as u64)).await;
                watch(&network, &trust, address, scenario.time).await
            })
        })
        .collect();
    let mut seen = Vec::new();
    for receiver in receivers {
        seen.push(receiver.await.expect("no panic"));
    }
    let downloaded = match download {
        Some(download) => download.await.expect("no panic"),
        None => Vec::new(),
    };
    let passages = network.passages().into_iter().filter(|passage| passage.server == address).collect();
    Outcome { receivers: seen, passages, downloaded }
}

/// With a serial number, a key and signatures that always have one length, so that every run sends the same packets.
fn identity() -> Identity {
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).expect("a key");
    let mut parameters = rcgen::CertificateParams::new(["localhost".to_owned()]).expect("a name");
    parameters.serial_number = Some(rcgen::SerialNumber::from(1));
    let certificate = parameters.self_signed(&key).expect("a certificate");
    let folder = tempfile::tempdir().expect("a folder");
    let [chain, secret] = ["chain.pem", "key.pem"].map(|name| folder.path().join(name));
    std::fs::write(&chain, certificate.pem()).expect("it is written");
    std::fs::write(&secret, key.serialize_pem()).expect("it is written");
    Identity::from_pem(&chain, &secret).expect("an identity")
}

async fn make_frames(frames: mpsc::Sender<Frame>, scenario: Scenario) {
    let bytes = Bytes::from(vec![7; scenario.full]);
    let began = Instant::now();
    let mut due = tokio::time::interval_at(began + INTERVAL, INTERVAL);
    for id in 0.. {
        let captured = u64::try_from((due.tick().await - began).as_micros()).expect("a short time");
        let frame = Frame { id, skipped: 0, captured, base: scenario.base, bytes: bytes.clone() };
        if began.elapsed() >= scenario.time || frames.send(frame).await.is_err() {
            return;
        }
    }
}

/// What a stream of a broadcast brought.
enum Event {
    Head(FrameHeader),
    Bytes(u64, Bytes),
    End(u64),
    Base(FrameHeader, Bytes),
}

/// Receives until `end`, on the link's clock.
async fn watch(network: &Bottleneck, trust: &Trust, address: SocketAddr, end: Duration) -> Seen {
    let endpoint = network.client();
    let connection = connect(&endpoint, trust, address).await;
    let _control = greet(&connection).await;
    let mut subscriber = Subscriber::new(INTERVAL);
    let (events, mut inbox) = mpsc::unbounded_channel();
    let mut shown = Vec::new();
    let began = Instant::now() - network.now();
    while network.now() < end {
        let due = subscriber.poll_timeout().map_or(end, |due| due.min(end));
        tokio::select! {
            biased;
            Some(event) = inbox.recv() => {
                let now = network.now();
                match event {
                    Event::Head(header) => subscriber.handle_head(now, header).expect("the sender keeps the rules"),
                    Event::Bytes(id, bytes) => subscriber.handle_bytes(now, id, &bytes).expect("the sender keeps the rules"),
                    Event::End(id) => subscriber.handle_end(id),
                    Event::Base(header, base) => subscriber.handle_base(now, header, &base),
                }
            }
            stream = connection.accept_uni() => {
                tokio::spawn(read(stream.expect("the sender stays"), events.clone()));
            }
            () = tokio::time::sleep_until(began + due) => {}
        }
        subscriber.handle_round_trip(connection.rtt());
        shown.extend(std::iter::from_fn(|| subscriber.poll(network.now())));
    }
    connection.close(VarInt::from_u32(0), b"");
    Seen { shown, received: subscriber.stats() }
}

async fn connect(endpoint: &Endpoint, trust: &Trust, address: SocketAddr) -> Connection {
    let config = client_config(trust).expect("a configuration");
    let connecting = endpoint.connect_with(config, address, "localhost").expect("a valid address");
    connecting.await.expect("the server answers")
}

/// Says hello and waits for the welcome; the control stream stays open as long as what it gives.
async fn greet(connection: &Connection) -> (SendStream, RecvStream) {
    let (mut outgoing, mut incoming) = connection.open_bi().await.expect("a stream");
    let hello = Hello { token: Bytes::new(), max_bitrate: None, decoder: DecoderKind::Linear };
    outgoing.write_chunk(Message::Hello(hello).encode()).await.expect("it is taken");
    let mut control = Control::default();
    while control.poll().expect("the sender keeps the rules").is_none() {
        let chunk = incoming.read_chunk(READ, true).await.expect("a stream").expect("a welcome");
        control.handle_bytes(&chunk.bytes);
    }
    (outgoing, incoming)
}

/// Reads one frame's stream, or what comes of it.
async fn read(mut stream: RecvStream, events: mpsc::UnboundedSender<Event>) {
    let mut start = BytesMut::new();
    let (head, length) = loop {
        let Ok(Some(chunk)) = stream.read_chunk(READ, true).await else { return };
        start.extend_from_slice(&chunk.bytes);
        if let Some(parsed) = StreamHead::parse(&start).expect("the sender keeps the rules") {
            break parsed;
        }
    };
    let mut next = Some(start.split_off(length).freeze());
    let header = match head {
        StreamHead::Frame(header) => header,
        StreamHead::Bases => {
            let mut bases = Bases::default();
            while let Some(bytes) = next {
                bases.handle_bytes(&bytes);
                while let Some((header, base)) = bases.poll().expect("the sender keeps the rules") {
                    let _ = events.send(Event::Base(header, base));
                }
                next = stream.read_chunk(READ, true).await.ok().flatten().map(|chunk| chunk.bytes);
            }
            return;
        }
        StreamHead::Model(_) => return,
    };
    // Whoever no longer listens has seen enough.
    let _ = events.send(Event::Head(header));
    while let Some(bytes) = next {
        let _ = events.send(Event::Bytes(header.id, bytes));
        next = stream.read_chunk(READ, true).await.ok().flatten().map(|chunk| chunk.bytes);
    }
    let _ = events.send(Event::End(header.id));
}

/// Downloads from `from` until `end` over QUIC as quinn has it by itself: CUBIC (RFC 9438), and no limit but the link.
async fn download(
    network: Bottleneck,
    trust: Trust,
    mut config: ServerConfig,
    (from, end): (Duration, Duration),
) -> Vec<(Duration, usize)> {
    config.transport_config(Arc::default());
    let server = network.server(config);
    let address = server.local_addr().expect("it is bound");
    tokio::spawn(async move {
        let connection = server.accept().await.expect("it is open").await.expect("a client");
        let mut stream = connection.open_uni().await.expect("a stream");
        while stream.write_all(&[0; READ]).await.is_ok() {}
    });
    tokio::time::sleep(from.saturating_sub(network.now())).await;
    let mut config = client_config(&trust).expect("a configuration");
    config.transport_config(Arc::default());
    let connecting = network.client().connect_with(config, address, "localhost").expect("a valid address");
    let connection = connecting.await.expect("the server answers");
    let mut stream = connection.accept_uni().await.expect("a stream");
    let mut came = Vec::new();
    while network.now() < end {
        let Ok(Some(chunk)) = stream.read_chunk(READ, true).await else { break };
        came.push((network.now(), chunk.bytes.len()));
    }
    came
}
