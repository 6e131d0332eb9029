//! Decodes frames in order, from any prefix of each.

use std::sync::Arc;

use crate::error::{Error, Quantity};
use crate::observer::{Observer, Stage};
use crate::parallel::Threads;
use crate::picture::{Size, ViewMut};
use crate::residual::decoder::ResidualDecoder;
use crate::residual::planes::Planes420;
use crate::scratch::Scratch;
use crate::simd::widest;
use crate::stream::decoder::DEFAULT_MAX_PIXELS;
use crate::transform::{Position, TransformError};
use crate::video::ages::Gains;
use crate::video::concealment::Motion;
use crate::video::frame_motion::FrameMotion;
use crate::video::head::Head;
use crate::video::model::VideoModel;
use crate::video::residuals::{BASE, ENHANCEMENT, FrameResiduals, SHOWN};
use crate::video::restoration::{DecodingConditions, Restoration};
use crate::video::shown::{self, Frame, Picture};
use crate::video::state::{self, State};
use crate::video::strip::{NextPlanes, Targets, synthesise};

/// Returns the planes of a reference that becomes the sum of its prediction and a residual.
type NextReference = for<'a> fn(&'a mut State) -> NextPlanes<'a>;

/// The part of a frame that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DecodedPart {
    /// The frame was skipped, and the picture before stays. Its head or side information is incomplete; or it copies
    /// vectors of the frame before, which was not decoded: then frames are skipped up to the next that copies none, every
    /// 32nd at least, or a random-access frame.
    Nothing,
    /// Less than the base layer: later frames are damaged until a key frame or a random-access frame, or until 128 frames
    /// or more [renewed](crate::FrameHead::renews) every block.
    Part,
    /// The base layer or more.
    Base,
    /// All bytes from which later frames are predicted, or more.
    EnhancementReference,
}

/// Decodes the frames of one video, one after another.
///
/// It decodes a frame from any prefix of its bytes. Any frame may lack bytes beyond [`crate::CodedFrame::base`] without
/// lasting harm. A frame without its whole base damages later ones for long: see [`DecodedPart::Part`].
pub struct VideoDecoder {
    model: VideoModel,
    size: Size,
    max_pixels: u64,
    threads: Threads,
    /// One pixel in size until the first frame arrives.
    pub(super) state: State,
    motion: Motion,
    frame_motion: FrameMotion,
    room: Scratch<i32>,
    decoder: ResidualDecoder,
    residual: Planes420<i16>,
    /// Residuals that another decoder made, and whether the last frame has them.
    given: FrameResiduals,
    is_given: bool,
    filter: shown::Memory,
    restoration: Option<Arc<dyn Restoration>>,
    /// Bytes of the bitstream in `residual`; `None` before there is one.
    kept: Option<usize>,
    /// Whether the enhancement reference has all bytes that arrived of the last frame.
    is_enhancement_reference: bool,
    /// The current frame's head, and the bytes of its bitstream.
    head: Option<Head>,
    arrived: usize,
    /// Whether the current frame is predicted alone.
    is_predicted: bool,
    /// The positions of the bytes of the base layer and of the enhancement reference.
    positions: [Position; 2],
}

impl std::fmt::Debug for VideoDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VideoDecoder").field("size", &self.size).finish_non_exhaustive()
    }
}

impl VideoDecoder {
    /// Returns a decoder for frames of this size, on `threads` threads, that accepts up to [`DEFAULT_MAX_PIXELS`]. It
    /// allocates about 66 bytes a pixel with the first frame, 3 when it first conceals one, and more for frames narrower
    /// than 64 samples, because pictures are continued by 32 samples on every side.
    #[must_use]
    pub fn new(model: VideoModel, size: Size, threads: usize) -> Self {
        let threads = Threads::new(threads);
        Self {
            model,
            size,
            max_pixels: DEFAULT_MAX_PIXELS,
            decoder: ResidualDecoder::new(&threads),
            threads,
            state: State::new(Size::ONE),
            motion: Motion::default(),
            frame_motion: FrameMotion::default(),
            room: Scratch::default(),
            residual: Planes420::default(),
            given: FrameResiduals::default(),
            is_given: false,
            filter: shown::Memory::default(),
            restoration: None,
            kept: None,
            is_enhancement_reference: false,
            head: None,
            arrived: 0,
            is_predicted: false,
            positions: [Position(0.0); 2],
        }
    }

    /// Refuses larger frames before it allocates memory for them.
    #[must_use]
    pub const fn with_max_pixels(mut self, max_pixels: u64) -> Self {
        self.max_pixels = max_pixels;
        self
    }

    /// Shows frames through this restoration; decoding does not depend on it. WebAssembly leaves it out, so that the
    /// browsers' module is not larger than it may be.
    #[must_use]
    pub fn with_restoration(mut self, restoration: Arc<dyn Restoration>) -> Self {
        self.restoration = Some(restoration);
        self
    }

    /// Shows an observer its work from now on; the caller then does all of it.
    #[must_use]
    pub fn with_observer(self, observer: Arc<dyn Observer>) -> Self {
        self.threads.observe(observer);
        self
    }

    /// Returns the width and height of its frames.
    #[must_use]
    pub const fn size(&self) -> Size {
        self.size
    }

    /// Refuses frames that are too large, and to go on from a frame that is predicted alone.
    const fn check_turn(&self) -> Result<(), Error> {
        if self.is_predicted {
            return Err(Error::Argument("the last frame is predicted and has no residuals: complete it first"));
        }
        let given = self.size.pixels() as u64;
        if given > self.max_pixels {
            return Err(Error::Limit { what: Quantity::FramePixels, given, max: self.max_pixels });
        }
        Ok(())
    }

    /// Does the same, and allocates memory, unless it did so already.
    fn begin(&mut self) -> Result<(), Error> {
        self.check_turn()?;
        if self.state.size != self.size {
            self.state = State::new(self.size);
            self.residual = Planes420::new(self.size);
        }
        Ok(())
    }

    /// Decodes the next frame, or a prefix of it.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the bytes break the specification; then the picture before stays. [`Error::Limit`] if
    /// frames are larger than agreed. [`Error::Argument`] if the frame before is predicted and not complete.
    pub fn decode(&mut self, frame: &[u8]) -> Result<DecodedPart, Error> {
        let part = self.predict(frame)?;
        if part != DecodedPart::Nothing {
            self.complete(frame);
        }
        Ok(part)
    }

    /// Does the half of [`VideoDecoder::decode`] that needs the frames before: it predicts the next frame. Unless it
    /// returns [`DecodedPart::Nothing`], call [`VideoDecoder::complete_with`] or [`VideoDecoder::complete`] next.
    ///
    /// # Errors
    /// As [`VideoDecoder::decode`]; [`Error::Argument`] if the frame before is not complete.
    pub fn predict(&mut self, frame: &[u8]) -> Result<DecodedPart, Error> {
        self.check_turn()?;
        let Some((head, length)) = Head::parse(frame)? else { return Ok(DecodedPart::Nothing) };
        let Some((side, string)) = frame[length..].split_at_checked(head.side) else { return Ok(DecodedPart::Nothing) };
        self.begin()?;
        let Self { model, state, motion, frame_motion, room, threads, .. } = self;
        // Checked completely before the state changes.
        if !frame_motion.read(&head, side, state.size, &mut motion.next)? {
            return Ok(DecodedPart::Nothing);
        }
        threads.end(Stage::SideInfo);
        if head.key {
            motion.forget();
            state.predict_nothing();
        } else if head.stays {
            motion.forget();
            state.predict_same(head.turn());
            threads.end(Stage::Predict);
        } else if head.switches {
            state.predict_switch(motion.advance(), threads, room);
            threads.end(Stage::Predict);
        } else {
            state.predict((motion.advance(), head.phase), model.of(false), threads, room);
            threads.end(Stage::Predict);
        }
        (self.head, self.arrived, self.kept) = (Some(head), string.len(), None);
        (self.is_predicted, self.is_given) = (true, false);
        Ok(match string.len() {
            count if count >= head.enhancement_reference => DecodedPart::EnhancementReference,
            count if count >= head.base_reference => DecodedPart::Base,
            _ => DecodedPart::Part,
        })
    }

    /// Decodes the residuals of the frame that [`VideoDecoder::predict`] predicted, and adds them. Does nothing if there
    /// is no such frame, or if these are fewer bytes than it had.
    pub fn complete(&mut self, frame: &[u8]) {
        let start = frame.len().checked_sub(self.arrived);
        let (Some(head), Some(start)) = (self.head.filter(|_| self.is_predicted), start) else { return };
        self.is_predicted = false;
        self.decoder.start(self.state.size, head.planes);
        self.advance(&head, &frame[start..]);
    }

    /// Adds the residuals that another worker's [`FrameResidualDecoder`](crate::FrameResidualDecoder) made of the frame
    /// that [`VideoDecoder::predict`] predicted. Leaves those of an earlier frame in exchange, so that their memory can
    /// be used again.
    ///
    /// # Errors
    /// [`Error::Argument`] if no frame is predicted, or if these are residuals of another number of bytes or of frames of
    /// another size; then [`VideoDecoder::complete`] still can. It does not compare the bytes.
    pub fn complete_with(&mut self, residuals: &mut FrameResiduals) -> Result<(), Error> {
        if !self.is_predicted || !residuals.fits(self.size, self.arrived, self.state.zone()) {
            return Err(Error::Argument("these are no residuals of the frame that was predicted"));
        }
        std::mem::swap(&mut self.given, residuals);
        (self.is_predicted, self.is_given) = (false, true);
        let Self { model, state, given, threads, room, size, .. } = self;
        let model = model.of(self.head.is_some_and(|head| head.key));
        state::sum(state.next_base_reference(), given.planes(*size, BASE), threads);
        state.recall_within(given.limits(*size), model, threads, room);
        state::sum(state.next_enhancement_reference(), given.planes(*size, ENHANCEMENT), threads);
        threads.end(Stage::Add);
        self.is_enhancement_reference = given.number(ENHANCEMENT) == given.number(SHOWN);
        self.positions = [BASE, ENHANCEMENT].map(|prefix| given.position(prefix));
        Ok(())
    }

    /// Advances the base-layer reference and the enhancement reference.
    fn advance(&mut self, head: &Head, string: &[u8]) {
        let base_reference = head.base_reference.min(string.len());
        let enhancement_reference = head.enhancement_reference.min(string.len());
        self.push(head, &string[..base_reference]);
        let is_next = base_reference == enhancement_reference && !head.stays;
        let gains = Gains::of_base_reference(self.size, head);
        self.make(head, base_reference, gains, Some(State::next_base_reference), is_next);
        let of_base_reference = self.decoder.position();
        self.push(head, &string[base_reference..enhancement_reference]);
        self.is_enhancement_reference = enhancement_reference == string.len();
        self.recall(head);
        let gains = Gains::of_enhancement_reference(self.size, head);
        self.make(head, enhancement_reference, gains, Some(State::next_enhancement_reference), false);
        self.positions = [of_base_reference, self.decoder.position()];
        self.push(head, &string[enhancement_reference..]);
    }

    /// Decodes more bytes of the bitstream, which ends at a corrupt length.
    fn push(&mut self, head: &Head, bytes: &[u8]) {
        let _ = self.decoder.push(self.model.of(head.key), bytes);
    }

    /// Adds to the prediction what the bytes so far leave to the enhancement reference.
    fn recall(&mut self, head: &Head) {
        let Self { model, state, threads, room, decoder, .. } = self;
        state.recall(decoder, model.of(head.key), threads, room);
        threads.end(Stage::Add);
    }

    /// Computes the residual of `count` bytes with these gains, unless it is current, and adds it to the prediction of
    /// a reference; `keeps` the residual for what follows.
    fn make(&mut self, head: &Head, count: usize, gains: Option<Gains>, reference: Option<NextReference>, keeps: bool) {
        let Self { model, size, threads, state, decoder, residual, .. } = self;
        let reference = reference.map(|reference| reference(state));
        if self.kept == Some(count) {
            if let Some(reference) = reference {
                state::sum(reference, residual.slices(), threads);
                threads.end(Stage::Add);
            }
            return;
        }
        let residual = if keeps { residual.planes_mut() } else { Default::default() };
        let targets = Targets { gains: gains.as_ref(), residual, reference, error: None };
        synthesise(decoder, model.of(head.key), *size, targets);
        self.kept = keeps.then_some(count);
    }

    /// Computes the residual of all bytes that arrived, unless the enhancement reference has them all.
    fn make_shown(&mut self, head: &Head) {
        if !self.is_enhancement_reference && !self.is_given {
            self.make(head, self.arrived, Gains::of_enhancement_reference(self.size, head), None, true);
        }
    }

    /// Returns the last frame before the filter, if there is one.
    #[cfg(feature = "training")]
    pub(crate) fn unfiltered(&mut self) -> Result<Option<shown::Unfiltered>, Error> {
        self.begin()?;
        let Some(head) = self.head else { return Ok(None) };
        self.make_shown(&head);
        let Self { state, residual, is_enhancement_reference, decoder, size, .. } = self;
        let frame = frame(state, residual.slices(), *is_enhancement_reference);
        Ok(Some(shown::Unfiltered::new(frame, decoder, *size)))
    }

    /// Renders the last frame into `out`, planar YCbCr 4:2:0 of 8 to 16 bits a sample; grey before the first frame.
    /// WebAssembly renders 8 bits alone.
    ///
    /// # Errors
    /// [`Error::Argument`] for another size or format, or for more than 8 bits with a restoration; [`Error::Limit`] if
    /// frames are larger than agreed; [`TransformError::Network`] if the network of a restoration fails.
    pub fn render_into<'a>(&mut self, out: impl Into<ViewMut<'a>>) -> Result<(), TransformError> {
        let out = out.into();
        self.check(&out)?;
        self.render(out)?;
        self.threads.end(Stage::Show);
        Ok(())
    }

    /// Renders a picture for the `frames`th missing frame after the last one into `out`: the last one with its motion
    /// continued. Later decoding does not depend on it. Returns whether anything moves; if not, `out` stays as it is.
    /// Motion needs two last frames that were both predicted with motion, in similar directions.
    ///
    /// # Errors
    /// As [`VideoDecoder::render_into`].
    pub fn conceal_into<'a>(&mut self, out: impl Into<ViewMut<'a>>, frames: u32) -> Result<bool, TransformError> {
        let mut out = out.into();
        self.check(&out)?;
        if !self.motion.carry_on(frames) {
            return Ok(false);
        }
        self.render(out.reborrow())?;
        let Self { state, motion, room, threads, .. } = self;
        let carried = state.carry_on(&motion.next, &out, threads, room);
        let deep = shown::deep_bits(&out);
        for (plane, out) in carried.planes.iter().zip(&mut out.planes) {
            (0..plane.height).for_each(|y| match deep {
                Some(bits) => {
                    let row = out.row(y, 2 * plane.width).as_chunks_mut().0;
                    widest!(shown::deep_samples(plane.row(y), bits, row));
                }
                None => widest!(shown::bytes(plane.row(y), out.row(y, plane.width))),
            });
        }
        Ok(true)
    }

    /// Refuses a picture of another size or format, and allocates memory, unless it did so already.
    fn check(&mut self, out: &ViewMut<'_>) -> Result<(), Error> {
        let fits = match out.format().ycbcr420() {
            Some((_, bits)) => bits == 8 || shown::deep_bits(out).is_some(),
            None => false,
        };
        if out.size() != self.size || !fits {
            return Err(Error::Argument("the picture to render into is no planar YCbCr 4:2:0 of the frames' size"));
        }
        self.begin()
    }

    fn render(&mut self, mut out: ViewMut<'_>) -> Result<(), TransformError> {
        if let Some(head) = self.head {
            self.make_shown(&head);
            let shown = if self.is_given {
                self.filter.take_significance(&self.given, self.size);
                self.given.position(SHOWN)
            } else {
                self.filter.look(&self.decoder, self.size);
                self.decoder.position()
            };
            let Self { model, filter, threads, .. } = self;
            let residual = if self.is_given { self.given.planes(self.size, SHOWN) } else { self.residual.slices() };
            let frame = frame(&self.state, residual, self.is_enhancement_reference);
            let table = model.of(head.key).post_filter.as_ref();
            if let Some(restoration) = self.restoration.as_ref().filter(|_| !cfg!(target_family = "wasm")) {
                if shown::deep_bits(&out).is_some() {
                    return Err(Error::Argument("a restoration makes pictures of 8 bits a sample").into());
                }
                let [base_reference, enhancement_reference] = self.positions;
                let told = DecodingConditions { key: head.key, base_reference, enhancement_reference, shown };
                let frame = filter.filtered(table, (frame, self.size), threads, told);
                return restoration.restore(&frame, out);
            }
            if let Some(table) = table {
                filter.filter(table, shown, frame, threads, out);
                return Ok(());
            }
        }
        let residual = if self.is_given { self.given.planes(self.size, SHOWN) } else { self.residual.slices() };
        let frame = frame(&self.state, residual, self.is_enhancement_reference);
        let deep = shown::deep_bits(&out);
        for (component, (predicted, out)) in frame.predicted.planes.iter().zip(&mut out.planes).enumerate() {
            (0..predicted.height).for_each(|y| match deep {
                Some(bits) => {
                    let row = out.row(y, 2 * predicted.width).as_chunks_mut().0;
                    frame.deep_samples(component, y, bits, row);
                }
                None => frame.bytes(component, y, out.row(y, predicted.width)),
            });
        }
        Ok(())
    }
}

/// Returns the last frame before the filter; grey before the first frame.
const fn frame<'a>(state: &'a State, residual: [&'a [i16]; 3], is_enhancement_reference: bool) -> Frame<'a> {
    let picture = if is_enhancement_reference {
        Picture::Reference(&state.enhancement_reference)
    } else {
        Picture::Sum(residual)
    };
    Frame { predicted: &state.predicted, picture }
}
