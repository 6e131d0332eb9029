//! Pictures in the caller's memory.

use std::ops::Range;

use nestcast_codec::Range::{Full, Limited};
use nestcast_codec::{Format, Matrix, Picture, Plane, PlaneMut, Size, View, ViewMut, Ycbcr};

use crate::status::{Result, argument};

/// One plane of luminance.
pub const NESTCAST_FORMAT_GREY: u32 = 0;
/// One plane of red, green and blue, interleaved.
pub const NESTCAST_FORMAT_RGB: u32 = 1;
/// Three planes, luma of 16 to 235, and blue and red differences of half the width and height, rounded up. BT.601.
pub const NESTCAST_FORMAT_YCBCR420: u32 = 2;
/// As NESTCAST_FORMAT_YCBCR420, by BT.709.
pub const NESTCAST_FORMAT_YCBCR420_BT709: u32 = 3;
/// As NESTCAST_FORMAT_YCBCR420, with luma of 0 to 255, as in JPEG.
pub const NESTCAST_FORMAT_YCBCR420_FULL: u32 = 4;
/// As NESTCAST_FORMAT_YCBCR420_FULL, by BT.709.
pub const NESTCAST_FORMAT_YCBCR420_BT709_FULL: u32 = 5;
/// One plane of luminance and opacity, interleaved. Opacity is 0 for a pixel that does not show, and the largest value for
/// an opaque one. Colours are not multiplied by it.
pub const NESTCAST_FORMAT_GREY_ALPHA: u32 = 6;
/// One plane of red, green, blue and opacity, interleaved.
pub const NESTCAST_FORMAT_RGBA: u32 = 7;
/// As NESTCAST_FORMAT_GREY, of 16 bits a sample: two bytes, the lower one first, with white at 65535.
pub const NESTCAST_FORMAT_GREY16: u32 = 8;
/// As NESTCAST_FORMAT_GREY_ALPHA, of 16 bits a sample.
pub const NESTCAST_FORMAT_GREY_ALPHA16: u32 = 9;
/// As NESTCAST_FORMAT_RGB, of 16 bits a sample.
pub const NESTCAST_FORMAT_RGB16: u32 = 10;
/// As NESTCAST_FORMAT_RGBA, of 16 bits a sample.
pub const NESTCAST_FORMAT_RGBA16: u32 = 11;
/// Where a format of YCbCr says how many bits a sample has, 9 to 16, for video: `NESTCAST_FORMAT_YCBCR420 | 10 <<
/// NESTCAST_FORMAT_BITS_SHIFT` has 10. A sample is then two bytes, the lower one first, with its value in the lowest bits;
/// ffmpeg calls it yuv420p10le. Black of 16 is 64 in 10 bits. Without it, or with 8, samples have 8 bits.
pub const NESTCAST_FORMAT_BITS_SHIFT: u32 = 8;

/// What of a format's number is not bits of a sample.
const KIND_MASK: u32 = (1 << NESTCAST_FORMAT_BITS_SHIFT) - 1;

/// A picture to read: samples in the caller's memory, of 8 bits unless the format says more, which no thread changes during
/// a call.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct NestcastPicture {
    /// Pixels from left to right, 1 to 16384.
    pub width: u32,
    /// Pixels from top to bottom, 1 to 16384.
    pub height: u32,
    /// One of NESTCAST_FORMAT_*, for YCbCr with bits of a sample.
    pub format: u32,
    /// The first sample of each plane that the format has.
    pub planes: [*const u8; 3],
    /// Bytes from a row to the row below, for each plane; at least those of a row.
    pub strides: [usize; 3],
}

/// A picture to write: memory of the caller that no other thread uses during a call. Planes must not overlap. Bytes
/// between the rows stay as they are.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct NestcastCanvas {
    /// Pixels from left to right, 1 to 16384.
    pub width: u32,
    /// Pixels from top to bottom, 1 to 16384.
    pub height: u32,
    /// One of NESTCAST_FORMAT_*, for YCbCr with bits of a sample.
    pub format: u32,
    /// The first sample of each plane that the format has.
    pub planes: [*mut u8; 3],
    /// Bytes from a row to the row below, for each plane; at least those of a row.
    pub strides: [usize; 3],
}

/// A picture's shape, and the bytes from the first to the last sample of each plane; 0 for planes that it lacks.
struct Layout {
    size: Size,
    format: Format,
    lengths: [usize; 3],
}

impl Layout {
    fn new([width, height]: [u32; 2], format: u32, planes: [*const u8; 3], strides: [usize; 3]) -> Result<Self> {
        let size = Size::new(width, height)?;
        let format = parsed(format)?;
        let mut lengths = [0; 3];
        for (plane, length) in lengths.iter_mut().enumerate().take(format.planes()) {
            let [bytes, rows] = format.plane(size, plane);
            let above = strides[plane].checked_mul(rows - 1);
            let needed = above.and_then(|above| above.checked_add(bytes)).filter(|&n| isize::try_from(n).is_ok());
            match needed.filter(|_| strides[plane] >= bytes && !planes[plane].is_null()) {
                Some(needed) => *length = needed,
                None => return Err(argument("a plane of the picture is NULL, or its stride does not fit")),
            }
        }
        Ok(Self { size, format, lengths })
    }
}

/// Returns the codec's format.
fn parsed(format: u32) -> Result<Format> {
    let unknown = || argument("the picture's format is not one of NESTCAST_FORMAT_*");
    let (kind, bits) = (format & KIND_MASK, u8::try_from(format >> NESTCAST_FORMAT_BITS_SHIFT).map_err(|_| unknown())?);
    let format = match kind {
        NESTCAST_FORMAT_GREY => Format::Grey,
        NESTCAST_FORMAT_RGB => Format::Rgb,
        NESTCAST_FORMAT_YCBCR420 => Format::Ycbcr420(Ycbcr::BT601),
        NESTCAST_FORMAT_YCBCR420_BT709 => Format::Ycbcr420(Ycbcr::BT709),
        NESTCAST_FORMAT_YCBCR420_FULL => Format::Ycbcr420(Ycbcr::BT601_FULL),
        NESTCAST_FORMAT_YCBCR420_BT709_FULL => Format::Ycbcr420(Ycbcr { range: Full, matrix: Matrix::Bt709 }),
        NESTCAST_FORMAT_GREY_ALPHA => Format::GreyAlpha,
        NESTCAST_FORMAT_RGBA => Format::Rgba,
        NESTCAST_FORMAT_GREY16 => Format::Grey16,
        NESTCAST_FORMAT_GREY_ALPHA16 => Format::GreyAlpha16,
        NESTCAST_FORMAT_RGB16 => Format::Rgb16,
        NESTCAST_FORMAT_RGBA16 => Format::Rgba16,
        _ => return Err(unknown()),
    };
    match (format, bits) {
        (_, 0) => Ok(format),
        (Format::Ycbcr420(colours), 8..=16) => Ok(Format::planar(colours, bits)),
        (Format::Ycbcr420(_), _) => Err(argument(format!("samples of a video have 8 to 16 bits, not {bits}"))),
        _ => Err(argument("only a format of YCbCr says how many bits a sample has")),
    }
}

/// Returns one of NESTCAST_FORMAT_*, for YCbCr of more than 8 bits with its bits; a number that is none for a format
/// that a receiver does not draw.
const fn number(format: Format) -> u32 {
    let Some((colours, bits)) = format.ycbcr420() else {
        return match format {
            Format::Grey => NESTCAST_FORMAT_GREY,
            Format::Rgb => NESTCAST_FORMAT_RGB,
            _ => u32::MAX,
        };
    };
    let kind = match (colours.range, colours.matrix) {
        (Limited, Matrix::Bt601) => NESTCAST_FORMAT_YCBCR420,
        (Limited, Matrix::Bt709) => NESTCAST_FORMAT_YCBCR420_BT709,
        (Full, Matrix::Bt601) => NESTCAST_FORMAT_YCBCR420_FULL,
        (Full, Matrix::Bt709) => NESTCAST_FORMAT_YCBCR420_BT709_FULL,
    };
    if bits > 8 { kind | (bits as u32) << NESTCAST_FORMAT_BITS_SHIFT } else { kind }
}

impl NestcastPicture {
    /// Describes a picture in memory of the library, which must outlive its use.
    pub(crate) fn lend(picture: &Picture) -> Self {
        let (size, format) = (picture.size(), picture.format());
        let side = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let mut rest = picture.samples();
        let mut lent = Self {
            width: side(size.width()),
            height: side(size.height()),
            format: number(format),
            planes: [std::ptr::null(); 3],
            strides: [0; 3],
        };
        for plane in 0..format.planes() {
            let [row, rows] = format.plane(size, plane);
            lent.planes[plane] = rest.as_ptr();
            lent.strides[plane] = row;
            rest = rest.get(row * rows..).unwrap_or_default();
        }
        lent
    }

    /// Borrows the samples.
    ///
    /// # Safety
    /// Each plane that the format has is null, or refers to memory of one allocation with all rows at the given stride,
    /// which nobody changes or frees before `'a` ends.
    pub(crate) unsafe fn view<'a>(&self) -> Result<View<'a>> {
        let layout = Layout::new([self.width, self.height], self.format, self.planes, self.strides)?;
        let plane = |plane: usize| {
            if layout.lengths[plane] == 0 {
                return Plane::default();
            }
            // SAFETY: `Layout::new` checked that a plane with a length is not null and has at most isize::MAX bytes,
            // from the first row's first to the last row's last byte: memory that the caller promises.
            let samples = unsafe { std::slice::from_raw_parts(self.planes[plane], layout.lengths[plane]) };
            Plane { samples, stride: self.strides[plane] }
        };
        let planes = [0, 1, 2].map(plane);
        Ok(View::new(layout.size, layout.format, &planes[..layout.format.planes()])?)
    }
}

impl NestcastCanvas {
    /// Borrows the samples for writing.
    ///
    /// # Safety
    /// As [`NestcastPicture::view`], and nobody else uses the memory before `'a` ends.
    pub(crate) unsafe fn view<'a>(&self) -> Result<ViewMut<'a>> {
        let starts = self.planes.map(<*mut u8>::cast_const);
        let layout = Layout::new([self.width, self.height], self.format, starts, self.strides)?;
        let ranges: [Range<usize>; 3] = std::array::from_fn(|plane| {
            let start = starts[plane].addr();
            start..start.saturating_add(layout.lengths[plane])
        });
        let count = layout.format.planes();
        let overlap = |a: &Range<usize>, b: &Range<usize>| a.start < b.end && b.start < a.end;
        if (0..count).any(|plane| ranges[plane + 1..count].iter().any(|other| overlap(&ranges[plane], other))) {
            return Err(argument("planes of the canvas overlap"));
        }
        let plane = |plane: usize| {
            if layout.lengths[plane] == 0 {
                return PlaneMut::default();
            }
            // SAFETY: as in `NestcastPicture::view`; the planes do not overlap, so no two of these slices share memory,
            // and the caller promises that nobody else uses it.
            let samples = unsafe { std::slice::from_raw_parts_mut(self.planes[plane], layout.lengths[plane]) };
            PlaneMut { samples, stride: self.strides[plane] }
        };
        Ok(match count {
            1 => ViewMut::new(layout.size, layout.format, [plane(0)])?,
            _ => ViewMut::new(layout.size, layout.format, [plane(0), plane(1), plane(2)])?,
        })
    }
}
