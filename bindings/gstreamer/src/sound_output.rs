//! The second pad of the source: the sound of a broadcast as raw samples, pushed as it is heard.

use std::sync::{Arc, Mutex, PoisonError};

use gst_base::prelude::*;
use nestcast_proto::Sound;
use nestcast_receiver::{SoundBlock, SoundContent};
use nestcast_sound::{Error, SAMPLES_PER_SECOND, SoundRenderer};

use crate::element::refuse_format;
use crate::pad_source::Buffers;
use crate::sound_input::sound_caps;
use crate::waiting::{Next, Waiting};

/// Blocks follow one another without a gap while they come this evenly, so the timestamp of a block lies at most this long
/// before the moment at which it is pushed.
pub(crate) const MAX_UNEVENNESS: gst::ClockTime = gst::ClockTime::from_mseconds(100);

/// Blocks of samples of 16 bits, left and right in turn.
pub(crate) type SoundQueue = Waiting<Vec<u8>>;

/// Makes samples of what a player plays.
pub(crate) struct SoundPlayer {
    queue: Arc<SoundQueue>,
    renderer: Option<(SoundRenderer, Sound)>,
}

impl SoundPlayer {
    pub(crate) const fn new(queue: Arc<SoundQueue>) -> Self {
        Self { queue, renderer: None }
    }

    /// Begins with the sound of a broadcast.
    pub(crate) fn begin(&mut self, sound: Sound) -> Result<(), Error> {
        self.renderer = Some((SoundRenderer::new(sound)?, sound));
        Ok(())
    }

    /// Plays the next block.
    pub(crate) fn play(&mut self, block: &SoundBlock) -> Result<(), Error> {
        let Some((renderer, sound)) = &mut self.renderer else { return Ok(()) };
        let samples = match &block.content {
            SoundContent::Packet(packet) => renderer.packet(packet, block.samples)?,
            SoundContent::Concealed => renderer.conceal(block.samples)?,
            SoundContent::Silence => renderer.silence(block.samples),
        };
        // The pad has two channels: one channel sounds in both.
        let times = if *sound == Sound::Mono { 2 } else { 1 };
        let bytes = samples.iter().flat_map(|sample| std::iter::repeat_n(sample.to_le_bytes(), times)).flatten();
        self.queue.add(bytes.collect());
        Ok(())
    }
}

/// Makes buffers of the sound of a reception.
pub(crate) struct SoundBuffers {
    queue: Arc<SoundQueue>,
    category: gst::DebugCategory,
    /// The running time at which the last block ends.
    ends: Mutex<Option<gst::ClockTime>>,
}

impl SoundBuffers {
    pub(crate) const fn new(queue: Arc<SoundQueue>, category: gst::DebugCategory) -> Self {
        Self { queue, category, ends: Mutex::new(None) }
    }

    fn buffer(&self, source: &gst_base::BaseSrc, block: Vec<u8>) -> gst::Buffer {
        let frames = (block.len() / 4) as u64;
        let duration = gst::ClockTime::from_nseconds(frames * 1_000_000_000 / u64::from(SAMPLES_PER_SECOND));
        let now = source.current_running_time().unwrap_or_default();
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let even = ends.filter(|ends| ends.absdiff(now) < MAX_UNEVENNESS);
        let pts = even.unwrap_or(now);
        *ends = Some(pts + duration);
        let mut buffer = gst::Buffer::from_mut_slice(block);
        if let Some(fresh) = buffer.get_mut() {
            fresh.set_pts(pts);
            fresh.set_duration(duration);
            if even.is_none() {
                fresh.set_flags(gst::BufferFlags::DISCONT);
            }
        }
        buffer
    }
}

impl Buffers for SoundBuffers {
    fn negotiate(&self, source: &gst_base::BaseSrc) -> Result<(), gst::LoggableError> {
        let caps = sound_caps();
        let refused = |_| refuse_format(source, self.category, &format!("an element refuses the sound: no {caps}"));
        source.set_caps(&caps).map_err(refused)
    }

    fn next(&self, source: &gst_base::BaseSrc) -> Result<gst::Buffer, gst::FlowError> {
        match self.queue.next() {
            Next::Item { item, .. } => Ok(self.buffer(source, item)),
            Next::Interrupted => Err(gst::FlowError::Flushing),
            // The pictures' source posts what went wrong.
            Next::End | Next::Failed(_) => Err(gst::FlowError::Eos),
        }
    }

    fn interrupt(&self) {
        self.queue.interrupt();
    }

    fn resume(&self) {
        self.queue.resume();
    }
}
