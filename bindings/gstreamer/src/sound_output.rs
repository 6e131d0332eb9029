//! The second pad of the source: the sound of a broadcast as raw samples, pushed as it is heard.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use gst::glib;
use gst::prelude::*;
use nestcast_proto::Sound;
use nestcast_receiver::{SoundBlock, SoundContent};
use nestcast_sound::{Error, SAMPLES_PER_SECOND, SoundRenderer};

use crate::sound_input::sound_caps;

/// The most blocks that wait for the pipeline: a second's. One that is slower misses the oldest.
const MAX_WAITING_BLOCKS: usize = 50;
/// Blocks follow one another without a gap while they come this evenly, so the timestamp of a block lies at most this long
/// before the moment at which it is pushed.
pub(crate) const MAX_UNEVENNESS: gst::ClockTime = gst::ClockTime::from_mseconds(100);

/// The sound between the player's thread and the pad's.
#[derive(Default)]
pub(crate) struct SoundQueue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Samples of 16 bits, left and right in turn.
    blocks: VecDeque<Vec<u8>>,
    is_playing: bool,
    is_stopped: bool,
    is_over: bool,
}

/// What the pad's thread gets.
enum Next {
    Block(Vec<u8>),
    Stopped,
    End,
}

impl SoundQueue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, block: Vec<u8>) {
        let mut state = self.lock();
        if state.blocks.len() == MAX_WAITING_BLOCKS {
            state.blocks.pop_front();
        }
        state.blocks.push_back(block);
        self.changed.notify_all();
    }

    /// Says that no more sound comes.
    pub(crate) fn end(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    /// Says whether the pipeline plays. While it does not, its thread waits; sound of before a pause is of no use.
    pub(crate) fn set_playing(&self, is_playing: bool) {
        let mut state = self.lock();
        state.blocks.clear();
        state.is_playing = is_playing;
        self.changed.notify_all();
    }

    /// Ends the wait of the pad's thread.
    pub(crate) fn stop(&self) {
        self.lock().is_stopped = true;
        self.changed.notify_all();
    }

    fn next(&self) -> Next {
        let mut state = self.lock();
        loop {
            if state.is_stopped {
                return Next::Stopped;
            }
            if state.is_playing {
                if let Some(block) = state.blocks.pop_front() {
                    return Next::Block(block);
                }
                if state.is_over {
                    return Next::End;
                }
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

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

/// Pushes sound into a pad, block by block, on the pad's thread.
pub(crate) struct SoundPusher {
    pad: gst::Pad,
    element: glib::WeakRef<gst::Element>,
    queue: Arc<SoundQueue>,
    has_begun: bool,
    /// The running time at which the last block ends.
    ends: Option<gst::ClockTime>,
}

impl SoundPusher {
    pub(crate) fn new(pad: gst::Pad, element: &gst::Element, queue: Arc<SoundQueue>) -> Self {
        Self { pad, element: element.downgrade(), queue, has_begun: false, ends: None }
    }

    /// Waits for the next block and pushes it. Pauses the pad's thread at the end, and when it is stopped or refused.
    pub(crate) fn push_next(&mut self) {
        let Some(element) = self.element.upgrade() else { return };
        let goes_on = match self.queue.next() {
            Next::Block(block) => {
                self.begin(&element);
                let buffer = self.buffer(&element, block);
                match self.pad.push(buffer) {
                    Ok(_) => true,
                    Err(error) => {
                        self.handle_refusal(&element, error);
                        false
                    }
                }
            }
            Next::End => {
                self.begin(&element);
                self.pad.push_event(gst::event::Eos::new());
                false
            }
            Next::Stopped => false,
        };
        if !goes_on {
            // It is this thread's own, which cannot wait for itself.
            let _ = self.pad.pause_task();
        }
    }

    /// Ends the pipeline with an error if an element cannot use the sound. A flush, the end of the stream and a pad that
    /// leads nowhere are no errors.
    fn handle_refusal(&self, element: &gst::Element, error: gst::FlowError) {
        if matches!(error, gst::FlowError::Flushing | gst::FlowError::NotLinked | gst::FlowError::Eos) {
            return;
        }
        gst::element_error!(element, gst::StreamError::Failed, ["an element refuses the sound: {error}"]);
        self.pad.push_event(gst::event::Eos::new());
    }

    fn begin(&mut self, element: &gst::Element) {
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        let id = self.pad.create_stream_id(element, Some("audio"));
        let start = gst::event::StreamStart::builder(&id).group_id(gst::GroupId::next());
        self.pad.push_event(start.build());
        self.pad.push_event(gst::event::Caps::new(&sound_caps()));
        self.pad.push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new()));
    }

    fn buffer(&mut self, element: &gst::Element, block: Vec<u8>) -> gst::Buffer {
        let frames = (block.len() / 4) as u64;
        let duration = gst::ClockTime::from_nseconds(frames * 1_000_000_000 / u64::from(SAMPLES_PER_SECOND));
        let now = element.current_running_time().unwrap_or_default();
        let even = self.ends.filter(|ends| ends.absdiff(now) < MAX_UNEVENNESS);
        let pts = even.unwrap_or(now);
        self.ends = Some(pts + duration);
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
