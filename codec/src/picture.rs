//! Pictures in memory: samples of 8 or 16 bits, owned or borrowed, interleaved or planar, opaque or not.

use crate::error::{Error, Quantity};

/// Largest width and height in pixels; the header stores each in two bytes.
pub const MAX_SIDE: u32 = 16_384;

/// The colours in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channels {
    /// One component.
    Grey,
    /// Three components.
    Rgb,
}

impl Channels {
    /// Number of components.
    #[must_use]
    pub const fn count(self) -> usize {
        match self {
            Self::Grey => 1,
            Self::Rgb => 3,
        }
    }
}

/// The layout of samples in memory. They have 8 bits, or 16 where the name says so: two bytes, the lower one first,
/// with white at 65535 whatever the depth of the source. [`Format::Ycbcr420Deep`] alone names its bits.
///
/// Opacity is the last sample of a pixel, from 0 for a pixel that does not show to the largest value for an opaque one.
/// Colours are not multiplied by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// One plane of luminance.
    Grey,
    /// One plane of red, green and blue, interleaved.
    Rgb,
    /// Three planes of luma, blue difference and red difference; the differences have half the width and half the
    /// height, rounded up. Spec, section 19.
    Ycbcr420(Ycbcr),
    /// [`Format::Ycbcr420`] in 9 to 16 bits, for video: a sample is two bytes, the lower one first, with its value in the
    /// lowest `bits` bits. So a luma of 235 is 940 in 10 bits. ffmpeg calls it `yuv420p10le`.
    Ycbcr420Deep {
        /// What samples mean.
        colours: Ycbcr,
        /// Bits of a sample, 9..=16.
        bits: u8,
    },
    /// One plane of luminance and opacity, interleaved.
    GreyAlpha,
    /// One plane of red, green, blue and opacity, interleaved.
    Rgba,
    /// [`Format::Grey`] in 16 bits.
    Grey16,
    /// [`Format::GreyAlpha`] in 16 bits.
    GreyAlpha16,
    /// [`Format::Rgb`] in 16 bits.
    Rgb16,
    /// [`Format::Rgba`] in 16 bits.
    Rgba16,
}

/// What luma and colour differences mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ycbcr {
    /// The values that they take.
    pub range: Range,
    /// How red, green and blue make them.
    pub matrix: Matrix,
}

/// How red, green and blue make luma and colour differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matrix {
    /// ITU-R BT.601-7, section 2.5: standard definition, JPEG.
    Bt601,
    /// ITU-R BT.709-6, section 3: high definition.
    Bt709,
}

impl Ycbcr {
    /// Limited range by BT.601, as video of standard definition.
    pub const BT601: Self = Self { range: Range::Limited, matrix: Matrix::Bt601 };
    /// Full range by BT.601, as JPEG.
    pub const BT601_FULL: Self = Self { range: Range::Full, matrix: Matrix::Bt601 };
    /// Limited range by BT.709, as video of high definition.
    pub const BT709: Self = Self { range: Range::Limited, matrix: Matrix::Bt709 };
}

impl Matrix {
    /// The lines from which players take video for high definition.
    const HIGH_DEFINITION: usize = 720;

    /// The matrix that players assume of video of a size that does not say: BT.601 below 720 lines, BT.709 from there.
    #[must_use]
    pub const fn usual(size: Size) -> Self {
        if size.height() < Self::HIGH_DEFINITION { Self::Bt601 } else { Self::Bt709 }
    }
}

/// The range of values that luma and colour differences use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Range {
    /// Luma 0..=255, differences 1..=255, as in JPEG.
    Full,
    /// Luma 16..=235, differences 16..=240, as in video.
    Limited,
}

impl From<Channels> for Format {
    fn from(channels: Channels) -> Self {
        match channels {
            Channels::Grey => Self::Grey,
            Channels::Rgb => Self::Rgb,
        }
    }
}

impl Format {
    /// Returns the colours of a stream of such a picture.
    #[must_use]
    pub const fn channels(self) -> Channels {
        match self {
            Self::Grey | Self::GreyAlpha | Self::Grey16 | Self::GreyAlpha16 => Channels::Grey,
            Self::Rgb | Self::Ycbcr420(_) | Self::Ycbcr420Deep { .. } | Self::Rgba | Self::Rgb16 | Self::Rgba16 => {
                Channels::Rgb
            }
        }
    }

    /// Returns the format of one plane with these colours, with or without opacity, of 16 bits a sample if `deep`.
    #[must_use]
    pub const fn interleaved(channels: Channels, alpha: bool, deep: bool) -> Self {
        match (channels, alpha, deep) {
            (Channels::Grey, false, false) => Self::Grey,
            (Channels::Grey, true, false) => Self::GreyAlpha,
            (Channels::Grey, false, true) => Self::Grey16,
            (Channels::Grey, true, true) => Self::GreyAlpha16,
            (Channels::Rgb, false, false) => Self::Rgb,
            (Channels::Rgb, true, false) => Self::Rgba,
            (Channels::Rgb, false, true) => Self::Rgb16,
            (Channels::Rgb, true, true) => Self::Rgba16,
        }
    }

    /// Returns whether pixels have an opacity.
    #[must_use]
    pub const fn has_alpha(self) -> bool {
        matches!(self, Self::GreyAlpha | Self::Rgba | Self::GreyAlpha16 | Self::Rgba16)
    }

    /// Returns what the samples of planar YCbCr 4:2:0 mean, and their bits, 8..=16; `None` for other formats.
    #[must_use]
    pub const fn ycbcr420(self) -> Option<(Ycbcr, u8)> {
        match self {
            Self::Ycbcr420(colours) => Some((colours, 8)),
            Self::Ycbcr420Deep { colours, bits } if bits > 8 && bits <= 16 => Some((colours, bits)),
            _ => None,
        }
    }

    /// Returns planar YCbCr 4:2:0 of these bits a sample, at most 16.
    #[must_use]
    pub const fn planar(colours: Ycbcr, bits: u8) -> Self {
        if bits > 8 { Self::Ycbcr420Deep { colours, bits } } else { Self::Ycbcr420(colours) }
    }

    /// Returns whether interleaved samples have 16 bits.
    #[must_use]
    pub const fn is_deep(self) -> bool {
        matches!(self, Self::Grey16 | Self::GreyAlpha16 | Self::Rgb16 | Self::Rgba16)
    }

    /// Checks the bits of planar samples.
    pub(crate) const fn check_bits(self) -> Result<(), Error> {
        if self.planes() > 1 && self.ycbcr420().is_none() {
            return Err(Error::Argument("samples of planar YCbCr 4:2:0 have 8 to 16 bits"));
        }
        Ok(())
    }

    /// Returns the bytes of a pixel of an interleaved format, and of a sample of a planar one.
    pub(crate) const fn pixel_bytes(self) -> usize {
        match self {
            Self::Grey | Self::Ycbcr420(_) => 1,
            Self::GreyAlpha | Self::Grey16 | Self::Ycbcr420Deep { .. } => 2,
            Self::Rgb => 3,
            Self::Rgba | Self::GreyAlpha16 => 4,
            Self::Rgb16 => 6,
            Self::Rgba16 => 8,
        }
    }

    /// Returns the number of planes.
    #[must_use]
    pub const fn planes(self) -> usize {
        match self {
            Self::Ycbcr420(_) | Self::Ycbcr420Deep { .. } => 3,
            _ => 1,
        }
    }

    /// Returns the bytes in a row of a plane, and the plane's rows, for a picture of `size`.
    #[must_use]
    pub const fn plane(self, size: Size, plane: usize) -> [usize; 2] {
        match self {
            Self::Ycbcr420(_) | Self::Ycbcr420Deep { .. } if plane > 0 => {
                [self.pixel_bytes() * size.halved().width(), size.halved().height()]
            }
            _ => [self.pixel_bytes() * size.width(), size.height()],
        }
    }

    /// Returns the bytes of all planes without padding, for a picture of `size`.
    #[must_use]
    pub fn bytes(self, size: Size) -> usize {
        (0..self.planes()).map(|plane| self.plane(size, plane)).map(|[width, rows]| width * rows).sum()
    }
}

/// Width and height in pixels, each in `1..=MAX_SIDE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    width: u32,
    height: u32,
}

impl Size {
    /// One pixel.
    pub(crate) const ONE: Self = Self { width: 1, height: 1 };

    /// Checks width and height.
    ///
    /// # Errors
    /// [`Error::Argument`] for an empty picture, [`Error::Limit`] over [`MAX_SIDE`].
    pub const fn new(width: u32, height: u32) -> Result<Self, Error> {
        if width == 0 || height == 0 {
            return Err(Error::Argument("a picture needs at least one pixel"));
        }
        let longest = if width > height { width } else { height };
        if longest > MAX_SIDE {
            return Err(Error::Limit { what: Quantity::Side, given: longest as u64, max: MAX_SIDE as u64 });
        }
        Ok(Self { width, height })
    }

    /// Returns the width in pixels.
    #[must_use]
    pub const fn width(self) -> usize {
        self.width as usize
    }

    /// Returns the height in pixels.
    #[must_use]
    pub const fn height(self) -> usize {
        self.height as usize
    }

    /// Returns the size of chroma at 4:2:0: half of each side, rounded up.
    pub(crate) const fn halved(self) -> Self {
        Self { width: self.width.div_ceil(2), height: self.height.div_ceil(2) }
    }

    /// Returns the size of these rows, at least one; all rows if they are more.
    pub(crate) fn of_rows(self, count: usize) -> Self {
        Self { height: u32::try_from(count).unwrap_or(self.height).clamp(1, self.height), ..self }
    }

    /// Returns the number of pixels.
    #[must_use]
    pub const fn pixels(self) -> usize {
        self.width() * self.height()
    }
}

/// A picture that owns its samples: row by row, plane by plane, without padding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    size: Size,
    format: Format,
    samples: Vec<u8>,
}

impl Picture {
    /// Wraps the bytes of the samples, whose number is [`Format::bytes`].
    ///
    /// # Errors
    /// [`Error::Argument`] if the number of bytes does not match.
    pub fn new(size: Size, format: impl Into<Format>, samples: Vec<u8>) -> Result<Self, Error> {
        let format = format.into();
        if samples.len() != format.bytes(size) {
            return Err(Error::Argument("the picture does not have as many samples as its size and format fix"));
        }
        Ok(Self { size, format, samples })
    }

    /// Creates a picture to render into; all its samples are 0.
    #[must_use]
    pub fn zero(size: Size, format: impl Into<Format>) -> Self {
        let format = format.into();
        Self { size, format, samples: vec![0; format.bytes(size)] }
    }

    /// Returns the width and height.
    #[must_use]
    pub const fn size(&self) -> Size {
        self.size
    }

    /// Returns the layout of the samples in memory.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.format
    }

    /// Returns the colours of a stream of this picture.
    #[must_use]
    pub const fn channels(&self) -> Channels {
        self.format.channels()
    }

    /// Returns the bytes of all samples, row by row and plane by plane.
    #[must_use]
    pub fn samples(&self) -> &[u8] {
        &self.samples
    }

    /// Returns the same bytes for writing.
    #[must_use]
    pub fn samples_mut(&mut self) -> &mut [u8] {
        &mut self.samples
    }
}

/// The borrowed samples of one plane.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plane<'a> {
    /// Rows one below the other.
    pub samples: &'a [u8],
    /// Bytes from the start of a row to that of the row below.
    pub stride: usize,
}

impl Plane<'_> {
    pub(crate) fn row(&self, y: usize, bytes: usize) -> &[u8] {
        &self.samples[y * self.stride..][..bytes]
    }
}

/// The samples of one plane, borrowed for writing.
#[derive(Debug, Default)]
pub struct PlaneMut<'a> {
    /// Rows one below the other.
    pub samples: &'a mut [u8],
    /// Bytes from the start of a row to that of the row below.
    pub stride: usize,
}

impl PlaneMut<'_> {
    pub(crate) fn row(&mut self, y: usize, bytes: usize) -> &mut [u8] {
        &mut self.samples[y * self.stride..][..bytes]
    }
}

/// Checks that planes of these lengths and strides contain every row.
fn fits(size: Size, format: Format, planes: impl ExactSizeIterator<Item = [usize; 2]>) -> Result<(), Error> {
    format.check_bits()?;
    if planes.len() != format.planes() {
        return Err(Error::Argument("the picture does not have as many planes as its format fixes"));
    }
    for (plane, [length, stride]) in planes.enumerate() {
        let [bytes, rows] = format.plane(size, plane);
        let needed = stride.checked_mul(rows - 1).and_then(|above| above.checked_add(bytes));
        if stride < bytes || needed.is_none_or(|needed| length < needed) {
            return Err(Error::Argument("a plane does not have the rows that the picture's size and format fix"));
        }
    }
    Ok(())
}

/// A picture to encode that borrows the caller's memory.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    pub(crate) size: Size,
    pub(crate) format: Format,
    pub(crate) planes: [Plane<'a>; 3],
}

impl<'a> View<'a> {
    /// Makes a view of `planes`, as many as `format` has.
    ///
    /// # Errors
    /// [`Error::Argument`] if planes or rows are missing.
    pub fn new(size: Size, format: Format, planes: &[Plane<'a>]) -> Result<Self, Error> {
        fits(size, format, planes.iter().map(|plane| [plane.samples.len(), plane.stride]))?;
        let planes = std::array::from_fn(|plane| planes.get(plane).copied().unwrap_or_default());
        Ok(Self { size, format, planes })
    }

    /// Returns the width and height.
    #[must_use]
    pub const fn size(&self) -> Size {
        self.size
    }

    /// Returns the layout of the samples in memory.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.format
    }

    /// Returns a sample of a plane of [`Format::Ycbcr420Deep`], by column and row.
    pub(crate) fn deep_sample(&self, plane: usize, x: usize, y: usize) -> u16 {
        let pair = &self.planes[plane].row(y, 2 * (x + 1))[2 * x..];
        u16::from_le_bytes([pair[0], pair[1]])
    }

    /// Returns whether a colour has no equal in 8 bits. Samples of 16 bits are equal to one of 8 if their bytes are
    /// equal, those of [`Format::Ycbcr420Deep`] if they have no fraction of a step of 8 bits.
    #[must_use]
    pub fn has_deep_colour(&self) -> bool {
        if let Format::Ycbcr420Deep { bits, .. } = self.format {
            let fraction = (1_u16 << bits.clamp(8, 16).abs_diff(8)) - 1;
            let is_deep = |sample: &[u8; 2]| u16::from_le_bytes(*sample) & fraction != 0;
            return (0..self.format.planes()).any(|plane| {
                let [bytes, rows] = self.format.plane(self.size, plane);
                (0..rows).any(|y| self.planes[plane].row(y, bytes).as_chunks().0.iter().any(is_deep))
            });
        }
        let is_deep = |pixel: &[u8]| {
            let colours = pixel.split_at(2 * self.format.channels().count()).0;
            colours.as_chunks().0.iter().any(|[low, high]| low != high)
        };
        let pixel = self.format.pixel_bytes();
        let mut rows = (0..self.size.height()).map(|y| self.planes[0].row(y, pixel * self.size.width()));
        self.format.is_deep() && rows.any(|row| row.chunks_exact(pixel).any(is_deep))
    }
}

impl<'a> From<&'a Picture> for View<'a> {
    fn from(picture: &'a Picture) -> Self {
        let mut rest = picture.samples.as_slice();
        let planes = std::array::from_fn(|plane| {
            let [stride, rows] =
                if plane < picture.format.planes() { picture.format.plane(picture.size, plane) } else { [0; 2] };
            Plane { samples: rest.split_off(..stride * rows).unwrap_or_default(), stride }
        });
        Self { size: picture.size, format: picture.format, planes }
    }
}

/// A picture to render into that borrows the caller's memory.
#[derive(Debug)]
pub struct ViewMut<'a> {
    pub(crate) size: Size,
    pub(crate) format: Format,
    pub(crate) planes: [PlaneMut<'a>; 3],
}

impl<'a> ViewMut<'a> {
    /// Makes a view of `planes`, as many as `format` has.
    ///
    /// # Errors
    /// [`Error::Argument`] if planes or rows are missing.
    pub fn new<const N: usize>(size: Size, format: Format, planes: [PlaneMut<'a>; N]) -> Result<Self, Error> {
        fits(size, format, planes.iter().map(|plane| [plane.samples.len(), plane.stride]))?;
        let mut planes = planes.into_iter();
        Ok(Self { size, format, planes: std::array::from_fn(|_| planes.next().unwrap_or_default()) })
    }

    /// Returns the width and height.
    #[must_use]
    pub const fn size(&self) -> Size {
        self.size
    }

    /// Returns the layout of the samples in memory.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.format
    }

    /// Returns its planes, as many as its format has; the rest are empty.
    #[must_use]
    pub fn into_planes(self) -> [PlaneMut<'a>; 3] {
        self.planes
    }

    /// Lends the same picture for a shorter time.
    pub(crate) fn reborrow(&mut self) -> ViewMut<'_> {
        let Self { size, format, planes } = self;
        let planes = planes.each_mut().map(|plane| PlaneMut { samples: plane.samples, stride: plane.stride });
        ViewMut { size: *size, format: *format, planes }
    }

    /// Splits off the first `rows` rows of pixels and keeps the others. `rows` is even unless these are the last rows.
    pub(crate) fn split_off(&mut self, rows: usize) -> [PlaneMut<'a>; 3] {
        let format = self.format;
        let planes = &mut self.planes;
        std::array::from_fn(|index| {
            let rows = if index > 0 && format.planes() > 1 { rows.div_ceil(2) } else { rows };
            let plane = &mut planes[index];
            let count = (rows * plane.stride).min(plane.samples.len());
            PlaneMut { samples: plane.samples.split_off_mut(..count).unwrap_or_default(), stride: plane.stride }
        })
    }
}

impl<'a> From<&'a mut Picture> for ViewMut<'a> {
    fn from(picture: &'a mut Picture) -> Self {
        let size = picture.size;
        let format = picture.format;
        let mut rest = picture.samples.as_mut_slice();
        let planes = std::array::from_fn(|plane| {
            let [stride, rows] = if plane < format.planes() { format.plane(size, plane) } else { [0; 2] };
            PlaneMut { samples: rest.split_off_mut(..stride * rows).unwrap_or_default(), stride }
        });
        Self { size, format, planes }
    }
}
