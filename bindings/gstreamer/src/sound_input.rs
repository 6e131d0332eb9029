//! The second pad of the sink: raw sound becomes packets of 20 ms, each handed over when its last sample is due.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use gst::prelude::*;
use nestcast_proto::{Bitrate, Sound};
use nestcast_sender::{SoundFanout, clock_micros};
use nestcast_sound::{Error, PACKET_SAMPLES, SAMPLES_PER_SECOND, SoundEncoder};

use crate::sound_gate::Gate;

/// The sound that the sink announces.
pub(crate) const ANNOUNCED_SOUND: Sound = Sound::Stereo;
/// The length of a packet.
const PACKET_TIME: gst::ClockTime = gst::ClockTime::from_mseconds(20);
/// Sound that begins at most this far from the end of the sound before continues it.
const MAX_GAP: gst::ClockTime = gst::ClockTime::from_mseconds(40);
const CHANNELS: usize = 2;

/// Returns the caps of pads with sound.
pub(crate) fn sound_caps() -> gst::Caps {
    gst::Caps::builder("audio/x-raw")
        .field("format", "S16LE")
        .field("layout", "interleaved")
        .field("rate", SAMPLES_PER_SECOND.cast_signed())
        .field("channels", 2)
        .build()
}

/// The sound on its way to the broadcast.
#[derive(Default)]
pub(crate) struct SoundInput {
    pub(crate) gate: Gate,
    pending: Mutex<Pending>,
}

#[derive(Default)]
struct Pending {
    segment: Option<gst::FormattedSegment<gst::ClockTime>>,
    encoder: Option<SoundEncoder>,
    /// Samples that are no packet yet, left and right in turn.
    samples: Vec<i16>,
    /// The running time of the first of them.
    begins: gst::ClockTime,
}

impl SoundInput {
    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what it has, and how times are counted.
    pub(crate) fn reset(&self) {
        *self.pending() = Pending::default();
    }

    /// Takes an event of the pad; the caller passes it on.
    pub(crate) fn handle_event(&self, event: &gst::Event) {
        match event.view() {
            gst::EventView::Segment(segment) => {
                self.pending().segment = segment.segment().downcast_ref::<gst::ClockTime>().cloned();
            }
            gst::EventView::FlushStart(_) => self.gate.set_open(false),
            gst::EventView::FlushStop(_) => {
                self.reset();
                self.gate.set_open(true);
            }
            _ => {}
        }
    }

    /// Hands the packets of a buffer over, each when it is due. `fanout` returns where packets go at that moment.
    ///
    /// # Errors
    /// Why the sound cannot be encoded, or nothing if the pad is flushed.
    pub(crate) fn handle_buffer(
        &self,
        element: &gst::Element,
        bitrate: u64,
        fanout: impl Fn() -> Option<SoundFanout>,
        buffer: &gst::Buffer,
    ) -> Result<(), Option<Error>> {
        let mut pending = self.pending();
        pending.add(buffer);
        while let Some((begins, packet)) = pending.next_packet(bitrate).map_err(Some)? {
            self.gate.wait(element, begins + PACKET_TIME).map_err(|_| None)?;
            let age = element.current_running_time().map_or(PACKET_TIME, |now| now.saturating_sub(begins));
            // Between two broadcasts nobody listens.
            if let Some(fanout) = fanout() {
                fanout.send(clock_micros().saturating_sub(age.useconds()), packet);
            }
        }
        Ok(())
    }
}

impl Pending {
    /// Adds the samples of a buffer. One outside of the segment has no time to be heard.
    fn add(&mut self, buffer: &gst::Buffer) {
        let due = self.segment.as_ref().and_then(|segment| segment.to_running_time(buffer.pts()?));
        let (Some(due), Ok(bytes)) = (due, buffer.map_readable()) else { return };
        let frames = (self.samples.len() / CHANNELS) as u64;
        let ends = self.begins + gst::ClockTime::from_useconds(frames * 1_000_000 / u64::from(SAMPLES_PER_SECOND));
        if self.samples.is_empty() || ends.absdiff(due) > MAX_GAP {
            self.samples.clear();
            self.begins = due;
        }
        self.samples.extend(bytes.as_chunks().0.iter().map(|&sample| i16::from_le_bytes(sample)));
    }

    /// Returns the next packet and the running time of its first sample, if there are enough samples.
    fn next_packet(&mut self, bitrate: u64) -> Result<Option<(gst::ClockTime, Bytes)>, Error> {
        let length = CHANNELS * PACKET_SAMPLES;
        if self.samples.len() < length {
            return Ok(None);
        }
        let mut encoder = match self.encoder.take() {
            Some(encoder) => encoder,
            None => SoundEncoder::new(ANNOUNCED_SOUND, Bitrate::from_bits(bitrate))?,
        };
        let packet = encoder.encode(&self.samples[..length])?;
        self.encoder = Some(encoder);
        self.samples.drain(..length);
        let begins = self.begins;
        self.begins += PACKET_TIME;
        Ok(Some((begins, packet)))
    }
}
