//! Pictures to streams.

use bytes::Bytes;

use crate::error::Error;
use crate::header::{Header, Parsed};
use crate::layout;
use crate::model::Model;
use crate::palette;
use crate::parallel;
use crate::picture::Picture;
use crate::pieces::{self, Cursor};
use crate::quantise;
use crate::range::Counter;
use crate::segments;
use crate::strings;
use crate::stripe::Stripe;
use crate::transform::{Analysis, Coefficients, TransformError};

/// Why a picture could not be encoded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The analysis failed.
    #[error("the analysis failed: {0}")]
    Analysis(#[source] TransformError),
    /// The analysis gave something else than it promises.
    #[error(transparent)]
    Codec(#[from] Error),
}

/// Encodes pictures with one model. Encoding once serves every receiver.
#[derive(Debug, Clone)]
pub struct Encoder {
    model: Model,
    threads: usize,
    max_bytes: usize,
    rotations: bool,
}

impl Encoder {
    /// An encoder on one thread, without a limit.
    #[must_use]
    pub const fn new(model: Model) -> Self {
        Self { model, threads: 1, max_bytes: usize::MAX, rotations: true }
    }

    /// Uses up to `threads` threads; the bytes do not depend on it.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Stops after `max_bytes`, but not inside the header: the stream is a prefix of the one without a
    /// limit, made in less time.
    #[must_use]
    pub const fn with_max_bytes(mut self, max_bytes: usize) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// Whether the components of regions may be rotated, as they are unless told otherwise. Without, an RGB picture is encoded a
    /// third faster and mostly takes 1 to 8 % more bytes. Decoders need not be told.
    #[must_use]
    pub const fn with_rotations(mut self, rotations: bool) -> Self {
        self.rotations = rotations;
        self
    }

    /// The limit of [`Encoder::with_max_bytes`].
    #[must_use]
    pub const fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Encodes a picture.
    ///
    /// # Errors
    /// [`EncodeError::Analysis`] if `analysis` fails, [`EncodeError::Codec`] if it gives what does not fit.
    pub fn encode(&self, picture: &Picture, analysis: &dyn Analysis) -> Result<Embedded, EncodeError> {
        let coefficients = analysis.analyse(picture).map_err(EncodeError::Analysis)?;
        Ok(self.encode_coefficients(coefficients)?)
    }

    /// Encodes what an analysis gave.
    ///
    /// # Errors
    /// [`Error::Argument`] if the units' lengths do not fit the picture's size.
    pub fn encode_coefficients(&self, coefficients: Coefficients) -> Result<Embedded, Error> {
        let (size, channels, axes) = (coefficients.size, coefficients.channels, coefficients.axes);
        let (stripes, planes) = self.quantise(coefficients)?;
        let coded = strings::code(stripes, planes, self.max_bytes, self.threads);
        let header = Header { size, channels, model: self.model.id(), planes, axes };
        let mut bytes = Vec::new();
        header.write(&mut bytes);
        let least = bytes.len();
        segments::write(&mut bytes, &coded);
        bytes.truncate(self.max_bytes.max(least));
        Ok(Embedded { bytes: bytes.into() })
    }

    /// How often each adaptive probability meets a zero and a one while `coefficients` are coded; from
    /// such counts over many pictures come a model's priors (spec, "Model tables").
    ///
    /// # Errors
    /// As [`Encoder::encode_coefficients`].
    pub fn count(&self, coefficients: Coefficients) -> Result<Vec<[u64; 2]>, Error> {
        let (stripes, planes) = self.quantise(coefficients)?;
        let mut counter = Counter::new();
        for mut stripe in stripes {
            let done = pieces::run(&mut stripe, &mut Cursor::new(planes), &mut counter, |_| true);
            debug_assert!(done.is_ok(), "a counter is never starved");
        }
        Ok(counter.counts)
    }

    /// The stripes' levels, and how many planes they take.
    fn quantise(&self, coefficients: Coefficients) -> Result<(Vec<Stripe>, u8), Error> {
        let (size, channels) = (coefficients.size, coefficients.channels);
        if !coefficients.fits() {
            return Err(Error::Argument("a unit does not have the coefficients that its picture's size fixes"));
        }
        let rows = layout::stripes(size);
        let mut stripes: Vec<Option<(Stripe, u8)>> = vec![None; rows.len()];
        parallel::for_each(self.threads, stripes.iter_mut().zip(&rows), |(slot, rows)| {
            let mut stripe = Stripe::new(&self.model, channels, size.width(), rows.len());
            if self.rotations {
                stripe.regions.decide(palette::rotations(&self.model, &coefficients, rows));
            }
            let planes = quantise::quantise(&self.model, &coefficients, rows, &mut stripe);
            *slot = Some((stripe, planes));
        });
        let planes = stripes.iter().flatten().map(|(_, planes)| *planes).max().unwrap_or(0);
        Ok((stripes.into_iter().flatten().map(|(stripe, _)| stripe).collect(), planes))
    }
}

/// A stream: one picture, ordered so that every prefix is one too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Embedded {
    bytes: Bytes,
}

impl Embedded {
    /// Wraps a stream or a prefix of one that holds at least its header.
    ///
    /// # Errors
    /// As [`Header::parse`]; [`Error::Corrupt`] if the header is not whole.
    pub fn new(bytes: Bytes) -> Result<Self, Error> {
        match Header::parse(&bytes)? {
            Parsed::Whole(..) => Ok(Self { bytes }),
            Parsed::NeedMore(_) => Err(Error::Corrupt { what: "stream", why: "it ends inside its header" }),
        }
    }

    /// The stream's header.
    #[must_use]
    pub fn header(&self) -> Header {
        match Header::parse(&self.bytes) {
            Ok(Parsed::Whole(header, _)) => header,
            _ => unreachable!("an embedded stream begins with a whole header"),
        }
    }

    /// All bytes.
    #[must_use]
    pub const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The first `count` bytes, or all if there are fewer. Shares the memory: nothing is copied.
    #[must_use]
    pub fn prefix(&self, count: usize) -> Bytes {
        self.bytes.slice(..count.min(self.bytes.len()))
    }
}
