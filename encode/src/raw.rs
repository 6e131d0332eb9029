//! Pictures in a caller's memory, as cameras and decoders deliver them: NV12, I420 and YUYV, with rows that may be
//! longer than the picture is wide.
//!
//! ```
//! use nestcast_codec::{Format, Picture, Plane, Ycbcr, Size};
//! use nestcast_encode::RawPicture;
//!
//! // Two by two pixels in rows of 64 bytes.
//! let (luma, chroma) = ([90; 128], [128; 64]);
//! let size = Size::new(2, 2)?;
//! let [luma, chroma] = [&luma[..], &chroma].map(|samples| Plane { samples, stride: 64 });
//! let raw = RawPicture::nv12(size, Ycbcr::BT601, luma, chroma)?;
//!
//! let mut picture = Picture::zero(size, Format::Ycbcr420(Ycbcr::BT601)); // reuse it for the next one
//! raw.copy_into(&mut picture);
//! assert_eq!(picture.samples(), [90, 90, 90, 90, 128, 128]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use nestcast_codec::{Format, Picture, Plane, Size, Ycbcr};

/// The error for a plane that does not contain the whole picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RawError {
    /// The stride is shorter than a row.
    #[error("a row of the {plane} has {row} bytes, and the next one begins after {stride}: give the stride in bytes")]
    Stride {
        /// The plane.
        plane: &'static str,
        /// Bytes from the start of a row to that of the row below.
        stride: usize,
        /// Bytes of a row.
        row: usize,
    },
    /// Rows are missing.
    #[error("the {plane} has {given} bytes, but its rows need {needed}: pass the whole plane, or its true size")]
    Length {
        /// The plane.
        plane: &'static str,
        /// Bytes passed.
        given: usize,
        /// Bytes from the start of the first row to the end of the last.
        needed: usize,
    },
}

/// A borrowed YCbCr picture with subsampled colour differences. Its planes contain every row.
#[derive(Debug, Clone, Copy)]
pub struct RawPicture<'a> {
    size: Size,
    colours: Ycbcr,
    samples: Samples<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Samples<'a> {
    Nv12 { luma: Plane<'a>, chroma: Plane<'a> },
    I420([Plane<'a>; 3]),
    Yuyv(Plane<'a>),
}

impl<'a> RawPicture<'a> {
    /// Borrows 4:2:0 in two planes: luma, and blue and red differences interleaved.
    ///
    /// # Errors
    /// [`RawError`] if a plane does not hold all rows. A row of differences has an even number of bytes, even if the
    /// width is odd.
    pub fn nv12(size: Size, colours: Ycbcr, luma: Plane<'a>, chroma: Plane<'a>) -> Result<Self, RawError> {
        let [columns, rows] = halved(size);
        check("luma", luma, [size.width(), size.height()])?;
        check("plane of colour differences", chroma, [2 * columns, rows])?;
        Ok(Self { size, colours, samples: Samples::Nv12 { luma, chroma } })
    }

    /// Borrows 4:2:0 in three planes: luma, blue differences and red differences.
    ///
    /// # Errors
    /// [`RawError`] if a plane does not hold all rows.
    pub fn i420(size: Size, colours: Ycbcr, planes: [Plane<'a>; 3]) -> Result<Self, RawError> {
        let [luma, blue, red] = planes;
        check("luma", luma, [size.width(), size.height()])?;
        check("plane of blue differences", blue, halved(size))?;
        check("plane of red differences", red, halved(size))?;
        Ok(Self { size, colours, samples: Samples::I420(planes) })
    }

    /// Borrows 4:2:2 in one plane: for every two pixels of a row luma, blue difference, luma, red difference.
    ///
    /// # Errors
    /// [`RawError`] if the plane does not hold all rows. A row has four bytes for every two pixels, even for the last
    /// one of an odd width.
    pub fn yuyv(size: Size, colours: Ycbcr, plane: Plane<'a>) -> Result<Self, RawError> {
        check("picture", plane, [4 * size.width().div_ceil(2), size.height()])?;
        Ok(Self { size, colours, samples: Samples::Yuyv(plane) })
    }

    /// Returns the format of the copies.
    #[must_use]
    pub const fn format(&self) -> Format {
        Format::Ycbcr420(self.colours)
    }

    /// Copies the picture into `picture`, and reuses its memory if it has this size and format. For YUYV, it averages
    /// the colour differences of two rows and rounds halves up; the last row of an odd height keeps its own.
    pub fn copy_into(&self, picture: &mut Picture) {
        if picture.size() != self.size || picture.format() != self.format() {
            *picture = Picture::zero(self.size, self.format());
        }
        let (width, [columns, rows]) = (self.size.width(), halved(self.size));
        let (to_luma, differences) = picture.samples_mut().split_at_mut(self.size.pixels());
        let (to_blue, to_red) = differences.split_at_mut(columns * rows);
        match self.samples {
            Samples::I420([luma, blue, red]) => {
                copy(luma, to_luma, width);
                copy(blue, to_blue, columns);
                copy(red, to_red, columns);
            }
            Samples::Nv12 { luma, chroma } => {
                copy(luma, to_luma, width);
                let to = to_blue.chunks_exact_mut(columns).zip(to_red.chunks_exact_mut(columns));
                for (y, (blue, red)) in to.enumerate() {
                    split(row(chroma, y, 2 * columns), blue, red);
                }
            }
            Samples::Yuyv(plane) => {
                let line = |y: usize| row(plane, y, 4 * columns);
                for (y, to) in to_luma.chunks_exact_mut(width).enumerate() {
                    let pairs = line(y).as_chunks::<2>().0;
                    to.iter_mut().zip(pairs).for_each(|(to, [luma, _])| *to = *luma);
                }
                let to = to_blue.chunks_exact_mut(columns).zip(to_red.chunks_exact_mut(columns));
                for (y, (blue, red)) in to.enumerate() {
                    let last = self.size.height() - 1;
                    average(line(2 * y), line((2 * y + 1).min(last)), blue, red);
                }
            }
        }
    }
}

/// Returns the columns and rows of colour differences at 4:2:0.
const fn halved(size: Size) -> [usize; 2] {
    [size.width().div_ceil(2), size.height().div_ceil(2)]
}

/// Checks that a plane has `rows` rows of `row` bytes.
fn check(name: &'static str, plane: Plane<'_>, [row, rows]: [usize; 2]) -> Result<(), RawError> {
    let stride = plane.stride;
    let given = plane.samples.len();
    if stride < row {
        return Err(RawError::Stride { plane: name, stride, row });
    }
    let needed = stride.checked_mul(rows - 1).and_then(|above| above.checked_add(row)).unwrap_or(usize::MAX);
    if given < needed {
        return Err(RawError::Length { plane: name, given, needed });
    }
    Ok(())
}

fn row(plane: Plane<'_>, y: usize, bytes: usize) -> &[u8] {
    &plane.samples[y * plane.stride..][..bytes]
}

fn copy(from: Plane<'_>, to: &mut [u8], width: usize) {
    for (y, to) in to.chunks_exact_mut(width).enumerate() {
        to.copy_from_slice(row(from, y, width));
    }
}

/// Separates interleaved differences.
fn split(from: &[u8], blue: &mut [u8], red: &mut [u8]) {
    for (([from_blue, from_red], blue), red) in from.as_chunks::<2>().0.iter().zip(blue).zip(red) {
        (*blue, *red) = (*from_blue, *from_red);
    }
}

/// Averages the differences of two rows of YUYV.
fn average(upper: &[u8], lower: &[u8], blue: &mut [u8], red: &mut [u8]) {
    let pairs = upper.as_chunks::<4>().0.iter().zip(lower.as_chunks::<4>().0);
    for ((([_, blue_1, _, red_1], [_, blue_2, _, red_2]), blue), red) in pairs.zip(blue).zip(red) {
        *blue = blue_1.midpoint(*blue_2) + ((blue_1 ^ blue_2) & 1);
        *red = red_1.midpoint(*red_2) + ((red_1 ^ red_2) & 1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn size(width: usize, height: usize) -> Size {
        let side = |length: usize| u32::try_from(length).expect("short");
        Size::new(side(width), side(height)).expect("a size")
    }

    /// Returns rows of a plane in memory with `padding` bytes after each but the last.
    fn padded(rows: &[u8], width: usize, padding: usize) -> Vec<u8> {
        let mut bytes: Vec<u8> =
            rows.chunks(width).flat_map(|row| row.iter().copied().chain(std::iter::repeat_n(0xEE, padding))).collect();
        bytes.truncate(bytes.len() - padding);
        bytes
    }

    fn plane(samples: &[u8], stride: usize) -> Plane<'_> {
        Plane { samples, stride }
    }

    fn copied(raw: RawPicture<'_>) -> Vec<u8> {
        // It has another size and format at first, so it is replaced.
        let mut picture = Picture::zero(size(1, 1), Format::Rgb);
        raw.copy_into(&mut picture);
        assert_eq!((picture.size(), picture.format()), (raw.size, raw.format()));
        let memory = picture.samples().as_ptr();
        let first = picture.samples().to_vec();
        raw.copy_into(&mut picture);
        assert_eq!((picture.samples().as_ptr(), picture.samples()), (memory, &first[..]), "in the same memory");
        first
    }

    proptest! {
        #[test]
        fn two_and_three_planes_of_any_stride_are_one_picture(
            (width, height) in (1..9_usize, 1..9_usize), padding in 0..5_usize, seed in any::<u64>(),
        ) {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut bytes = |count: usize| (0..count).map(|_| random.u8(..)).collect::<Vec<u8>>();
            let columns = width.div_ceil(2);
            let rows = height.div_ceil(2);
            let luma = bytes(width * height);
            let blue = bytes(columns * rows);
            let red = bytes(columns * rows);
            let both: Vec<u8> = blue.iter().zip(&red).flat_map(|(blue, red)| [*blue, *red]).collect();
            let expected = [&luma[..], &blue, &red].concat();
            let luma = padded(&luma, width, padding);
            let both = padded(&both, 2 * columns, padding);
            let [blue, red] = [blue, red].map(|plane| padded(&plane, columns, padding));
            let size = size(width, height);
            let luma = plane(&luma, width + padding);
            let both = plane(&both, 2 * columns + padding);
            let nv12 = RawPicture::nv12(size, Ycbcr::BT601_FULL, luma, both).expect("all rows");
            prop_assert_eq!(&copied(nv12), &expected);
            let [blue, red] = [&blue, &red].map(|samples| plane(samples, columns + padding));
            let i420 = RawPicture::i420(size, Ycbcr::BT601, [luma, blue, red]).expect("all rows");
            prop_assert_eq!(copied(i420), expected);
        }
    }

    #[test]
    fn rows_of_yuyv_are_averaged_and_the_last_of_an_odd_height_is_not() {
        // Three by three pixels: the second pair of a row has one pixel.
        let rows = [[1, 10, 2, 20, 3, 30, 0xEE, 40], [4, 11, 5, 22, 6, 33, 0xEE, 255], [7, 50, 8, 60, 9, 70, 0xEE, 80]];
        let bytes = padded(&rows.concat(), 8, 3);
        let yuyv = RawPicture::yuyv(size(3, 3), Ycbcr::BT601, plane(&bytes, 11)).expect("all rows");
        assert_eq!(copied(yuyv), [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 32, 50, 70, 21, 148, 60, 80]);
    }

    #[test]
    fn planes_that_do_not_hold_the_picture_are_refused_before_they_are_read() {
        let size = size(5, 3);
        let bytes = [0; 100];
        let of = |length: usize, stride| Plane { samples: &bytes[..length], stride };
        let luma = of(15, 5);
        assert!(RawPicture::nv12(size, Ycbcr::BT601_FULL, luma, of(12, 6)).is_ok());
        let short = RawPicture::nv12(size, Ycbcr::BT601_FULL, of(14, 5), of(12, 6));
        assert!(matches!(short, Err(RawError::Length { plane: "luma", given: 14, needed: 15 })), "{short:?}");
        let odd =
            RawPicture::nv12(size, Ycbcr::BT601_FULL, luma, of(10, 5)).expect_err("five bytes hold no three pairs");
        assert!(matches!(odd, RawError::Stride { stride: 5, row: 6, .. }), "{odd:?}");
        assert!(RawPicture::i420(size, Ycbcr::BT601_FULL, [luma, of(6, 3), of(5, 3)]).is_err());
        assert!(RawPicture::i420(size, Ycbcr::BT601_FULL, [luma, of(6, 3), of(6, 0)]).is_err());
        assert!(RawPicture::yuyv(size, Ycbcr::BT601_FULL, of(36, 12)).is_ok());
        assert!(RawPicture::yuyv(size, Ycbcr::BT601_FULL, of(35, 12)).is_err());
        assert!(RawPicture::yuyv(size, Ycbcr::BT601_FULL, of(100, 10)).is_err(), "ten bytes hold no three pairs");
        assert!(RawPicture::yuyv(size, Ycbcr::BT601_FULL, of(100, usize::MAX)).is_err());
    }
}
