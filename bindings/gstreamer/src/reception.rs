//! A reception on threads of its own, and the pictures that a pipeline has not taken yet.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use nestcast_codec::{Decoder, Matrix, ModelId, Picture, Range, Ycbcr};
use nestcast_models::Package;
use nestcast_proto::Sound;
use nestcast_receiver::{
    Address, Announcement, Concealed, Decoding, ReceiverConfig, Shown, SoundBlock, SoundMode, Trust, Viewer, view,
};
use tokio::sync::oneshot;

use crate::broadcast::with_causes;
use crate::raw_format::RawFormat;
use crate::sound_output::{SoundPlayer, SoundQueue};

/// The most pictures that wait for the pipeline. A pipeline that is slower misses pictures, and no delay grows.
const MAX_WAITING_PICTURES: usize = 4;

/// A picture that was shown.
pub(crate) struct Received {
    pub(crate) format: RawFormat,
    pub(crate) picture: Picture,
    /// The capture time in microseconds since 1970; `None` for a picture that conceals a missing frame.
    pub(crate) captured: Option<u64>,
    /// Pictures that were dropped before this one, because the pipeline was slow.
    pub(crate) dropped: u64,
}

/// What a call that waits for a picture gets.
pub(crate) enum Next {
    Picture(Box<Received>),
    /// The wait was interrupted.
    Unlocked,
    End,
    Failed(String),
}

#[derive(Default)]
struct Queue {
    pictures: VecDeque<Received>,
    dropped: u64,
    unlocked: bool,
    /// Set at the end, with what went wrong.
    end: Option<Option<String>>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    sound: Option<Arc<SoundQueue>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, error: Option<String>) {
        self.lock().end.get_or_insert(error);
        self.changed.notify_all();
        self.sound.as_ref().inspect(|sound| sound.end());
    }
}

/// Why a broadcast cannot be shown.
#[derive(Debug, thiserror::Error)]
enum Unshown {
    #[error("the sender's model {0} is not one of this plugin: update it")]
    Model(ModelId),
    #[error(transparent)]
    Sound(#[from] nestcast_sound::Error),
}

/// Queues the pictures that the player shows.
struct Queueing {
    shared: Arc<Shared>,
    threads: usize,
    /// Returns how many bits a sample the pipeline shows, for the bits that a sample of the video has.
    shown_bits: Box<dyn Fn(u8) -> u8 + Send>,
    /// What plays the sound, if the pipeline wants it.
    sound: Option<SoundPlayer>,
    format: Option<RawFormat>,
}

impl Queueing {
    fn queue(&self, picture: &Picture, captured: Option<u64>) {
        let Some(format) = self.format else { return };
        let mut queue = self.shared.lock();
        if queue.pictures.len() == MAX_WAITING_PICTURES {
            queue.pictures.pop_front();
            queue.dropped += 1;
        }
        let dropped = std::mem::take(&mut queue.dropped);
        queue.pictures.push_back(Received { format, picture: picture.clone(), captured, dropped });
        self.shared.changed.notify_all();
    }
}

impl Viewer for Queueing {
    type Error = Unshown;

    fn handle_announcement(&mut self, announced: &Announcement) -> Result<Option<Decoding>, Unshown> {
        let unknown = Unshown::Model(announced.model);
        let (colours, bits, display, decoding) = match announced.video {
            Some(video) => {
                let bits = (self.shown_bits)(video.bits);
                let decoding = Decoding::video(announced, self.threads).ok_or(unknown)?.with_bits(bits);
                (video.colours, bits, video.display, decoding)
            }
            None => {
                let package = Package::built_in_with(announced.model).ok_or(unknown)?;
                let colours = Ycbcr { range: Range::Full, matrix: Matrix::usual(announced.size) };
                let decoder = Decoder::new(package.linear(self.threads));
                (colours, 8, Default::default(), Decoding::new(decoder).with_ycbcr420(colours))
            }
        };
        self.format = Some(RawFormat { size: announced.size, colours, bits, display, rate: announced.rate });
        Ok(Some(decoding))
    }

    fn show(&mut self, shown: &Shown<'_>) -> Result<(), Unshown> {
        self.queue(shown.picture, Some(shown.captured));
        Ok(())
    }

    fn conceal(&mut self, concealed: &Concealed<'_>) -> Result<(), Unshown> {
        self.queue(concealed.picture, None);
        Ok(())
    }

    fn sound_mode(&self) -> Option<SoundMode> {
        self.sound.as_ref().map(|_| SoundMode::Live)
    }

    fn handle_sound_announced(&mut self, sound: Sound) -> Result<(), Unshown> {
        Ok(self.sound.as_mut().map_or(Ok(()), |player| player.begin(sound))?)
    }

    fn play(&mut self, block: &SoundBlock) -> Result<(), Unshown> {
        Ok(self.sound.as_mut().map_or(Ok(()), |player| player.play(block))?)
    }
}

/// A reception that runs.
pub(crate) struct Reception {
    shared: Arc<Shared>,
    /// Its drop ends the reception. Nobody waits for the thread, which may still look up a host.
    _stop: oneshot::Sender<()>,
}

impl Reception {
    /// Begins to receive from `host`, with the other fields of `config`. Looking up the host and connecting take their
    /// time on the thread. `shown_bits` returns how many bits a sample the pipeline shows, for the bits that a sample of
    /// the video has. Sound goes to `sound`.
    pub(crate) fn start(
        host: Address,
        config: ReceiverConfig,
        threads: usize,
        shown_bits: impl Fn(u8) -> u8 + Send + 'static,
        sound: Option<Arc<SoundQueue>>,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared { sound, ..Shared::default() });
        let (shown_bits, sound) = (Box::new(shown_bits), shared.sound.clone().map(SoundPlayer::new));
        let viewer = Queueing { shared: Arc::clone(&shared), threads, shown_bits, sound, format: None };
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        // If the receiver panics, the pipeline still ends.
        let ended = EndOnDrop(Arc::clone(&shared));
        std::thread::Builder::new().name("nestcast-receive".to_owned()).spawn(move || {
            let found = host.look_up();
            let Some(&first) = found.first() else {
                ended.0.end(Some(format!("{host} cannot be found: check the host's name")));
                return;
            };
            let name = host.host().to_owned();
            let other_addresses = found[1..].to_vec();
            let broadcast = host.broadcast().clone();
            let config =
                ReceiverConfig { address: first, other_addresses, name, broadcast, host: Some(host), ..config };
            let outcome = runtime.block_on(view(config, viewer, async { _ = stopped.await }));
            ended.0.end(outcome.err().map(|error| with_causes(&error)));
        })?;
        Ok(Self { shared, _stop: stop })
    }

    /// Returns a configuration whose address is still to be found.
    pub(crate) fn config(trust: Trust) -> ReceiverConfig {
        ReceiverConfig::new((IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0).into(), trust)
    }

    /// Returns a handle that waits for pictures.
    pub(crate) fn output(&self) -> PictureOutput {
        PictureOutput(Arc::clone(&self.shared))
    }
}

/// Where the pipeline's thread takes pictures.
#[derive(Clone)]
pub(crate) struct PictureOutput(Arc<Shared>);

impl PictureOutput {
    /// Waits for the next picture.
    pub(crate) fn next(&self) -> Next {
        let mut queue = self.0.lock();
        loop {
            if queue.unlocked {
                return Next::Unlocked;
            }
            if let Some(received) = queue.pictures.pop_front() {
                return Next::Picture(Box::new(received));
            }
            match &queue.end {
                Some(Some(why)) => return Next::Failed(why.clone()),
                Some(None) => return Next::End,
                None => {}
            }
            queue = self.0.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Interrupts calls that wait, or lets them wait again.
    pub(crate) fn set_unlocked(&self, unlocked: bool) {
        self.0.lock().unlocked = unlocked;
        self.0.changed.notify_all();
    }

    /// Drops the pictures that were not taken.
    pub(crate) fn flush(&self) {
        self.0.lock().pictures.clear();
    }
}

struct EndOnDrop(Arc<Shared>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end(Some("the receiver stopped unexpectedly: please report this".to_owned()));
    }
}
