//! Broadcasts over a simulated link in virtual time: the real sender and receiver, with their QUIC and their congestion
//! control, over sockets of the link. The same seed gives the same run.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use nestcast_lab::bottleneck::{Bottleneck, Passage};
use nestcast_lab::link::Link;
use nestcast_lab::pace::microseconds;
use nestcast_proto::{Bitrate, FrameHeader, ReceiveStats, ReceivedFrame, Sound};
use nestcast_receiver::{FrameSink, Trust, receive_over};
use nestcast_sender::{Acknowledge, Broadcast, FrameSource, Identity, SoundFanout};
use quinn::{Endpoint, EndpointConfig, ServerConfig, TokioRuntime};

use crate::still_frames::StillFrames;
use crate::tls;

/// The interval of 30 frames a second.
pub const INTERVAL: Duration = Duration::from_micros(33_333);
/// Bytes of a frame: more than any link here carries.
pub const FULL: usize = 60_000;
/// Bytes of a base: about half a packet.
pub const BASE: usize = 400;
/// The most bytes of a download's read.
const MAX_READ_BYTES: usize = 64 * 1024;

/// Makes a link whose rate steps at whole seconds.
#[must_use]
pub fn steps(rates: &[(u64, u64)]) -> Link {
    Link::varying(rates.iter().map(|&(second, bits)| (Duration::from_secs(second), bits)).collect())
}

/// Makes a link whose rate falls by the same factor in each tenth of a second from `before` to `after`, for `time`, and
/// rises likewise.
#[must_use]
pub fn slide(before: u64, after: u64, time: Duration) -> Link {
    let step = Duration::from_millis(100);
    let steps = u32::try_from(time.as_millis() / step.as_millis()).expect("a short time");
    let rate = |at: u32| before as f64 * (after as f64 / before as f64).powf(f64::from(at) / f64::from(steps));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates are positive")]
    let at = |number: u32| (step * number, rate(number.min(2 * steps - number)).round() as u64);
    Link::varying((0..=2 * steps).map(at).collect())
}

/// The frames of a broadcast, and its receivers.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// The duration.
    pub time: Duration,
    /// Bytes of each frame.
    pub full: usize,
    /// Bytes of each frame's base.
    pub base: usize,
    /// Whether every frame needs the ones before.
    pub video: bool,
    /// Receivers that share the link. Each joins a second after the one before.
    pub receivers: usize,
    /// When the first one joins.
    pub joins: Duration,
    /// The moment from which a download over QUIC with CUBIC shares the link.
    pub download: Option<Duration>,
    /// When receivers should acknowledge, if not as the sender asks by default.
    pub acknowledge: Option<Acknowledge>,
    /// Bytes of a packet of sound, if there is sound.
    pub sound: Option<usize>,
}

impl Scenario {
    /// Broadcasts frames of more than a link carries, to one receiver.
    #[must_use]
    pub const fn lasting(time: Duration) -> Self {
        let (receivers, joins) = (1, Duration::ZERO);
        Self {
            time,
            full: FULL,
            base: BASE,
            video: false,
            receivers,
            joins,
            download: None,
            acknowledge: None,
            sound: None,
        }
    }

    /// Does the same with video for a link of `rate` bits a second: a base has 0.4 of the 0.9 of the link that is for
    /// frames.
    #[must_use]
    pub fn of_video(self, rate: u64) -> Self {
        let base = Bitrate::from_bits(rate * 36 / 100).bytes_in(INTERVAL);
        Self { base: usize::try_from(base).expect("a frame's"), video: true, ..self }
    }
}

/// A receiver.
#[derive(Debug)]
pub struct Viewer<S> {
    /// When it joins.
    pub joins: Duration,
    /// The index of its link.
    pub link: usize,
    /// The most that it asks for.
    pub cap: Option<Bitrate>,
    /// The sink of its frames.
    pub sink: S,
}

/// The results of a run.
#[derive(Debug)]
pub struct Outcome<S = Seen> {
    /// The results of each receiver.
    pub receivers: Vec<S>,
    /// The packets of the broadcast on the link.
    pub passages: Vec<Passage>,
    /// Bytes that the download received, by time.
    pub downloaded: Vec<(Duration, usize)>,
}

/// A frame that was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownFrame {
    /// Its header.
    pub header: FrameHeader,
    /// Bytes that arrived in time.
    pub bytes: usize,
    /// When it was shown, on the link's clock.
    pub shown: Duration,
}

/// What one receiver showed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Frames in the order in which they were shown.
    pub shown: Vec<ShownFrame>,
    /// Its counts after the last frame.
    pub received: ReceiveStats,
}

impl Seen {
    /// Returns the bytes of frames shown between two moments.
    #[must_use]
    pub fn bytes(&self, from: Duration, to: Duration) -> u64 {
        let within = self.shown.iter().filter(|shown| (from..to).contains(&shown.shown));
        within.map(|shown| shown.bytes as u64).sum()
    }

    /// Returns the latency that `percent` percent of the frames between two moments do not exceed, from capture until
    /// shown.
    #[must_use]
    pub fn latency(&self, percent: usize, from: Duration, to: Duration) -> Duration {
        let within = self.shown.iter().filter(|shown| (from..to).contains(&shown.shown));
        let mut latencies: Vec<_> =
            within.map(|shown| shown.shown.saturating_sub(Duration::from_micros(shown.header.captured))).collect();
        latencies.sort_unstable();
        latencies.get(latencies.len() * percent / 100).copied().unwrap_or_default()
    }
}

impl Outcome {
    /// Returns the only receiver's results.
    #[must_use]
    pub fn seen(&self) -> &Seen {
        &self.receivers[0]
    }

    /// Returns the share, in percent, of the link's capacity between two moments that bytes of shown frames used.
    #[must_use]
    pub fn used(&self, link: &Link, from: Duration, to: Duration) -> f64 {
        let bytes: u64 = self.receivers.iter().map(|seen| seen.bytes(from, to)).sum();
        bytes as f64 * 800.0 / link.capacity(from, to)
    }

    /// Returns the same for the download's bytes.
    #[must_use]
    pub fn used_by_download(&self, link: &Link, from: Duration, to: Duration) -> f64 {
        let within = self.downloaded.iter().filter(|(at, _)| (from..to).contains(at));
        let bytes: usize = within.map(|(_, bytes)| bytes).sum();
        bytes as f64 * 800.0 / link.capacity(from, to)
    }

    /// Returns how evenly the receivers share the bytes between two moments: 1 if all get the same, 1/n if one of n
    /// gets all (Jain, Chiu, Hawe 1984).
    #[must_use]
    pub fn fairness(&self, from: Duration, to: Duration) -> f64 {
        let shares = self.receivers.iter().map(|seen| seen.bytes(from, to) as f64);
        let (sum, squares) = shares.fold((0.0, 0.0), |(sum, squares), share| (sum + share, squares + share * share));
        sum * sum / squares / self.receivers.len() as f64
    }

    /// Returns the frames that receivers could not show, over all receivers.
    #[must_use]
    pub fn missing_bases(&self) -> u64 {
        self.receivers.iter().map(|seen| seen.received.missing_bases).sum()
    }

    /// Returns the wait in the queue that 95 % of the packets between two moments stayed below.
    #[must_use]
    pub fn queue_p95(&self, from: Duration, to: Duration) -> Duration {
        let within = self.passages.iter().filter(|passage| (from..to).contains(&passage.at));
        let mut waits: Vec<_> = within.filter_map(|passage| passage.wait).collect();
        waits.sort_unstable();
        waits.get(waits.len() * 95 / 100).copied().unwrap_or_default()
    }

    /// Returns the packets between two moments for which the queue had no room.
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
    let source = StillFrames::new(scenario.full, scenario.base, scenario.time);
    let source = if scenario.video { source.of_video() } else { source };
    let outcome = broadcast_from(std::slice::from_ref(link), scenario, source, |network| {
        let viewer = |index| {
            let sink = Notes { network: network.clone(), seen: Seen::default() };
            Viewer { joins: scenario.joins + Duration::from_secs(index as u64), link: 0, cap: None, sink }
        };
        (0..scenario.receivers).map(viewer).collect()
    });
    let Outcome { receivers, passages, downloaded } = outcome;
    Outcome { receivers: receivers.into_iter().map(|notes| notes.seen).collect(), passages, downloaded }
}

/// Broadcasts frames of `source` over `links` to these viewers, whatever `scenario` says of both. A download shares the
/// first link.
///
/// # Panics
/// If a connection cannot be made or a side breaks the session's rules.
#[must_use]
pub fn broadcast_from<S: FrameSink + 'static>(
    links: &[Link],
    scenario: Scenario,
    source: impl FrameSource,
    viewers: impl FnOnce(&Bottleneck) -> Vec<Viewer<S>>,
) -> Outcome<S> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let run = async {
        let network = Bottleneck::new(links);
        let viewers = viewers(&network);
        run(network, scenario, source, viewers).await
    };
    runtime.expect("a runtime").block_on(run)
}

async fn run<S: FrameSink + 'static>(
    network: Bottleneck,
    scenario: Scenario,
    source: impl FrameSource,
    viewers: Vec<Viewer<S>>,
) -> Outcome<S> {
    let identity = identity();
    let trust = Trust::fingerprint(&identity.fingerprint().to_string()).expect("a fingerprint");
    let (socket, seed) = network.server();
    let address = socket.local_addr().expect("it is bound");
    let socket = nestcast_sender::SenderSocket::simulated(socket, seed).expect("it is bound");
    let acknowledge = scenario.acknowledge.unwrap_or_default();
    let sound = scenario.sound.map(|_| Sound::Stereo);
    let config =
        nestcast_sender::SenderConfig { acknowledge, sound, ..nestcast_sender::SenderConfig::new(address, identity) };
    let broadcast = Broadcast::over(socket, config, source).expect("a configuration");
    if let Some(bytes) = scenario.sound {
        tokio::spawn(speak(network.clone(), broadcast.sound(), bytes));
    }
    tokio::spawn(broadcast.run(std::future::pending()));
    let download = scenario.download.map(|from| tokio::spawn(download(network.clone(), (from, scenario.time))));
    let receivers: Vec<_> = viewers
        .into_iter()
        .map(|viewer| {
            let (network, trust) = (network.clone(), trust.clone());
            tokio::spawn(async move {
                tokio::time::sleep(viewer.joins).await;
                watch(network, trust, address, (scenario.time, viewer)).await
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

/// Sends a packet of sound every 20 ms. It was captured when it is sent, on the link's clock.
async fn speak(network: Bottleneck, sound: SoundFanout, bytes: usize) {
    let mut due = tokio::time::interval(Duration::from_millis(20));
    loop {
        due.tick().await;
        assert!(sound.send(microseconds(network.now()), vec![7; bytes].into()), "it is a packet");
    }
}

/// Makes an identity whose serial number, key and signatures always have one length, so that every run sends the same
/// packets.
#[must_use]
pub fn identity() -> Identity {
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

/// Records received frames.
struct Notes {
    network: Bottleneck,
    seen: Seen,
}

impl FrameSink for Notes {
    type Error = Infallible;

    fn handle_frame(&mut self, frame: ReceivedFrame, stats: ReceiveStats) -> Result<(), Infallible> {
        let (header, bytes, shown) = (frame.header, frame.prefix.len(), self.network.now());
        self.seen.shown.push(ShownFrame { header, bytes, shown });
        self.seen.received = stats;
        Ok(())
    }
}

/// Receives until `end`, on the link's clock.
async fn watch<S: FrameSink>(
    network: Bottleneck,
    trust: Trust,
    address: SocketAddr,
    (end, mut viewer): (Duration, Viewer<S>),
) -> S {
    let (socket, seed) = network.client(viewer.link);
    let left = end.saturating_sub(network.now());
    // The name is sent, and another name would change the packets' lengths.
    let name = "localhost".to_owned();
    let max_bitrate = viewer.cap;
    let config = nestcast_receiver::ReceiverConfig {
        name,
        max_bitrate,
        ..nestcast_receiver::ReceiverConfig::new(address, trust)
    };
    let socket = nestcast_receiver::ReceiverSocket::simulated(socket, seed);
    receive_over(socket, config, &mut viewer.sink, tokio::time::sleep(left)).await.expect("both keep the rules");
    viewer.sink
}

/// Downloads between two moments over QUIC with quinn's defaults: CUBIC (RFC 9438), limited only by the link.
async fn download(network: Bottleneck, (from, end): (Duration, Duration)) -> Vec<(Duration, usize)> {
    let (config, _) = tls::server();
    let server = endpoint(network.server(), Some(config));
    let address = server.local_addr().expect("it is bound");
    tokio::spawn(async move {
        let connection = server.accept().await.expect("it is open").await.expect("a client");
        let mut stream = connection.open_uni().await.expect("a stream");
        while stream.write_all(&[0; MAX_READ_BYTES]).await.is_ok() {}
    });
    tokio::time::sleep(from.saturating_sub(network.now())).await;
    let connecting = endpoint(network.client(0), None).connect_with(tls::client(), address, "localhost");
    let connection = connecting.expect("a valid address").await.expect("the server answers");
    let mut stream = connection.accept_uni().await.expect("a stream");
    let mut came = Vec::new();
    while network.now() < end {
        let Ok(Some(chunk)) = stream.read_chunk(MAX_READ_BYTES, true).await else { break };
        came.push((network.now(), chunk.bytes.len()));
    }
    came
}

/// Opens QUIC over a socket of the network.
fn endpoint((socket, seed): (Arc<dyn quinn::AsyncUdpSocket>, [u8; 32]), config: Option<ServerConfig>) -> Endpoint {
    let mut own = EndpointConfig::default();
    own.rng_seed(Some(seed));
    let made = Endpoint::new_with_abstract_socket(own, config, socket, Arc::new(TokioRuntime));
    made.expect("an endpoint over a socket that is there")
}
