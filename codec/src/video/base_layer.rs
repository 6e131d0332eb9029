//! Decodes base layers alone, and makes random-access frames of them: for a sender of stored video.

use bytes::BytesMut;

use crate::error::{Error, Quantity};
use crate::motion::field::Field;
use crate::parallel::Threads;
use crate::picture::Size;
use crate::residual::decoder::ResidualDecoder;
use crate::residual::encoder::ResidualEncoder;
use crate::residual::planes::Planes420;
use crate::scratch::Scratch;
use crate::stream::decoder::DEFAULT_MAX_PIXELS;
use crate::video::ages::Gains;
use crate::video::frame::{CodedFrame, random_access};
use crate::video::frame_motion::FrameMotion;
use crate::video::head::Head;
use crate::video::model::VideoModel;
use crate::video::state::State;
use crate::video::strip::{Targets, synthesise};

/// The least bytes that a sender or a writer should allow a random-access frame. A picture that stays has base layers
/// of a few bytes, and a slow path carries few in a frame interval; with as few as that, a receiver would begin with a
/// flat picture. 1000 bytes fit into one packet of most networks.
pub const MIN_RANDOM_ACCESS_BYTES: usize = 1000;

/// Follows the base-layer reference of a video from the base layers of its frames. It needs less time than a
/// [`VideoDecoder`](crate::VideoDecoder), because it makes neither the enhancement reference nor a picture to show.
///
/// A receiver that joins a stored video late needs a [random-access frame](BaseLayerDecoder::random_access_frame) made
/// from that reference.
pub struct BaseLayerDecoder {
    model: VideoModel,
    size: Size,
    max_pixels: u64,
    threads: Threads,
    /// One pixel in size until the first frame arrives.
    pub(super) state: State,
    motion: FrameMotion,
    field: Field,
    room: Scratch<i32>,
    decoder: ResidualDecoder,
    coder: ResidualEncoder,
    residual: Planes420<i16>,
    bytes: BytesMut,
    /// The place of the last decoded frame in the refresh cycle; `None` before the first.
    phase: Option<u8>,
}

impl std::fmt::Debug for BaseLayerDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BaseLayerDecoder").field("size", &self.size).finish_non_exhaustive()
    }
}

impl BaseLayerDecoder {
    /// Returns a decoder for frames of this size, on `threads` threads, that accepts up to [`DEFAULT_MAX_PIXELS`]. It
    /// allocates about 30 bytes a pixel with the first frame.
    #[must_use]
    pub fn new(model: VideoModel, size: Size, threads: usize) -> Self {
        let threads = Threads::new(threads);
        Self {
            model,
            size,
            max_pixels: DEFAULT_MAX_PIXELS,
            state: State::new(Size::ONE),
            motion: FrameMotion::default(),
            field: Field::default(),
            room: Scratch::default(),
            decoder: ResidualDecoder::new(&threads),
            coder: ResidualEncoder::new(&threads),
            residual: Planes420::default(),
            bytes: BytesMut::new(),
            phase: None,
            threads,
        }
    }

    /// Refuses larger frames before it allocates memory for them.
    #[must_use]
    pub const fn with_max_pixels(mut self, max_pixels: u64) -> Self {
        self.max_pixels = max_pixels;
        self
    }

    /// Decodes the base layer of the next frame, and reads no byte after it. Returns `false`, and the reference stays, if
    /// there is not enough of the frame, or if it copies vectors of a frame that was not decoded. Every 32nd frame copies
    /// none.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the bytes break the specification; then the reference stays. [`Error::Limit`] if frames are
    /// larger than agreed.
    pub fn decode(&mut self, frame: &[u8]) -> Result<bool, Error> {
        let given = self.size.pixels() as u64;
        if given > self.max_pixels {
            return Err(Error::Limit { what: Quantity::FramePixels, given, max: self.max_pixels });
        }
        let Some((head, length)) = Head::parse(frame)? else { return Ok(false) };
        let Some((side, string)) = frame[length..].split_at_checked(head.side) else { return Ok(false) };
        if self.state.size != self.size {
            self.state = State::new(self.size);
            self.residual = Planes420::new(self.size);
        }
        let Self { model, size, state, motion, field, room, threads, decoder, .. } = self;
        // Checked completely before the state changes.
        if !motion.read(&head, side, *size, field)? {
            return Ok(false);
        }
        if head.key {
            state.predict_nothing();
        } else if head.stays {
            state.predict_same(head.turn());
        } else if head.switches {
            state.predict_switch(field, threads, room);
        } else {
            state.predict_base_layer(field, threads, room);
        }
        let model = model.of(head.key);
        decoder.start(*size, head.planes);
        // The bitstream ends at a corrupt length, as in every decoder.
        let _ = decoder.push(model, &string[..head.base_reference.min(string.len())]);
        let gains = Gains::of_base_reference(*size, &head);
        let reference = Some(state.next_base_reference());
        synthesise(decoder, model, *size, Targets { gains: gains.as_ref(), reference, ..Targets::default() });
        self.phase = Some(head.phase);
        Ok(true)
    }

    /// Returns a random-access frame, of at most `max_bytes`, for receivers that have none of the frames before. It
    /// replaces the last frame: it sets their two references to an embedded picture of the base-layer reference. It also
    /// has the vectors that the next frame can copy. If these take more than half of `max_bytes`, the picture has the other
    /// half, and the frame is larger.
    /// Returns `None` before the first frame.
    #[must_use]
    pub fn random_access_frame(&mut self, max_bytes: usize) -> Option<CodedFrame> {
        let phase = self.phase?;
        let Self { model, size, state, residual, coder, bytes, motion, .. } = self;
        for (out, plane) in residual.planes_mut().into_iter().zip(&state.base_reference.planes) {
            let rows = out.chunks_exact_mut(plane.width).enumerate();
            rows.for_each(|(y, out)| out.copy_from_slice(plane.row(y)));
        }
        let (planes, string) = coder.encode(&model.key, residual, max_bytes);
        let head = Head { phase, key: true, planes, ..Head::default() };
        Some(random_access(bytes, head, &motion.last.encode(*size), &string, max_bytes))
    }
}

#[cfg(test)]
mod tests;
