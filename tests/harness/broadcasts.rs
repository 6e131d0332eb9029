//! Broadcasts with real QUIC, of computed pictures, and receivers that count.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use bytes::Bytes;
use nestcast_codec::{Channels, Decoder, Encoder, Format, FrameRate, Size};
use nestcast_encode::{PictureEncoding, PictureFormat, Pictures};
use nestcast_models::{Package, PackageError};
use nestcast_proto::{PackageHash, Sound, SoundSource, SourceError};
use nestcast_receiver::{Announcement, Decoding, Error, ReceiverConfig, Shown, Totals, Trust, Viewer, view};
use nestcast_sender::{
    AnySource, Authorizer, Broadcast, Browsers, FrameSource, Identity, LiveSource, Monitor, SharedToken,
};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::pictures::{self, Content};

/// Frames per second.
pub const RATE: u32 = 30;
/// Longer than anything that tests wait for, and longer than a shared machine stalls. It turns a hang into a message.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// The settings of a broadcast.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The sender's identity.
    pub identity: Identity,
    /// The token that receivers must know.
    pub token: Option<&'static [u8]>,
    /// The package that it claims to encode with; `None` means the right one.
    pub package: Option<PackageHash>,
    /// Pixels in each direction, four to three.
    pub size: (u32, u32),
    /// Whether receivers may get the model.
    pub give_model: bool,
    /// The most simultaneous receivers.
    pub max_receivers: usize,
    /// Whether and how browsers can watch.
    pub browsers: Option<Browsers>,
    /// Packets of sound, sent again and again; if empty, there is no sound.
    pub sound: Vec<Bytes>,
    /// How far back receivers may begin.
    pub rewind: Option<Duration>,
}

impl Plan {
    /// Plans a broadcast on a free port of this machine.
    pub fn new(identity: &Identity) -> Self {
        let listen = ([127, 0, 0, 1], 0).into();
        let (identity, size) = (identity.clone(), (160, 120));
        let max_receivers = 500;
        let (give_model, browsers, sound, rewind) = (false, None, Vec::new(), None);
        Self { listen, identity, token: None, package: None, size, give_model, max_receivers, browsers, sound, rewind }
    }

    /// Returns its pictures, which are noise.
    pub fn pictures(&self) -> Pictures {
        let (width, height) = self.size;
        let size = Size::new(width, height).expect("a valid size");
        let noise = move |seed| pictures::picture(Content::Noise, width, height, Channels::Rgb, seed);
        let rate = FrameRate::new(RATE, 1).expect("a valid rate");
        // Each differs from the one before, because a picture that stays is sent only once.
        let mut seed = 0;
        Pictures::from_fn(PictureFormat::new(size, Format::Rgb, rate), move |_| {
            seed += 1;
            Ok(Some(noise(seed)))
        })
    }

    /// Listens; call it in a runtime.
    pub fn listen(self) -> Broadcast<AnySource> {
        let pictures = self.pictures();
        self.listen_with(pictures)
    }

    /// Listens with other pictures.
    pub fn listen_with(self, pictures: Pictures) -> Broadcast<AnySource> {
        let package = Package::builtin("photo").expect("it is built in");
        let hash = self.package.unwrap_or(PackageHash(package.hash()));
        let mut encoding = PictureEncoding::new(pictures.format(), hash, Encoder::new(package.linear(1)));
        if self.give_model {
            encoding = encoding.with_package(package.archive().into());
        }
        self.listen_to(LiveSource::new(pictures, encoding))
    }

    /// Listens with frames of another source.
    pub fn listen_to(self, source: impl FrameSource) -> Broadcast<AnySource> {
        let Self { listen, identity, token, max_receivers, browsers, sound, rewind, .. } = self;
        let authorizers = token.map(|token| Arc::new(SharedToken(Bytes::from_static(token))) as Arc<dyn Authorizer>);
        let authorizers = authorizers.into_iter().collect();
        let max_receivers_per_address = max_receivers;
        let config = nestcast_sender::SenderConfig::new(listen, identity);
        let config = nestcast_sender::SenderConfig {
            authorizers,
            max_receivers,
            max_receivers_per_address,
            browsers,
            rewind,
            ..config
        };
        let source = AnySource::new(source);
        let source = if sound.is_empty() { source } else { source.with_sound(Packets { packets: sound, next: 0 }) };
        Broadcast::listen(config, source).expect("a free port")
    }
}

/// The same packets of sound again and again.
struct Packets {
    packets: Vec<Bytes>,
    next: usize,
}

impl SoundSource for Packets {
    fn sound(&self) -> Sound {
        Sound::Stereo
    }

    fn lag(&self) -> Duration {
        Duration::ZERO
    }

    fn next(&mut self) -> Result<Option<Bytes>, SourceError> {
        let packet = self.packets[self.next % self.packets.len()].clone();
        self.next += 1;
        Ok(Some(packet))
    }
}

/// A running broadcast.
#[derive(Debug)]
pub struct Running {
    /// The address that it listens on.
    pub address: SocketAddr,
    /// Its figures.
    pub monitor: Monitor,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<Result<(), nestcast_sender::Error>>,
}

impl Running {
    /// Starts a planned broadcast; call it in a runtime.
    pub fn start(plan: Plan) -> Self {
        Self::run(plan.listen())
    }

    /// Runs a broadcast; call it in a runtime.
    pub fn run(broadcast: Broadcast<impl FrameSource>) -> Self {
        let address = broadcast.address().expect("it listens");
        let monitor = broadcast.monitor();
        let (stop, stopped) = oneshot::channel();
        let ended = tokio::spawn(broadcast.run(async { drop(stopped.await) }));
        Self { address, monitor, stop, ended }
    }

    /// Aborts it, as a panic would.
    pub fn break_off(self) {
        self.ended.abort();
    }

    /// Stops it.
    pub async fn stop(self) {
        let _ = self.stop.send(());
        self.ended.await.expect("no panic").expect("a clean end");
    }
}

/// Makes a new identity.
pub fn identity() -> Identity {
    Identity::generate().expect("random numbers")
}

/// Returns the settings of a receiver that pins `identity`.
pub fn config(address: SocketAddr, identity: &Identity) -> ReceiverConfig {
    pinned(address, &identity.fingerprint().to_string())
}

/// Returns the settings of a receiver that pins a fingerprint.
pub fn pinned(address: SocketAddr, fingerprint: &str) -> ReceiverConfig {
    ReceiverConfig::new(address, Trust::fingerprint(fingerprint).expect("64 digits"))
}

/// Sends the bytes of each frame to a channel.
#[derive(Debug)]
pub struct CountingViewer(Sender<usize>);

impl CountingViewer {
    /// Returns a viewer and its channel.
    pub fn open() -> (Self, Receiver<usize>) {
        let (seen, seeing) = channel();
        (Self(seen), seeing)
    }
}

impl Viewer for CountingViewer {
    type Error = PackageError;

    fn handle_announcement(&mut self, announced: &Announcement) -> Result<Option<Decoding>, PackageError> {
        let package = Package::builtin("photo")?;
        Ok((announced.package.0 == package.hash()).then(|| decoding(&package)))
    }

    fn show(&mut self, shown: &Shown<'_>) -> Result<(), PackageError> {
        assert_eq!(shown.picture.channels(), Channels::Rgb);
        // A test that has seen enough no longer listens.
        let _ = self.0.send(shown.bytes);
        Ok(())
    }
}

/// Returns the settings to decode with the linear synthesis.
pub fn decoding(package: &Package) -> Decoding {
    Decoding::new(Decoder::new(package.linear(1)))
}

/// A receiver's counts, about one a second.
#[derive(Debug, Clone, Default)]
pub struct Counts(Vec<(Duration, Totals)>);

impl Counts {
    /// Returns the totals of everything received.
    pub fn last(&self) -> Totals {
        self.0.last().map(|(_, totals)| *totals).unwrap_or_default()
    }

    /// Returns the useful bits between the first count at or after `from` and the last before `to`, and the times of
    /// these two.
    pub fn goodput(&self, from: Duration, to: Duration) -> (f64, [Duration; 2]) {
        let within: Vec<_> = self.0.iter().filter(|(at, _)| (from..to).contains(at)).collect();
        let (Some((first, before)), Some((last, after))) = (within.first(), within.last()) else {
            return (0.0, [from, to]);
        };
        ((after.received.useful - before.received.useful) as f64 * 8.0, [*first, *last])
    }
}

/// Counts received frames.
struct Counter {
    began: Instant,
    totals: Sender<(Duration, Totals)>,
    shown: watch::Sender<u64>,
}

impl Viewer for Counter {
    type Error = PackageError;

    fn handle_announcement(&mut self, announced: &Announcement) -> Result<Option<Decoding>, PackageError> {
        if announced.video.is_some() {
            return Ok(Decoding::video(announced, 1));
        }
        Ok(Some(decoding(&Package::builtin("photo")?)))
    }

    fn show(&mut self, _shown: &Shown<'_>) -> Result<(), PackageError> {
        self.shown.send_modify(|shown| *shown += 1);
        Ok(())
    }

    fn report(&mut self, totals: &Totals) -> Result<(), PackageError> {
        // The task that reads the counts may be gone.
        let _ = self.totals.send((self.began.elapsed(), *totals));
        Ok(())
    }
}

/// Receives for `time`; returns the counts since `began`.
///
/// # Errors
/// The reason if it ends early.
pub async fn count(config: ReceiverConfig, began: Instant, time: Duration) -> Result<Counts, Error> {
    count_while(config, began, |_| sleep(time)).await
}

/// Receives until `frames` pictures are shown, even on a busy machine; returns the totals.
///
/// # Errors
/// The reason if it ends early.
///
/// # Panics
/// If they do not arrive.
pub async fn count_frames(config: ReceiverConfig, frames: u64) -> Result<Totals, Error> {
    let seen = async |mut showing: watch::Receiver<u64>| see(&mut showing, frames).await;
    Ok(count_while(config, Instant::now(), seen).await?.last())
}

/// Receives until `stay`, which gets the number of pictures shown so far, ends; returns the counts since `began`.
///
/// # Errors
/// The reason if it ends early.
pub async fn count_while<F: Future<Output = ()>>(
    config: ReceiverConfig,
    began: Instant,
    stay: impl FnOnce(watch::Receiver<u64>) -> F,
) -> Result<Counts, Error> {
    let ((totals, counted), (shown, showing)) = (channel(), watch::channel(0));
    view(config, Counter { began, totals, shown }, stay(showing)).await?;
    Ok(Counts(counted.try_iter().collect()))
}

/// Waits for `frames` more pictures.
///
/// # Panics
/// If they do not arrive.
pub async fn see(showing: &mut watch::Receiver<u64>, frames: u64) {
    let until = *showing.borrow() + frames;
    let seen = timeout(PATIENCE, showing.wait_for(|shown| *shown >= until)).await;
    // If the viewer is gone, `receive` reports why.
    drop(seen.unwrap_or_else(|_| panic!("{frames} frames do not come within {PATIENCE:?}")));
}

/// Waits until `is` is true, which a busy machine reaches later than an idle one.
///
/// # Panics
/// If it stays false.
pub async fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    let waiting = async {
        while !is() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("{what}: not within {PATIENCE:?}"));
}
