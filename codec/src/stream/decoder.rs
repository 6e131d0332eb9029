//! Streams, as far as they arrived, to pictures.

use crate::bitplane::scan::{self, Cursor};
use crate::bitplane::slice::Slice;
use crate::entropy::range_coder::RangeDecoder;
use crate::error::Error;
use crate::model::Model;
use crate::parallel;
use crate::picture::Picture;
use crate::stream::header::{Header, MAX_HEADER, Parsed};
use crate::stream::interleave::Deinterleaver;
use crate::subband::coefficients::Coefficients;
use crate::subband::layout;
use crate::transform::{Position, Synthesis, TransformError};

/// Why a stream could not be decoded. That it is short is no reason.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The synthesis failed.
    #[error("the synthesis failed: {0}")]
    Synthesis(#[source] TransformError),
    /// There is no header yet, so nobody knows how large the picture is.
    #[error("the stream ends inside its header: {0} more bytes are needed")]
    NeedMore(usize),
}

/// How far a stream has come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Progress {
    /// The header is not whole; at least this many more bytes are needed to render.
    NeedMore(usize),
    /// Every render gives a picture, better with every byte.
    Picture(Position),
    /// All symbols are known; further bytes change nothing.
    Complete,
}

/// Bytes that are worth decoding on several threads.
const MIN_PARALLEL_BYTES: usize = 4096;

/// How many pixels a decoder agrees to hold unless told otherwise. It takes up to 50 bytes a pixel.
pub const DEFAULT_MAX_PIXELS: u64 = 100_000_000;

/// Decodes one stream with one model. Push bytes as they arrive, render whenever a picture is wanted.
#[derive(Debug)]
pub struct Decoder {
    model: Model,
    threads: usize,
    max_pixels: u64,
    head: Vec<u8>,
    body: Option<Body>,
    /// Why the stream was refused; it stays refused.
    refused: Option<Error>,
}

/// What exists once the header is known.
#[derive(Debug)]
struct Body {
    header: Header,
    deinterleaver: Deinterleaver,
    slices: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    rows: std::ops::Range<usize>,
    /// Built when its first bytes arrive.
    slice: Option<Slice>,
    cursor: Cursor,
    coder: RangeDecoder,
}

impl Decoder {
    /// A decoder on one thread that accepts up to [`DEFAULT_MAX_PIXELS`].
    #[must_use]
    pub const fn new(model: Model) -> Self {
        Self { model, threads: 1, max_pixels: DEFAULT_MAX_PIXELS, head: Vec::new(), body: None, refused: None }
    }

    /// Uses up to `threads` threads; the picture does not depend on it.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Refuses larger pictures before memory is taken for them.
    #[must_use]
    pub const fn with_max_pixels(mut self, max_pixels: u64) -> Self {
        self.max_pixels = max_pixels;
        self
    }

    /// The stream's header, once it arrived.
    #[must_use]
    pub fn header(&self) -> Option<Header> {
        self.body.as_ref().map(|body| body.header)
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
        if self.body.is_none() {
            let before = self.head.len();
            let count = (MAX_HEADER - before).min(bytes.len());
            self.head.extend_from_slice(&bytes[..count]);
            let Parsed::Complete(header, length) = Header::parse(&self.head)? else { return Ok(()) };
            self.body = Some(self.start(header)?);
            rest = &bytes[length - before..];
        }
        let body = self.body.as_mut().expect("the header was read");
        body.push(&self.model, rest, self.threads)
    }

    fn start(&self, header: Header) -> Result<Body, Error> {
        if header.model != self.model.id() {
            return Err(Error::Model { needed: header.model, given: self.model.id() });
        }
        let pixels = header.size.pixels() as u64;
        if pixels > self.max_pixels {
            return Err(Error::Limit { what: "the picture's number of pixels", given: pixels, max: self.max_pixels });
        }
        let rows = layout::slices(header.size);
        let slices = rows.into_iter().map(|rows| Part {
            rows,
            slice: None,
            cursor: Cursor::new(header.planes),
            coder: RangeDecoder::new(),
        });
        let slices: Vec<Part> = slices.collect();
        Ok(Body { header, deinterleaver: Deinterleaver::new(slices.len()), slices })
    }

    /// How far the stream has come.
    #[must_use]
    pub fn progress(&self) -> Progress {
        match &self.body {
            None => match Header::parse(&self.head) {
                Ok(Parsed::NeedMore(more)) => Progress::NeedMore(more),
                _ => Progress::NeedMore(1),
            },
            Some(body) if body.slices.iter().all(|part| part.cursor.planes == 0) => Progress::Complete,
            Some(body) => Progress::Picture(body.position()),
        }
    }

    /// The coefficients as far as they are known, and how far the stream came.
    ///
    /// # Errors
    /// [`DecodeError::NeedMore`] before the header is whole.
    pub fn coefficients(&self) -> Result<(Coefficients, Position), DecodeError> {
        let Some(body) = &self.body else {
            let more = if let Progress::NeedMore(more) = self.progress() { more } else { 1 };
            return Err(DecodeError::NeedMore(more));
        };
        Ok((body.coefficients(&self.model, self.threads), body.position()))
    }

    /// The picture of the bytes that arrived so far.
    ///
    /// # Errors
    /// [`DecodeError::NeedMore`] before the header is whole, [`DecodeError::Synthesis`] if `synthesis` fails.
    pub fn render(&self, synthesis: &dyn Synthesis) -> Result<Picture, DecodeError> {
        let (coefficients, position) = self.coefficients()?;
        synthesis.synthesise(coefficients, position).map_err(DecodeError::Synthesis)
    }
}

impl Body {
    fn push(&mut self, model: &Model, bytes: &[u8], threads: usize) -> Result<(), Error> {
        let parts = &mut self.slices;
        let given = self.deinterleaver.push(bytes, |slice, bytes| {
            if parts[slice].cursor.planes > 0 {
                parts[slice].coder.push(bytes);
            }
        });
        let (width, channels) = (self.header.size.width(), self.header.channels);
        // Made here, not where it is filled: what a thread allocates is returned to the system when it ends.
        for part in parts.iter_mut().filter(|part| part.coder.has_news()) {
            part.slice.get_or_insert_with(|| {
                let mut slice = Slice::default();
                slice.reset(model, channels, width, part.rows.len());
                slice
            });
        }
        let threads = if bytes.len() < MIN_PARALLEL_BYTES { 1 } else { threads };
        let waiting = parts.iter_mut().filter(|part| part.coder.has_news());
        parallel::for_each(threads, waiting, |part| {
            if let Some(slice) = &mut part.slice {
                // A decoder that starves goes on from here when more bytes arrive.
                let _ = scan::run(slice, &mut part.cursor, &mut part.coder, |_| true);
            }
            part.coder.wait();
        });
        given.map_err(|why| Error::Corrupt { what: "stream", why })
    }

    /// How far all slices have come (spec, "Position").
    #[expect(clippy::cast_precision_loss, reason = "a position needs no more than 24 bits")]
    fn position(&self) -> Position {
        let passes = (3 * layout::subbands(self.header.channels).count()) as f32;
        let (mut sum, mut rows) = (0.0, 0.0);
        for part in &self.slices {
            let done = part.slice.as_ref().map_or(0.0, |slice| part.cursor.passes_done(slice));
            let at = if part.cursor.planes == 0 { 0.0 } else { f32::from(part.cursor.planes) - done / passes };
            sum += at * part.rows.len() as f32;
            rows += part.rows.len() as f32;
        }
        Position(sum / rows)
    }

    fn coefficients(&self, model: &Model, threads: usize) -> Coefficients {
        let (size, channels) = (self.header.size, self.header.channels);
        let mut out = Coefficients { axes: self.header.axes, ..Coefficients::zero(size, channels) };
        let rows = out.slices_mut(self.slices.iter().map(|part| part.rows.clone()));
        let jobs = self.slices.iter().zip(rows).filter_map(|(part, rows)| Some((part.slice.as_ref()?, rows)));
        parallel::for_each(threads, jobs, |(slice, mut rows)| slice.write_to(model, &mut rows));
        out
    }
}
