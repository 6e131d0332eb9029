//! Broadcasts with real QUIC, of pictures made by arithmetic, and receivers that count.

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use bytes::Bytes;
use nestcast_codec::{Channels, Decoder, Encoder, Format, Picture, Size};
use nestcast_encode::{PictureEncoding, PictureFormat, Pictures};
use nestcast_media::y4m::Rate;
use nestcast_models::{Package, PackageError};
use nestcast_proto::PackageHash;
use nestcast_receiver::{Announcement, Config, Decoding, Error, Shown, Totals, Trust, Viewer, view};
use nestcast_sender::{Broadcast, Browsers, FrameSource, Identity, LiveSource, Monitor};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::pictures::{self, Content};

/// Frames per second.
pub const RATE: u32 = 30;
/// Longer than anything takes that tests wait for, and than a shared machine stands still: it makes of a hang a message.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// What is broadcast.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Where it listens.
    pub listen: SocketAddr,
    /// As whom.
    pub identity: Identity,
    /// What receivers must know.
    pub token: Option<&'static [u8]>,
    /// The package that it claims to encode with; the right one if none.
    pub package: Option<PackageHash>,
    /// Pixels in each direction, four by three.
    pub size: (u32, u32),
    /// Whether receivers may have the model.
    pub give_model: bool,
    /// Most receivers at once.
    pub max_receivers: usize,
    /// Whether and how browsers watch.
    pub browsers: Option<Browsers>,
}

impl Plan {
    /// On a free port of this machine.
    pub fn new(identity: &Identity) -> Self {
        let listen = ([127, 0, 0, 1], 0).into();
        let (identity, size) = (identity.clone(), (160, 120));
        let max_receivers = 500;
        Self { listen, identity, token: None, package: None, size, give_model: false, max_receivers, browsers: None }
    }

    fn pictures(&self) -> Pictures {
        let (width, height) = self.size;
        let size = Size::new(width, height).expect("a valid size");
        let noise = move |seed| pictures::picture(Content::Noise, width, height, Channels::Rgb, seed);
        let rate = Rate::new(RATE, 1).expect("a valid rate");
        // None twice: one that stays is sent once.
        let mut seed = 0;
        Pictures::from_fn(PictureFormat::new(size, Format::Rgb, rate), move |_| {
            seed += 1;
            Ok(Some(noise(seed)))
        })
    }

    /// Listens; within a runtime.
    pub fn listen(self) -> Broadcast<LiveSource<Picture>> {
        let pictures = self.pictures();
        self.listen_with(pictures)
    }

    /// Listens with other pictures.
    pub fn listen_with(self, pictures: Pictures) -> Broadcast<LiveSource<Picture>> {
        let package = Package::builtin("photo").expect("it is built in");
        let hash = self.package.unwrap_or(PackageHash(package.hash()));
        let mut encoding = PictureEncoding::new(pictures.format(), hash, Encoder::new(package.linear(1)));
        if self.give_model {
            encoding = encoding.with_package(package.archive().into());
        }
        self.listen_to(LiveSource::new(pictures, encoding))
    }

    /// Listens with frames of another source.
    pub fn listen_to<S: FrameSource>(self, source: S) -> Broadcast<S> {
        let Self { listen, identity, token, max_receivers, browsers, .. } = self;
        let token = token.map(Bytes::from_static);
        let max_receivers_per_address = max_receivers;
        let config = nestcast_sender::Config::new(listen, identity);
        let config = nestcast_sender::Config { token, max_receivers, max_receivers_per_address, browsers, ..config };
        Broadcast::listen(config, source).expect("a free port")
    }
}

/// A broadcast that runs.
#[derive(Debug)]
pub struct Running {
    /// Where it listens.
    pub address: SocketAddr,
    /// Its figures.
    pub monitor: Monitor,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<Result<(), nestcast_sender::Error>>,
}

impl Running {
    /// Within a runtime.
    pub fn start(plan: Plan) -> Self {
        Self::run(plan.listen())
    }

    /// Within a runtime.
    pub fn run(broadcast: Broadcast<impl FrameSource>) -> Self {
        let address = broadcast.address().expect("it listens");
        let monitor = broadcast.monitor();
        let (stop, stopped) = oneshot::channel();
        let ended = tokio::spawn(broadcast.run(async { drop(stopped.await) }));
        Self { address, monitor, stop, ended }
    }

    /// Breaks it off, as a panic would.
    pub fn break_off(self) {
        self.ended.abort();
    }

    /// Ends it.
    pub async fn stop(self) {
        let _ = self.stop.send(());
        self.ended.await.expect("no panic").expect("a clean end");
    }
}

/// A new identity.
pub fn identity() -> Identity {
    Identity::generate().expect("random numbers")
}

/// For a receiver that pins `identity`.
pub fn config(address: SocketAddr, identity: &Identity) -> Config {
    pinned(address, &identity.fingerprint().to_string())
}

/// For a receiver that pins a fingerprint.
pub fn pinned(address: SocketAddr, fingerprint: &str) -> Config {
    Config::new(address, Trust::fingerprint(fingerprint).expect("64 digits"))
}

/// Tells the bytes of each frame.
#[derive(Debug)]
pub struct CountingViewer(Sender<usize>);

impl CountingViewer {
    /// With where it tells them.
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
        // Whoever has seen enough no longer listens.
        let _ = self.0.send(shown.bytes);
        Ok(())
    }
}

/// Decoding with the linear synthesis.
pub fn decoding(package: &Package) -> Decoding {
    Decoding::new(Decoder::new(package.linear(1)))
}

/// What a receiver counted, about once a second.
#[derive(Debug, Clone, Default)]
pub struct Counts(Vec<(Duration, Totals)>);

impl Counts {
    /// All that came.
    pub fn last(&self) -> Totals {
        self.0.last().map(|(_, totals)| *totals).unwrap_or_default()
    }

    /// Useful bits between the first count at or behind `from` and the last before `to`, and the moments of these two.
    pub fn goodput(&self, from: Duration, to: Duration) -> (f64, [Duration; 2]) {
        let within: Vec<_> = self.0.iter().filter(|(at, _)| (from..to).contains(at)).collect();
        let (Some((first, before)), Some((last, after))) = (within.first(), within.last()) else {
            return (0.0, [from, to]);
        };
        ((after.received.useful - before.received.useful) as f64 * 8.0, [*first, *last])
    }
}

/// Counts what comes.
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
        // Whoever counts may have gone.
        let _ = self.totals.send((self.began.elapsed(), *totals));
        Ok(())
    }
}

/// Receives for `time`; gives what was counted since `began`.
///
/// # Errors
/// Why it ended before.
pub async fn count(config: Config, began: Instant, time: Duration) -> Result<Counts, Error> {
    count_while(config, began, |_| sleep(time)).await
}

/// Receives until so many pictures were shown, however long a busy machine takes; gives all that came.
///
/// # Errors
/// Why it ended before.
///
/// # Panics
/// If they do not come.
pub async fn count_frames(config: Config, frames: u64) -> Result<Totals, Error> {
    let seen = async |mut showing: watch::Receiver<u64>| see(&mut showing, frames).await;
    Ok(count_while(config, Instant::now(), seen).await?.last())
}

/// Receives until `stay`, which is given the number of pictures shown so far, ends; gives what was counted since `began`.
///
/// # Errors
/// Why it ended before.
pub async fn count_while<F: Future<Output = ()>>(
    config: Config,
    began: Instant,
    stay: impl FnOnce(watch::Receiver<u64>) -> F,
) -> Result<Counts, Error> {
    let ((totals, counted), (shown, showing)) = (channel(), watch::channel(0));
    view(config, Counter { began, totals, shown }, stay(showing)).await?;
    Ok(Counts(counted.try_iter().collect()))
}

/// Waits for so many pictures more.
///
/// # Panics
/// If they do not come.
pub async fn see(showing: &mut watch::Receiver<u64>, frames: u64) {
    let until = *showing.borrow() + frames;
    let seen = timeout(PATIENCE, showing.wait_for(|shown| *shown >= until)).await;
    // Where nobody shows any more, `receive` tells why.
    drop(seen.unwrap_or_else(|_| panic!("{frames} frames do not come within {PATIENCE:?}")));
}

/// Waits for what comes to be, on a busy machine later than on an idle one.
///
/// # Panics
/// If it does not.
pub async fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    let waiting = async {
        while !is() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("{what}: not within {PATIENCE:?}"));
}
