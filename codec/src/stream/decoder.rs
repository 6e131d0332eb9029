//! Decodes streams, as far as they arrived, into pictures.

use crate::error::Error;
use crate::model::Model;
use crate::picture::{Picture, ViewMut};
use crate::stream::header::{Header, MAX_HEADER, Parsed};
use crate::stream::slice_decoder::SliceDecoder;
use crate::subband::coefficients::Coefficients;
use crate::transform::{Position, Synthesis, TransformError};

/// The reason why a stream could not be decoded. A short stream alone is no reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The synthesis failed.
    #[error("the synthesis failed: {0}")]
    Synthesis(#[from] TransformError),
    /// The header is not complete, so the size of the picture is unknown.
    #[error("the stream ends inside its header: {missing} more bytes are needed")]
    IncompleteHeader {
        /// The least number of bytes that are missing.
        missing: usize,
    },
}

/// The part of a stream that has arrived.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Progress {
    /// The header is not complete; at least this many more bytes are needed to render.
    NeedMore(usize),
    /// Rendering gives a picture, and every further byte improves it.
    Picture(Position),
    /// All symbols are known; further bytes change nothing.
    Complete,
}

/// The default limit of pixels that a decoder agrees to hold. It needs up to 50 bytes a pixel.
pub const DEFAULT_MAX_PIXELS: u64 = 100_000_000;

/// Decodes streams with one synthesis, one after another in the same memory. You push bytes as they arrive, and render
/// whenever you want a picture.
///
/// Decoding allocates nothing if the picture has the size of the one before, except to hand work to other threads.
pub struct Decoder {
    synthesis: Box<dyn Synthesis>,
    max_pixels: u64,
    head: Vec<u8>,
    header: Option<Header>,
    slices: SliceDecoder,
    /// Memory of the picture before.
    coefficients: Coefficients,
    /// The reason why the stream was refused; it stays refused.
    refused: Option<Error>,
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
    /// Returns a decoder for the model of `synthesis` that uses as many threads as that does and accepts up to
    /// [`DEFAULT_MAX_PIXELS`].
    #[must_use]
    pub fn new(synthesis: impl Synthesis + 'static) -> Self {
        Self {
            synthesis: Box::new(synthesis),
            max_pixels: DEFAULT_MAX_PIXELS,
            head: Vec::with_capacity(MAX_HEADER),
            header: None,
            slices: SliceDecoder::new(),
            coefficients: Coefficients::default(),
            refused: None,
        }
    }

    /// Refuses larger pictures before it allocates memory for them.
    #[must_use]
    pub const fn with_max_pixels(mut self, max_pixels: u64) -> Self {
        self.max_pixels = max_pixels;
        self
    }

    /// Returns the stream's header, once it has arrived.
    #[must_use]
    pub const fn header(&self) -> Option<Header> {
        self.header
    }

    /// Returns the model whose streams it decodes.
    #[must_use]
    pub fn model(&self) -> &Model {
        self.synthesis.model()
    }

    /// Forgets the stream and keeps the memory: the next byte begins another stream.
    pub fn reset(&mut self) {
        self.head.clear();
        (self.header, self.refused) = (None, None);
    }

    /// Takes the next bytes of the stream, any number of them, and decodes all symbols that they determine.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Version`] or [`Error::Model`] if the stream breaks the specification or this
    /// decoder cannot read it; [`Error::Limit`] if the picture is larger than agreed. A short stream is not an error. A
    /// refused stream stays refused; the bytes before the error still render.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Progress, Error> {
        if let Some(refused) = self.refused {
            return Err(refused);
        }
        self.take(bytes).inspect_err(|error| self.refused = Some(*error))?;
        Ok(self.progress())
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut rest = bytes;
        if self.header.is_none() {
            let before = self.head.len();
            let count = (MAX_HEADER - before).min(bytes.len());
            self.head.extend_from_slice(&bytes[..count]);
            let Parsed::Complete(header, length) = Header::parse(&self.head)? else { return Ok(()) };
            self.start(header)?;
            rest = &bytes[length - before..];
        }
        let Self { slices, synthesis, .. } = self;
        slices.push(synthesis.model(), rest, synthesis.threads()).map_err(|why| Error::Corrupt { what: "stream", why })
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
        self.slices.start(header.size, header.channels.into(), header.planes, header.gains);
        self.header = Some(header);
        Ok(())
    }

    /// Returns how far the stream has arrived.
    #[must_use]
    pub fn progress(&self) -> Progress {
        match self.header {
            None => match Header::parse(&self.head) {
                Ok(Parsed::NeedMore(more)) => Progress::NeedMore(more),
                _ => Progress::NeedMore(1),
            },
            Some(_) if self.slices.is_complete() => Progress::Complete,
            Some(_) => Progress::Picture(self.slices.position()),
        }
    }

    /// Returns the coefficients as far as they are known, and the stream's position.
    ///
    /// # Errors
    /// [`DecodeError::IncompleteHeader`] before the header is complete.
    pub fn coefficients(&mut self) -> Result<(&mut Coefficients, Position), DecodeError> {
        let header = self.complete_header()?;
        let Self { synthesis, slices, coefficients, .. } = self;
        let used = coefficients.reset_some(header.model, header.size, header.channels, header.axes);
        let model = &**synthesis.model();
        let threads = synthesis.threads();
        if model.has_post_filter() {
            let blocks = header.size.width().div_ceil(4) * header.size.height().div_ceil(4);
            coefficients.reset_significance(blocks);
        }
        let Coefficients { subbands, significance, .. } = &mut *coefficients;
        slices.write_to(subbands, &used, significance, threads, |slice, rows| slice.write_to(model, rows, &used));
        Ok((coefficients, slices.position()))
    }

    fn complete_header(&self) -> Result<Header, DecodeError> {
        self.header.ok_or_else(|| match self.progress() {
            Progress::NeedMore(missing) => DecodeError::IncompleteHeader { missing },
            Progress::Picture(_) | Progress::Complete => DecodeError::IncompleteHeader { missing: 1 },
        })
    }

    /// Renders the picture of the bytes that have arrived into `out`.
    ///
    /// # Errors
    /// [`DecodeError::IncompleteHeader`] before the header is complete; [`DecodeError::Synthesis`] if the synthesis fails, or
    /// if the size or channels of `out` differ from the header's.
    pub fn render_into<'a>(&mut self, out: impl Into<ViewMut<'a>>) -> Result<(), DecodeError> {
        let (_, position) = self.coefficients()?;
        Ok(self.synthesis.synthesise(&mut self.coefficients, position, out.into())?)
    }

    /// Returns the picture of the bytes that have arrived, grey or RGB as the header says.
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
