//! Streams, as far as they arrived, to pictures.

use crate::error::Error;
use crate::header::{Header, MAX_HEADER, Parsed};
use crate::layout::{self, Unit};
use crate::model::Model;
use crate::parallel;
use crate::picture::{Channels, Picture};
use crate::pieces::{self, Cursor};
use crate::quantise;
use crate::range::RangeDecoder;
use crate::segments::Splitter;
use crate::stripe::Stripe;
use crate::transform::{Coefficients, Cut, Synthesis, TransformError};

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
    Picture(Cut),
    /// All of the stream arrived; further bytes change nothing.
    Whole,
}

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
    splitter: Splitter,
    stripes: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    rows: std::ops::Range<usize>,
    /// Built when its first bytes arrive.
    stripe: Option<Stripe>,
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
            let Parsed::Whole(header, length) = Header::parse(&self.head)? else { return Ok(()) };
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
        let rows = layout::stripes(header.size);
        let stripes = rows.into_iter().map(|rows| Part {
            rows,
            stripe: None,
            cursor: Cursor::new(header.planes),
            coder: RangeDecoder::new(),
        });
        let stripes: Vec<Part> = stripes.collect();
        Ok(Body { header, splitter: Splitter::new(stripes.len()), stripes })
    }

    /// How far the stream has come.
    #[must_use]
    pub fn progress(&self) -> Progress {
        match &self.body {
            None => match Header::parse(&self.head) {
                Ok(Parsed::NeedMore(more)) => Progress::NeedMore(more),
                _ => Progress::NeedMore(1),
            },
            Some(body) if body.stripes.iter().all(|part| part.cursor.planes == 0) => Progress::Whole,
            Some(body) => Progress::Picture(body.cut()),
        }
    }

    /// The coefficients as far as they are known, and the cut they are at.
    ///
    /// # Errors
    /// [`DecodeError::NeedMore`] before the header is whole.
    pub fn coefficients(&self) -> Result<(Coefficients, Cut), DecodeError> {
        let Some(body) = &self.body else {
            let more = if let Progress::NeedMore(more) = self.progress() { more } else { 1 };
            return Err(DecodeError::NeedMore(more));
        };
        Ok((body.coefficients(&self.model, self.threads), body.cut()))
    }

    /// The picture of the bytes that arrived so far.
    ///
    /// # Errors
    /// [`DecodeError::NeedMore`] before the header is whole, [`DecodeError::Synthesis`] if `synthesis` fails.
    pub fn render(&self, synthesis: &dyn Synthesis) -> Result<Picture, DecodeError> {
        let (coefficients, cut) = self.coefficients()?;
        synthesis.synthesise(coefficients, cut).map_err(DecodeError::Synthesis)
    }
}

impl Body {
    fn push(&mut self, model: &Model, bytes: &[u8], threads: usize) -> Result<(), Error> {
        let parts = &mut self.stripes;
        let split = self.splitter.push(bytes, |stripe, bytes| {
            if parts[stripe].cursor.planes > 0 {
                parts[stripe].coder.push(bytes);
            }
        });
        let (width, channels) = (self.header.size.width(), self.header.channels);
        let waiting = parts.iter_mut().filter(|part| part.coder.has_news());
        // Built here, not where it is filled: what a thread allocates is returned to the system when it ends.
        let waiting = waiting.map(|part| {
            let stripe = part.stripe.take();
            let stripe = stripe.unwrap_or_else(|| Stripe::new(model, channels, width, part.rows.len()));
            (part, stripe)
        });
        let threads = if bytes.len() < 4096 { 1 } else { threads };
        parallel::for_each(threads, waiting.collect::<Vec<_>>().into_iter(), |(part, mut stripe)| {
            // A decoder that starves goes on from here when more bytes arrive.
            let _ = pieces::run(&mut stripe, &mut part.cursor, &mut part.coder, |_| true);
            part.coder.rest();
            part.stripe = Some(stripe);
        });
        split.map_err(|why| Error::Corrupt { what: "stream", why })
    }

    fn cut(&self) -> Cut {
        let positions = self.stripes.iter().map(|part| (part.cursor.planes, part.done(), part.rows.len()));
        quantise::cut(positions, self.header.channels)
    }

    fn coefficients(&self, model: &Model, threads: usize) -> Coefficients {
        let (size, channels) = (self.header.size, self.header.channels);
        let mut out = Coefficients { axes: self.header.axes, ..Coefficients::zero(size, channels) };
        let mut slices: Vec<Vec<&mut [f32]>> = self.stripes.iter().map(|_| Vec::new()).collect();
        for (index, values) in out.units.iter_mut().enumerate() {
            let unit = Unit::at(index);
            if channels == Channels::Grey && unit.component > 0 {
                continue;
            }
            let (width, _) = unit.size(size.width(), size.height());
            let mut rest = values.as_mut_slice();
            for (part, slices) in self.stripes.iter().zip(&mut slices) {
                let rows = layout::rows(unit, size.height(), &part.rows);
                let (own, below) = rest.split_at_mut(width * rows.len());
                slices.push(own);
                rest = below;
            }
        }
        let jobs = self.stripes.iter().zip(slices).filter_map(|(part, slices)| Some((part.stripe.as_ref()?, slices)));
        parallel::for_each(threads, jobs, |(stripe, mut slices)| quantise::dequantise(model, stripe, &mut slices));
        out
    }
}

impl Part {
    /// Pieces of the current plane that are done, with the part of the current one.
    #[expect(clippy::cast_precision_loss, reason = "a position needs no more than 24 bits")]
    fn done(&self) -> f32 {
        let Some(stripe) = &self.stripe else { return 0.0 };
        let grid = stripe.units[self.cursor.unit].grid;
        let blocks = (grid.across * grid.down).max(1);
        (self.cursor.pass * stripe.units.len() + self.cursor.unit) as f32
            + (self.cursor.by * grid.across + self.cursor.bx) as f32 / blocks as f32
    }
}
