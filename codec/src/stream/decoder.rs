//! Streams, as far as they arrived, to pictures.

use std::ops::Range;

use crate::bitplane::scan::{self, Cursor};
use crate::bitplane::slice::Slice;
use crate::entropy::range_coder::RangeDecoder;
use crate::error::Error;
use crate::model::Model;
use crate::parallel;
use crate::picture::{Picture, ViewMut};
use crate::stream::header::{Header, MAX_HEADER, Parsed};
use crate::stream::interleave::Deinterleaver;
use crate::subband::coefficients::Coefficients;
use crate::subband::layout;
use crate::transform::{Position, Synthesis, TransformError};

/// Why a stream could not be decoded. That it is short is no reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The synthesis failed.
    #[error("the synthesis failed: {0}")]
    Synthesis(#[from] TransformError),
    /// There is no header yet, so nobody knows how large the picture is.
    #[error("the stream ends inside its header: {0} more bytes are needed")]
    NeedMore(usize),
}

/// How far a stream has come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Progress {
    /// The header is not complete; at least this many more bytes are needed to render.
    NeedMore(usize),
    /// Every render gives a picture, better with every byte.
    Picture(Position),
    /// All symbols are known; further bytes change nothing.
    Complete,
}

/// Bytes that are worth decoding on several threads.
const MIN_PARALLEL_BYTES: usize = 4096;

/// Pixels that a decoder agrees to hold unless told otherwise. It takes up to 50 bytes a pixel.
pub const DEFAULT_MAX_PIXELS: u64 = 100_000_000;

/// Decodes streams with one synthesis, one after another in the same memory. Push bytes as they arrive, render whenever
/// a picture is wanted.
///
/// Streams of pictures of the size of the one before are decoded without an allocation; threads that are started take
/// some.
pub struct Decoder {
    synthesis: Box<dyn Synthesis>,
    max_pixels: u64,
    head: Vec<u8>,
    header: Option<Header>,
    deinterleaver: Deinterleaver,
    slices: Vec<Part>,
    /// Memory of the picture before.
    coefficients: Coefficients,
    /// Why the stream was refused; it stays refused.
    refused: Option<Error>,
}

/// A slice, as far as it arrived.
#[derive(Debug, Default)]
struct Part {
    /// Pixel rows.
    rows: Range<usize>,
    slice: Slice,
    /// Bytes arrived, and the slice is that of this picture.
    begun: bool,
    cursor: Cursor,
    coder: RangeDecoder,
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder")
            .field("header", &self.header)
            .field("progress", &self.progress())
            .finish_non_exhaustive()
    }
}

impl Decoder {
    /// A decoder for the model of `synthesis`, on as many threads as that uses, that accepts up to
    /// [`DEFAULT_MAX_PIXELS`].
    #[must_use]
    pub fn new(synthesis: impl Synthesis + 'static) -> Self {
        Self {
            synthesis: Box::new(synthesis),
            max_pixels: DEFAULT_MAX_PIXELS,
            head: Vec::with_capacity(MAX_HEADER),
            header: None,
            deinterleaver: Deinterleaver::new(1),
            slices: Vec::new(),
            coefficients: Coefficients::default(),
            refused: None,
        }
    }

    /// Refuses larger pictures before memory is taken for them.
    #[must_use]
    pub const fn with_max_pixels(mut self, max_pixels: u64) -> Self {
        self.max_pixels = max_pixels;
        self
    }

    /// The stream's header, once it arrived.
    #[must_use]
    pub const fn header(&self) -> Option<Header> {
        self.header
    }

    /// The model whose streams it decodes.
    #[must_use]
    pub fn model(&self) -> &Model {
        self.synthesis.model()
    }

    /// Forgets the stream: the next byte is another's first. The memory is kept.
    pub fn reset(&mut self) {
        self.head.clear();
        (self.header, self.refused) = (None, None);
    }

    /// Takes the next bytes of the stream, any number of them, and decodes all that they determine.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Version`] or [`Error::Model`] by what the stream says, [`Error::Limit`]
    /// if the picture is larger than agreed. A stream that is only short is no error. A stream once refused
    /// stays refused; what it gave before still renders.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Progress, Error> {
        if let Some(refused) = self.refused {
            return Err(refused);
        }
        self.take(bytes).inspect_err(|error| self.refused = Some(*error))?;
        Ok(self.progress())
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut rest = bytes;
        let header = if let Some(header) = self.header {
            header
        } else {
            let before = self.head.len();
            let count = (MAX_HEADER - before).min(bytes.len());
            self.head.extend_from_slice(&bytes[..count]);
            let Parsed::Complete(header, length) = Header::parse(&self.head)? else { return Ok(()) };
            self.start(header)?;
            rest = &bytes[length - before..];
            header
        };
        self.decode(header, rest)
    }

    fn start(&mut self, header: Header) -> Result<(), Error> {
        let given = self.model().id();
        if header.model != given {
            return Err(Error::Model { needed: header.model, given });
        }
        let pixels = header.size.pixels() as u64;
        if pixels > self.max_pixels {
            return Err(Error::Limit { what: "the picture's number of pixels", given: pixels, max: self.max_pixels });
        }
        let slices = layout::slices(header.size);
        self.deinterleaver = Deinterleaver::new(slices.len());
        self.slices.resize_with(slices.len(), Part::default);
        for (part, rows) in self.slices.iter_mut().zip(slices) {
            (part.rows, part.begun, part.cursor) = (rows, false, Cursor::new(header.planes));
            part.coder.restart();
        }
        self.header = Some(header);
        Ok(())
    }

    fn decode(&mut self, header: Header, bytes: &[u8]) -> Result<(), Error> {
        let Self { deinterleaver, slices, synthesis, .. } = self;
        let given = deinterleaver.push(bytes, |slice, bytes| {
            if slices[slice].cursor.planes > 0 {
                slices[slice].coder.push(bytes);
            }
        });
        // Here, not on the thread that fills it: what a thread allocates is returned to the system when it ends.
        for part in slices.iter_mut().filter(|part| part.coder.has_news() && !part.begun) {
            part.slice.reset(synthesis.model(), header.channels, header.size.width(), part.rows.len());
            part.begun = true;
        }
        let waiting = slices.iter().filter(|part| part.coder.has_news()).count();
        let threads = if bytes.len() < MIN_PARALLEL_BYTES { 1 } else { synthesis.threads().min(waiting) };
        parallel::for_each(threads, slices.iter_mut().filter(|part| part.coder.has_news()), |part| {
            // A decoder that starves goes on from here when more bytes arrive.
            let _ = scan::run(&mut part.slice, &mut part.cursor, &mut part.coder, |_| true);
            part.coder.wait();
        });
        given.map_err(|why| Error::Corrupt { what: "stream", why })
    }

    /// How far the stream has come.
    #[must_use]
    pub fn progress(&self) -> Progress {
        match self.header {
            None => match Header::parse(&self.head) {
                Ok(Parsed::NeedMore(more)) => Progress::NeedMore(more),
                _ => Progress::NeedMore(1),
            },
            Some(_) if self.slices.iter().all(|part| part.cursor.planes == 0) => Progress::Complete,
            Some(header) => Progress::Picture(self.position(header)),
        }
    }

    /// How far all slices have come (spec, "Position").
    #[expect(clippy::cast_precision_loss, reason = "a position needs no more than 24 bits")]
    fn position(&self, header: Header) -> Position {
        let passes = (3 * layout::subbands(header.channels).count()) as f32;
        let (mut sum, mut rows) = (0.0, 0.0);
        for part in &self.slices {
            let done = if part.begun { part.cursor.passes_done(&part.slice) } else { 0.0 };
            let at = if part.cursor.planes == 0 { 0.0 } else { f32::from(part.cursor.planes) - done / passes };
            sum += at * part.rows.len() as f32;
            rows += part.rows.len() as f32;
        }
        Position(sum / rows)
    }

    /// The coefficients as far as they are known, and how far the stream came.
    ///
    /// # Errors
    /// [`DecodeError::NeedMore`] before the header is complete.
    pub fn coefficients(&mut self) -> Result<(&mut Coefficients, Position), DecodeError> {
        let header = self.complete_header()?;
        let position = self.position(header);
        let Self { synthesis, slices, coefficients, .. } = self;
        coefficients.reset_to_zero(header.model, header.size, header.channels, header.axes);
        let rows = coefficients.slices_mut(slices.iter().map(|part| part.rows.clone()));
        let jobs = slices.iter().zip(rows).filter(|(part, _)| part.begun);
        parallel::for_each(synthesis.threads().min(slices.len()), jobs, |(part, mut rows)| {
            part.slice.write_to(synthesis.model(), &mut rows)
        });
        Ok((coefficients, position))
    }

    fn complete_header(&self) -> Result<Header, DecodeError> {
        self.header.ok_or_else(|| match self.progress() {
            Progress::NeedMore(more) => DecodeError::NeedMore(more),
            Progress::Picture(_) | Progress::Complete => DecodeError::NeedMore(1),
        })
    }

    /// Makes `out` the picture of the bytes that arrived so far.
    ///
    /// # Errors
    /// [`DecodeError::NeedMore`] before the header is complete, [`DecodeError::Synthesis`] if the synthesis fails or
    /// `out` has another size or other channels than the header says.
    pub fn render_into<'a>(&mut self, out: impl Into<ViewMut<'a>>) -> Result<(), DecodeError> {
        let (_, position) = self.coefficients()?;
        Ok(self.synthesis.synthesise(&mut self.coefficients, position, out.into())?)
    }

    /// The picture of the bytes that arrived so far, grey or RGB as the header says.
    ///
    /// # Errors
    /// As [`Decoder::render_into`].
    pub fn render(&mut self) -> Result<Picture, DecodeError> {
        let header = self.complete_header()?;
        let mut picture = Picture::zero(header.size, header.channels);
        self.render_into(&mut picture)?;
        Ok(picture)
    }
}
