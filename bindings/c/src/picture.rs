//! Pictures in the caller's memory.

use std::ops::Range;

use nestcast_codec::Range::Full;
use nestcast_codec::{Format, Matrix, Plane, PlaneMut, Size, View, ViewMut, Ycbcr};

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

/// A picture to read: samples in the caller's memory, of 8 bits unless the format says 16, which no thread changes during a call.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct NestcastPicture {
    /// Pixels from left to right, 1 to 16384.
    pub width: u32,
    /// Pixels from top to bottom, 1 to 16384.
    pub height: u32,
    /// One of NESTCAST_FORMAT_*.
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
    /// One of NESTCAST_FORMAT_*.
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
        let format = match format {
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
            _ => return Err(argument("the picture's format is not one of NESTCAST_FORMAT_*")),
        };
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

impl NestcastPicture {
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
