//! A source of any kind, perhaps with sound from elsewhere.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use nestcast_proto::{Archive, BroadcastFrame, Demand, Sound, SoundSource, SourceError, Welcome};

use crate::frames::live_sound;
use crate::frames::sound::SoundFanout;
use crate::frames::source::FrameSource;

/// A source whose kind is known only when the program runs. Sound from elsewhere may go with its frames.
pub struct AnySource {
    source: Box<dyn Erased>,
    sound: Option<Box<dyn SoundSource>>,
    /// What receivers learn of the sound from elsewhere.
    announced: Option<Sound>,
    fanout: Option<SoundFanout>,
    /// The thread that reads the sound ends after this.
    lifetime: Arc<()>,
}

type Next<'a> = Pin<Box<dyn Future<Output = Result<Option<BroadcastFrame>, SourceError>> + Send + 'a>>;

/// [`FrameSource`] without its own type.
trait Erased: Send {
    fn welcome(&self) -> Welcome;
    fn package(&self) -> Option<Bytes>;
    fn sound(&self) -> Option<Sound>;
    fn archive(&self) -> Option<Arc<dyn Archive>>;
    fn attach_sound(&mut self, sound: SoundFanout);
    fn next<'a>(&'a mut self, demand: &'a Demand) -> Next<'a>;
    fn stop(&mut self);
}

impl<S: FrameSource> Erased for S {
    fn welcome(&self) -> Welcome {
        FrameSource::welcome(self)
    }

    fn package(&self) -> Option<Bytes> {
        FrameSource::package(self)
    }

    fn sound(&self) -> Option<Sound> {
        FrameSource::sound(self)
    }

    fn archive(&self) -> Option<Arc<dyn Archive>> {
        FrameSource::archive(self)
    }

    fn attach_sound(&mut self, sound: SoundFanout) {
        FrameSource::attach_sound(self, sound);
    }

    fn next<'a>(&'a mut self, demand: &'a Demand) -> Next<'a> {
        Box::pin(FrameSource::next(self, demand))
    }

    fn stop(&mut self) {
        FrameSource::stop(self);
    }
}

impl fmt::Debug for AnySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnySource").field("announced", &self.announced).finish_non_exhaustive()
    }
}

impl AnySource {
    /// Takes a source of any kind.
    #[must_use]
    pub fn new(source: impl FrameSource) -> Self {
        Self { source: Box::new(source), sound: None, announced: None, fanout: None, lifetime: Arc::default() }
    }

    /// Sends this sound in place of the source's own, on a thread of its own, from the first frame that the sender asks
    /// for. If the sound ends or breaks off, frames go on.
    #[must_use]
    pub fn with_sound(self, sound: impl SoundSource + 'static) -> Self {
        Self { announced: Some(sound.sound()), sound: Some(Box::new(sound)), ..self }
    }
}

impl FrameSource for AnySource {
    fn welcome(&self) -> Welcome {
        self.source.welcome()
    }

    fn package(&self) -> Option<Bytes> {
        self.source.package()
    }

    fn sound(&self) -> Option<Sound> {
        self.announced.or_else(|| self.source.sound())
    }

    fn archive(&self) -> Option<Arc<dyn Archive>> {
        self.source.archive()
    }

    fn attach_sound(&mut self, sound: SoundFanout) {
        if self.announced.is_some() {
            self.fanout = Some(sound);
        } else {
            self.source.attach_sound(sound);
        }
    }

    async fn next(&mut self, demand: &Demand) -> Result<Option<BroadcastFrame>, SourceError> {
        if let Some((sound, fanout)) = self.sound.take().zip(self.fanout.take()) {
            let lifetime = Arc::downgrade(&self.lifetime);
            live_sound::start(sound, fanout, move || lifetime.strong_count() > 0);
        }
        self.source.next(demand).await
    }

    fn stop(&mut self) {
        self.source.stop();
    }
}
