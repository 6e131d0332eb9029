//! Decodes streams, as far as they arrived, into pictures.

use std::sync::Arc;

use crate::colour::axes::Axes;
use crate::error::Error;
use crate::linear::Linear;
use crate::model::Model;
use crate::picture::{Channels, Format, Picture, Size, ViewMut};
use crate::stream::extras::add_alpha;
use crate::stream::header::{AlphaPlanes, Header, MAX_HEADER, Parsed};
use crate::stream::slice_decoder::{Coding, Layer, SliceDecoder};
use crate::subband::coefficients::Coefficients;
use crate::subband::layout::{BitPlanes, ChromaFormat};
use crate::transform::{Position, Synthesis, TransformError};

/// The reason why a stream could not be decoded. A short stream alone is no reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The synthesis failed.
    #[error("the synthesis failed: {0}")]
    Synthesis(#[from] TransformError),
    /// The bytes are no stream that this decoder can read. Only [`Codec::decode`](crate::Codec::decode) returns this.
    #[error(transparent)]
    Stream(#[from] Error),
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
    /// Rendering gives a picture, and more bytes make it better, with rare exceptions.
    Picture(Position),
    /// All symbols are known; further bytes change nothing.
    Complete,
}

/// The default limit of pixels that a decoder agrees to hold, counted by [`Header::weighed_pixels`]. It needs up to 50
/// bytes for each.
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
    alpha: Alpha,
    /// The reason why the stream was refused; it stays refused.
    refused: Option<Error>,
}

/// The parts that decode opacity.
#[derive(Default)]
struct Alpha {
    linear: Option<Linear>,
    coefficients: Coefficients,
    /// Memory of the opacity, grey in 16 bits.
    picture: Option<Picture>,
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
            alpha: Alpha::default(),
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
        header.check_pixels(self.max_pixels)?;
        let Header { size, channels, planes, fine_planes, gains, .. } = header;
        let colours = BitPlanes { usual: planes, fine: fine_planes };
        let alpha = header.alpha.map(|AlphaPlanes { planes, fine_planes }| {
            let planes = BitPlanes { usual: planes, fine: fine_planes };
            Coding { chroma: ChromaFormat::None, planes, gains: false }
        });
        self.slices.start_all(size, Coding { chroma: channels.into(), planes: colours, gains }, alpha);
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

    /// Returns the bit planes that are still missing, those below the finest step included; 0.0 for all of the stream,
    /// `None` before the header is complete.
    #[must_use]
    pub fn planes_left(&self) -> Option<f32> {
        let fine_planes = self.header?.fine_planes;
        Some(match self.progress() {
            Progress::Picture(position) => position.0 + f32::from(fine_planes),
            _ => 0.0,
        })
    }

    /// Returns the coefficients of the colours as far as they are known, and the stream's position.
    ///
    /// # Errors
    /// [`DecodeError::IncompleteHeader`] before the header is complete.
    pub fn coefficients(&mut self) -> Result<(&mut Coefficients, Position), DecodeError> {
        let header = self.complete_header()?;
        let Self { synthesis, slices, coefficients, .. } = self;
        write_known(slices.colours(), &**synthesis, coefficients, (header.size, header.channels, header.axes));
        Ok((coefficients, slices.position()))
    }

    fn complete_header(&self) -> Result<Header, DecodeError> {
        self.header.ok_or_else(|| match self.progress() {
            Progress::NeedMore(missing) => DecodeError::IncompleteHeader { missing },
            Progress::Picture(_) | Progress::Complete => DecodeError::IncompleteHeader { missing: 1 },
        })
    }

    /// Renders the picture of the bytes that have arrived into `out`, in its number of bits a sample whatever the
    /// stream's. If the stream has opacity and `out` has none, `out` shows the picture over white. If `out` alone has
    /// opacity, it is opaque.
    ///
    /// # Errors
    /// [`DecodeError::IncompleteHeader`] before the header is complete; [`DecodeError::Synthesis`] if the synthesis
    /// fails, or if the size or channels of `out` differ from the header's.
    pub fn render_into<'a>(&mut self, out: impl Into<ViewMut<'a>>) -> Result<(), DecodeError> {
        let (_, position) = self.coefficients()?;
        let mut out = out.into();
        self.synthesis.synthesise(&mut self.coefficients, position, out.reborrow())?;
        self.render_alpha_into(out)
    }

    /// Does for `out` what [`Decoder::render_into`] does about opacity, after another synthesis has rendered the
    /// colours.
    ///
    /// # Errors
    /// As [`Decoder::render_into`].
    pub fn render_alpha_into<'a>(&mut self, out: impl Into<ViewMut<'a>>) -> Result<(), DecodeError> {
        let header = self.complete_header()?;
        let mut out = out.into();
        if header.alpha.is_none() {
            return Ok(());
        }
        if out.size != header.size {
            return Err(TransformError::from(Error::Argument("the picture has another size than the stream")).into());
        }
        let Self { synthesis, slices, alpha: Alpha { linear, coefficients, picture }, .. } = self;
        let model = synthesis.model();
        let threads = synthesis.threads();
        let linear = linear.get_or_insert_with(|| Linear::new(Arc::clone(model)).with_threads(threads.count()));
        let layer = slices.alpha();
        write_known(layer, &**synthesis, coefficients, (header.size, Channels::Grey, Axes::default()));
        let picture = match picture {
            Some(picture) if picture.size() == header.size => picture,
            other => other.insert(Picture::zero(header.size, Format::Grey16)),
        };
        linear.synthesise(coefficients, layer.position(), picture.into())?;
        add_alpha(picture, &mut out);
        Ok(())
    }

    /// Returns the picture of the bytes that have arrived, grey or RGB as the header says, opaque and of 8 bits a
    /// sample.
    ///
    /// # Errors
    /// As [`Decoder::render_into`].
    pub fn render(&mut self) -> Result<Picture, DecodeError> {
        let channels = self.complete_header()?.channels;
        self.render_as(channels.into())
    }

    /// As [`Decoder::render`], in another format; [`Header::format`] keeps all that is in the stream.
    ///
    /// # Errors
    /// As [`Decoder::render_into`].
    pub fn render_as(&mut self, format: Format) -> Result<Picture, DecodeError> {
        let mut picture = Picture::zero(self.complete_header()?.size, format);
        self.render_into(&mut picture)?;
        Ok(picture)
    }
}

/// Sets the coefficients of such a picture to what is known of them.
fn write_known(
    layer: Layer<'_>,
    synthesis: &dyn Synthesis,
    out: &mut Coefficients,
    (size, channels, axes): (Size, Channels, Axes),
) {
    let model = &**synthesis.model();
    let used = out.reset_some(model.id(), size, channels, axes);
    if model.has_post_filter() {
        out.reset_significance(size.width().div_ceil(4) * size.height().div_ceil(4));
    }
    let Coefficients { subbands, significance, .. } = out;
    layer
        .write_to(subbands, &used, significance, synthesis.threads(), |slice, rows| slice.write_to(model, rows, &used));
}
