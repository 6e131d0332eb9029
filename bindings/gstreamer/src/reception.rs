//! A reception on threads of its own.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

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
use crate::waiting::Waiting;

/// The most pictures that wait for the pipeline.
const MAX_WAITING_PICTURES: usize = 4;
/// The most blocks of sound that wait for the pipeline: a second's.
const MAX_WAITING_BLOCKS: usize = 50;

/// A picture that was shown.
pub(crate) struct Received {
    pub(crate) format: RawFormat,
    pub(crate) picture: Picture,
    /// The capture time in microseconds since 1970; `None` for a picture that conceals a missing frame.
    pub(crate) captured: Option<u64>,
}

/// Where a reception leaves what a pipeline takes.
#[derive(Clone)]
pub(crate) struct Outputs {
    pub(crate) pictures: Arc<Waiting<Received>>,
    /// The sound, if the pipeline asked for it.
    pub(crate) sound: Option<Arc<SoundQueue>>,
}

impl Outputs {
    pub(crate) fn new(has_sound: bool) -> Self {
        Self {
            pictures: Arc::new(Waiting::new(MAX_WAITING_PICTURES)),
            sound: has_sound.then(|| Arc::new(Waiting::new(MAX_WAITING_BLOCKS))),
        }
    }

    fn end(&self, error: Option<&str>) {
        let error = || error.map(str::to_owned);
        self.pictures.end(error());
        self.sound.as_ref().inspect(|sound| sound.end(error()));
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
    pictures: Arc<Waiting<Received>>,
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
        self.pictures.add(Received { format, picture: picture.clone(), captured });
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

    fn handle_sound_announced(&mut self, sound: Option<Sound>) -> Result<(), Unshown> {
        Ok(self.sound.as_mut().zip(sound).map_or(Ok(()), |(player, sound)| player.begin(sound))?)
    }

    fn play(&mut self, block: &SoundBlock) -> Result<(), Unshown> {
        Ok(self.sound.as_mut().map_or(Ok(()), |player| player.play(block))?)
    }
}

/// A reception that runs.
pub(crate) struct Reception {
    /// Its drop ends the reception. Nobody waits for the thread, which may still look up a host.
    _stop: oneshot::Sender<()>,
}

impl Reception {
    /// Begins to receive from `host`, with the other fields of `config`. Looking up the host and connecting take their
    /// time on the thread. `shown_bits` returns how many bits a sample the pipeline shows, for the bits that a sample of
    /// the video has.
    pub(crate) fn start(
        host: Address,
        config: ReceiverConfig,
        threads: usize,
        shown_bits: impl Fn(u8) -> u8 + Send + 'static,
        outputs: Outputs,
    ) -> std::io::Result<Self> {
        let (pictures, sound) = (Arc::clone(&outputs.pictures), outputs.sound.clone().map(SoundPlayer::new));
        let viewer = Queueing { pictures, threads, shown_bits: Box::new(shown_bits), sound, format: None };
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        // If the receiver panics, the pipeline still ends.
        let ended = EndOnDrop(outputs);
        std::thread::Builder::new().name("nestcast-receive".to_owned()).spawn(move || {
            let found = host.look_up();
            let Some(&first) = found.first() else {
                ended.0.end(Some(&format!("{host} cannot be found: check the host's name")));
                return;
            };
            let name = host.host().to_owned();
            let other_addresses = found[1..].to_vec();
            let broadcast = host.broadcast().clone();
            let config =
                ReceiverConfig { address: first, other_addresses, name, broadcast, host: Some(host), ..config };
            let outcome = runtime.block_on(view(config, viewer, async { _ = stopped.await }));
            ended.0.end(outcome.err().map(|error| with_causes(&error)).as_deref());
        })?;
        Ok(Self { _stop: stop })
    }

    /// Returns a configuration whose address is still to be found.
    pub(crate) fn config(trust: Trust) -> ReceiverConfig {
        ReceiverConfig::new((IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0).into(), trust)
    }
}

struct EndOnDrop(Outputs);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end(Some("the receiver stopped unexpectedly: please report this"));
    }
}
