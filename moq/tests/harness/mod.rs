//! A broadcast of made-up video, a relay in this process, and a sink that counts.

#![allow(dead_code, reason = "each test program uses its part")]

pub(crate) mod local;
pub(crate) mod plain;
pub(crate) mod program;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use nestcast_moq::{Config, Rates, RelayUrl, Relayed, publish, receive};
use nestcast_proto::{
    BroadcastFrame, DecoderKind, Demand, Frame, FrameRate, PackageHash, RandomAccessFrame, ReceiveStats, ReceivedFrame,
    Sound, SoundPacket, SourceError, Video, Welcome,
};
use nestcast_receiver::{FrameSink, Latency, Trust};
use nestcast_sender::{Broadcast, FrameSource, Identity};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

/// Frames a second.
pub(crate) const FRAMES_PER_SECOND: u32 = 30;
/// Bytes of a frame, 14.4 Mbit/s, and of its base layer.
pub(crate) const FRAME_BYTES: usize = 60_000;
pub(crate) const BASE_BYTES: usize = 1200;
/// Bytes of a packet of sound: 24 kbit/s.
const SOUND_BYTES: usize = 60;
/// Bytes of a random-access frame.
const JOIN_BYTES: usize = 24_000;
/// The base layer of a random-access frame, as a multiple of that of another frame.
const JOIN_BASES: usize = 5;

/// Returns the time since 1970.
pub(crate) fn wall_clock() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970")
}

/// Video whose bytes say which frame and which byte they are.
pub(crate) struct Made {
    ticks: tokio::time::Interval,
    /// Bytes of a base layer.
    base: usize,
    next: u64,
    end: u64,
}

impl Made {
    /// Makes frames for this long.
    pub(crate) fn for_time(time: Duration) -> Self {
        let mut ticks = interval(Duration::from_secs(1) / FRAMES_PER_SECOND);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            ticks,
            base: BASE_BYTES,
            next: 0,
            end: u64::try_from(time.as_millis()).expect("short") * u64::from(FRAMES_PER_SECOND) / 1000,
        }
    }

    /// Sets the bytes of a frame's base layer.
    pub(crate) fn with_base(self, base: usize) -> Self {
        Self { base, ..self }
    }
}

/// Returns the bytes of frame `id`; a random-access frame's are different.
pub(crate) fn content(id: u64, length: usize, is_join: bool) -> Bytes {
    let seed = id.wrapping_mul(2).wrapping_add(u64::from(is_join)).wrapping_mul(0x9E37_79B9);
    (0..length).map(|at| (seed.wrapping_add(at as u64 / 8) % 253) as u8).collect::<Vec<_>>().into()
}

/// Returns the announcement of that video.
pub(crate) fn welcome() -> Welcome {
    Welcome {
        model: [1; 6],
        package: PackageHash([0; 32]),
        width: 640,
        height: 360,
        rate: FrameRate::new(FRAMES_PER_SECOND, 1).expect("a rate"),
        video: Some(Video::new([2; 6])),
    }
}

impl FrameSource for Made {
    fn welcome(&self) -> Welcome {
        welcome()
    }

    async fn next(&mut self, demand: &Demand) -> Result<Option<BroadcastFrame>, SourceError> {
        self.ticks.tick().await;
        let id = self.next;
        if id == self.end {
            return Ok(None);
        }
        self.next += 1;
        let useful = usize::try_from(demand.take_useful_bytes()).expect("small");
        let join = demand.take_random_access_request();
        let join =
            join.then(|| RandomAccessFrame { base: JOIN_BASES * self.base, bytes: content(id, JOIN_BYTES, true) });
        let captured = u64::try_from(wall_clock().as_micros()).expect("this century");
        let bytes = content(id, useful.clamp(self.base, FRAME_BYTES), false);
        Ok(Some(Frame { id, skipped: 0, captured, since: id, base: self.base, bytes, join }.into()))
    }
}

/// What a subscriber got.
#[derive(Debug, Clone, Default)]
pub(crate) struct Got {
    /// For each frame: its bytes, and the time from capture until it was handed over.
    pub(crate) frames: BTreeMap<u64, (usize, Duration)>,
    /// Frames that came with other bytes than those that were sent.
    pub(crate) wrong: u64,
    /// Frames handed over that do not continue the one before, with a random-access frame or not.
    pub(crate) joins: u64,
    pub(crate) breaks: u64,
    pub(crate) stats: ReceiveStats,
    /// For each packet of sound: the time from capture until it was handed over.
    pub(crate) sound: BTreeMap<u64, Duration>,
    pub(crate) connections: u64,
    /// When the first frame came, from the beginning of the subscription.
    pub(crate) first: Option<Duration>,
}

impl Got {
    /// Returns the share of the frames between the first and the last one that came, in percent.
    pub(crate) fn shown(&self) -> f64 {
        let (Some((first, _)), Some((last, _))) = (self.frames.first_key_value(), self.frames.last_key_value()) else {
            return 0.0;
        };
        100.0 * self.frames.len() as f64 / (last - first + 1) as f64
    }

    /// Returns the bits a second that were handed over in time between the first frame and the last.
    pub(crate) fn rate(&self) -> f64 {
        let bytes: usize = self.frames.values().map(|(bytes, _)| bytes).sum();
        bytes as f64 * 8.0 * f64::from(FRAMES_PER_SECOND) / self.frames.len().max(1) as f64
    }

    /// Returns this percentile of the time from capture until a frame was handed over.
    pub(crate) fn latency(&self, percent: usize) -> Duration {
        let mut all: Vec<_> = self.frames.values().map(|(_, latency)| *latency).collect();
        all.sort_unstable();
        all.get((all.len() * percent / 100).min(all.len().saturating_sub(1))).copied().unwrap_or_default()
    }

    /// Returns the share of the packets of sound between the first and the last one that came, in percent.
    pub(crate) fn heard(&self) -> f64 {
        let (Some((first, _)), Some((last, _))) = (self.sound.first_key_value(), self.sound.last_key_value()) else {
            return 0.0;
        };
        100.0 * self.sound.len() as f64 / (last - first + 1) as f64
    }

    /// Returns the figures of the frames after the first `skipped`.
    pub(crate) fn after(&self, skipped: u64) -> Self {
        let first = self.frames.first_key_value().map_or(0, |(first, _)| *first) + skipped;
        Self { frames: self.frames.clone().split_off(&first), ..self.clone() }
    }
}

/// Counts frames and checks their bytes.
#[derive(Debug, Clone)]
pub(crate) struct Counter {
    got: Arc<Mutex<Got>>,
    began: Instant,
    last: Option<u64>,
}

impl Default for Counter {
    fn default() -> Self {
        Self { got: Arc::default(), began: Instant::now(), last: None }
    }
}

impl Counter {
    pub(crate) fn got(&self) -> Got {
        self.got.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl FrameSink for Counter {
    type Error = Infallible;

    fn handle_connection(&mut self) {
        self.last = None;
        self.got.lock().unwrap_or_else(PoisonError::into_inner).connections += 1;
    }

    fn handle_sound_announced(&mut self, sound: Sound) -> bool {
        sound == Sound::Mono
    }

    fn handle_sound(&mut self, packet: SoundPacket) -> Result<(), Infallible> {
        let mut got = self.got.lock().unwrap_or_else(PoisonError::into_inner);
        got.wrong += u64::from(packet.bytes != vec![7; SOUND_BYTES]);
        got.sound.insert(packet.number, wall_clock().saturating_sub(Duration::from_micros(packet.captured)));
        Ok(())
    }

    fn handle_frame(&mut self, frame: ReceivedFrame, stats: ReceiveStats) -> Result<(), Infallible> {
        let ReceivedFrame { header, prefix, .. } = frame;
        let is_join = prefix == content(header.id, prefix.len(), true);
        let is_whole = prefix == content(header.id, prefix.len(), false);
        let mut got = self.got.lock().unwrap_or_else(PoisonError::into_inner);
        got.wrong += u64::from(!is_join && !is_whole);
        got.joins += u64::from(is_join);
        got.breaks += u64::from(!is_join && self.last.is_none_or(|last| last + 1 != header.id));
        self.last = Some(header.id);
        let began = self.began;
        got.first.get_or_insert_with(|| began.elapsed());
        let latency = wall_clock().saturating_sub(Duration::from_micros(header.captured));
        got.frames.insert(header.id, (prefix.len(), latency));
        got.stats = stats;
        Ok(())
    }
}

/// Broadcasts `source` at a relay too, until it ends; returns the broadcast's own address and fingerprint.
pub(crate) fn broadcast(tasks: &mut JoinSet<()>, source: Made, relay: &Place, rates: Rates) -> (SocketAddr, Trust) {
    let identity = Identity::generate().expect("an identity");
    let trust = Trust::fingerprint(&identity.fingerprint().to_string()).expect("a fingerprint");
    let mut config = nestcast_sender::SenderConfig::new(([127, 0, 0, 1], 0).into(), identity);
    config.sound = Some(Sound::Mono);
    let broadcast = Broadcast::listen(config, source).expect("a port");
    let sound = broadcast.sound();
    let relayed = Relayed::of(&broadcast.station()).expect("video");
    tasks.spawn(async move {
        let mut ticks = interval(Duration::from_millis(20));
        loop {
            ticks.tick().await;
            let captured = u64::try_from(wall_clock().as_micros()).expect("this century");
            assert!(sound.send(captured, Bytes::from(vec![7; SOUND_BYTES])));
        }
    });
    let address = broadcast.address().expect("an address");
    let Place { url, trust: of_relay } = relay.clone();
    tasks.spawn(async move {
        let published = publish(&url, &of_relay, rates, relayed, std::future::pending());
        if let Err(error) = published.await {
            eprintln!("the publisher: {error}");
        }
    });
    tasks.spawn(async move { broadcast.run(std::future::pending()).await.expect("a source that works") });
    (address, trust)
}

/// A broadcast at a relay, and which relay that is.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) url: RelayUrl,
    pub(crate) trust: Trust,
}

impl Place {
    pub(crate) fn new(address: SocketAddr, trust: Trust, path: &str) -> Self {
        Self { url: format!("moq://{address}/{path}").parse().expect("a URL"), trust }
    }

    /// Returns the relay's address.
    pub(crate) fn address(&self) -> SocketAddr {
        (self.url.host().parse::<IpAddr>().expect("an address"), self.url.port()).into()
    }

    /// Returns the same broadcast at another address, such as that of a link.
    pub(crate) fn at(&self, address: SocketAddr) -> Self {
        Self::new(address, self.trust.clone(), self.url.broadcast())
    }

    /// Returns the same place over WebTransport.
    pub(crate) fn over_web_transport(&self) -> Self {
        let path = self.url.path();
        let (scope, query) = path.split_once('?').unwrap_or((&path, ""));
        let (scope, query) = (scope.trim_end_matches('/'), format!("?{query}"));
        let (host, port, name) = (self.url.host(), self.url.port(), self.url.broadcast());
        let url = format!("https://{host}:{port}{scope}/{name}{}", query.trim_end_matches('?'));
        Self { url: url.parse().expect("a URL"), trust: self.trust.clone() }
    }

    pub(crate) fn config(&self, retry: Duration) -> Config {
        Config {
            url: self.url.clone(),
            trust: self.trust.clone(),
            decoder: DecoderKind::Linear,
            retry,
            wait: false,
            latency: Latency::Smooth,
        }
    }
}

/// Receives for this long, and returns what came.
pub(crate) async fn receive_for(
    place: &Place,
    time: Duration,
    retry: Duration,
) -> (Got, Result<(), nestcast_moq::Error>) {
    let counter = Counter::default();
    let mut sink = counter.clone();
    let ended = receive(place.config(retry), &mut sink, tokio::time::sleep(time)).await;
    (counter.got(), ended)
}

/// Makes a certificate that browsers can pin, and its key, PEM.
pub(crate) fn certificate() -> (String, String) {
    let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    params.not_before = SystemTime::now().into();
    params.not_after = params.not_before + Duration::from_secs(10 * 24 * 3600);
    let key = rcgen::KeyPair::generate().expect("a key");
    (params.self_signed(&key).expect("a certificate").pem(), key.serialize_pem())
}

/// Returns the trust in a certificate, PEM.
pub(crate) fn trust(certificate: &str) -> Trust {
    Trust::Fingerprint(fingerprint(certificate))
}

/// Returns the SHA-256 of a certificate, PEM.
pub(crate) fn fingerprint(certificate: &str) -> [u8; 32] {
    use sha2::Digest as _;
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).expect("a certificate");
    sha2::Sha256::digest(&certificate).into()
}
