//! A broadcast of pictures that a pipeline hands over, on threads of its own.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use nestcast_codec::Picture;
use nestcast_encode::{Offered, PictureFormat, PictureRate, PictureSlot, RenditionLimit, StreamPicture, VideoEncoding};
use nestcast_proto::Bitrate;
use nestcast_sender::{
    Authorizer, BrowserPage, Identity, LiveSource, Monitor, PageFile, SenderConfig, SharedToken, SoundFanout,
};
use nestcast_web::PAGE_FILES;
use tokio::sync::oneshot;

use crate::raw_format::RawFormat;
use crate::sound_input::ANNOUNCED_SOUND;

/// The longest wait for the tasks of a broadcast that is over.
const MAX_SHUTDOWN_TIME: Duration = Duration::from_secs(2);

/// Why a broadcast cannot begin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BroadcastError {
    #[error("{0}")]
    Sender(#[from] nestcast_sender::Error),
    #[error("{0}")]
    Picture(#[from] nestcast_encode::PictureError),
    #[error("a thread cannot be started: {0}")]
    Thread(#[from] std::io::Error),
}

/// What a broadcast needs besides pictures.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) listen: SocketAddr,
    pub(crate) identity: Identity,
    /// Whether an authority certifies the identity.
    pub(crate) is_certified: bool,
    /// Where browsers get the page by which they watch.
    pub(crate) web: Option<SocketAddr>,
    /// The token that receivers must show; empty for none.
    pub(crate) token: Vec<u8>,
    pub(crate) max_receivers: usize,
    /// The most bits a second for each receiver; 0 for no limit.
    pub(crate) max_bitrate: u64,
    pub(crate) threads: usize,
    /// The most renditions; 0 for as many as the receivers need.
    pub(crate) renditions: usize,
    /// Whether pictures come when they are due. Otherwise the encoder takes them at the frame rate.
    pub(crate) is_paced: bool,
    /// Whether receivers are told of sound.
    pub(crate) has_sound: bool,
}

/// Why a broadcast is over, from its end on: `None` if nothing went wrong.
type Outcome = Arc<OnceLock<Option<String>>>;

/// Where the pipeline's thread hands pictures over.
#[derive(Clone)]
pub(crate) struct PictureInput {
    slot: PictureSlot,
    outcome: Outcome,
    is_paced: bool,
}

impl PictureInput {
    /// Returns the slot.
    pub(crate) const fn slot(&self) -> &PictureSlot {
        &self.slot
    }

    /// Hands a picture over. If pictures come when they are due, it replaces one that was not encoded yet; otherwise
    /// this call waits.
    pub(crate) fn offer(&self, picture: StreamPicture<Picture>) -> Offered {
        if self.is_paced { self.slot.replace(picture) } else { self.slot.offer(picture, Duration::MAX) }
    }

    /// Returns why the broadcast takes no picture.
    pub(crate) fn ending(&self) -> String {
        // The encoder may be gone before the sender has said why.
        self.outcome.wait().clone().unwrap_or_else(|| "the broadcast is over".to_owned())
    }
}

/// A broadcast that runs. Dropping it ends it at once.
pub(crate) struct Broadcast {
    input: PictureInput,
    monitor: Monitor,
    sound: SoundFanout,
    address: Option<SocketAddr>,
    page: Option<BrowserPage>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Broadcast {
    /// Listens, and waits for the first picture.
    pub(crate) fn start(settings: Settings, format: RawFormat) -> Result<Self, BroadcastError> {
        let (samples, RawFormat { size, display, rate, .. }) = (format.samples(), format);
        let rate = if settings.is_paced { PictureRate::Variable { most: rate } } else { PictureRate::Constant(rate) };
        let format = PictureFormat::new(size, samples, rate).with_display(display);
        let limit = match settings.renditions {
            0 => RenditionLimit::AsNeeded,
            most => RenditionLimit::AtMost(most),
        };
        let encoding = VideoEncoding::new(format, settings.threads, limit)?;
        let (slot, pictures) = PictureSlot::open(format);
        let outcome = Outcome::default();
        let token = (!settings.token.is_empty()).then_some(settings.token);
        let token = token.map(|token| Arc::new(SharedToken(token.into())) as Arc<dyn Authorizer>);
        let config = SenderConfig {
            authorizers: token.into_iter().collect(),
            max_receivers: settings.max_receivers,
            max_bitrate: (settings.max_bitrate > 0).then(|| Bitrate::from_bits(settings.max_bitrate)),
            sound: settings.has_sound.then_some(ANNOUNCED_SOUND),
            ..SenderConfig::new(settings.listen, settings.identity)
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let source = LiveSource::new(pictures, encoding);
        let viewer = PAGE_FILES.iter().map(|file| PageFile::from_static(file.name, file.media_type, file.bytes));
        let (sender, page) = runtime.block_on(async {
            let Some(web) = settings.web else {
                return nestcast_sender::Broadcast::listen(config, source).map(|sender| (sender, None));
            };
            let listening = BrowserPage::listen(config, source, web, settings.is_certified, viewer.collect());
            listening.await.map(|(sender, page)| (sender, Some(page)))
        })?;
        let (address, monitor, sound) = (sender.address(), sender.monitor(), sender.sound());
        let (stop, stopped) = oneshot::channel();
        let end = EndOnDrop { slot: slot.clone(), outcome: Arc::clone(&outcome) };
        let thread = std::thread::Builder::new().name("nestcast-send".to_owned()).spawn(move || {
            let outcome = runtime.block_on(sender.run(async { _ = stopped.await }));
            end.outcome.get_or_init(|| outcome.err().map(|error| with_causes(&error)));
            drop(end);
            // The next broadcast may use the same port, so the socket must be closed.
            runtime.shutdown_timeout(MAX_SHUTDOWN_TIME);
        })?;
        let input = PictureInput { slot, outcome, is_paced: settings.is_paced };
        Ok(Self { input, monitor, sound, address, page, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns the address that it listens on.
    pub(crate) const fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Returns the page by which browsers watch, if there is one.
    pub(crate) const fn page(&self) -> Option<&BrowserPage> {
        self.page.as_ref()
    }

    /// Returns where pictures are handed over.
    pub(crate) fn input(&self) -> PictureInput {
        self.input.clone()
    }

    /// Returns where packets of sound are handed over.
    pub(crate) const fn sound(&self) -> &SoundFanout {
        &self.sound
    }

    /// Returns its figures.
    pub(crate) const fn monitor(&self) -> &Monitor {
        &self.monitor
    }

    /// Ends the broadcast after its last picture, and waits until receivers have it. The error is what went wrong.
    pub(crate) fn finish(mut self) -> Result<(), String> {
        self.input.slot.close();
        let joined = self.thread.take().map_or(Ok(()), JoinHandle::join);
        let end = self.input.outcome.get().cloned().flatten();
        match (joined, end) {
            (Ok(()), None) => Ok(()),
            (_, Some(why)) => Err(why),
            (Err(_), None) => Err(DEFECT_MESSAGE.to_owned()),
        }
    }
}

impl Drop for Broadcast {
    fn drop(&mut self) {
        self.input.slot.close();
        if let (Some(stop), Some(thread)) = (self.stop.take(), self.thread.take()) {
            // If the broadcast is over, nobody listens.
            let _ = stop.send(());
            let _ = thread.join();
        }
    }
}

const DEFECT_MESSAGE: &str = "the sender stopped unexpectedly: please report this";

/// Ends the slot even if the sender panics. Both the pipeline and the encoder may wait for it.
struct EndOnDrop {
    slot: PictureSlot,
    outcome: Outcome,
}

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.outcome.get_or_init(|| Some(DEFECT_MESSAGE.to_owned()));
        self.slot.end();
    }
}

/// Writes an error with its causes.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
