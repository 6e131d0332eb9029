//! Pictures in a caller's memory, as cameras and decoders deliver them: NV12, I420 and YUYV, and P010 and I420 of more
//! than 8 bits a sample, with rows that may be longer than the picture is wide.
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
    /// A sample does not have 9 to 16 bits.
    #[error("samples of two bytes have 9 to 16 bits, not {0}")]
    Bits(u8),
}

/// A borrowed YCbCr picture with subsampled colour differences. Its planes contain every row.
#[derive(Debug, Clone, Copy)]
pub struct RawPicture<'a> {
    size: Size,
    format: Format,
    samples: Samples<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Samples<'a> {
    Nv12 {
        luma: Plane<'a>,
        chroma: Plane<'a>,
    },
    /// Samples have two bytes, with their value in the highest bits.
    P010 {
        luma: Plane<'a>,
        chroma: Plane<'a>,
    },
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
        let format = Format::Ycbcr420(colours);
        let [columns, rows] = format.plane(size, 1);
        check("luma", luma, format.plane(size, 0))?;
        check("plane of colour differences", chroma, [2 * columns, rows])?;
        Ok(Self { size, format, samples: Samples::Nv12 { luma, chroma } })
    }

    /// Borrows 4:2:0 of 9 to 16 bits a sample in two planes, as [`RawPicture::nv12`]: P010 of 10 bits, P012, P016. A sample
    /// has two bytes, the lower one first, with its value in the highest `bits` bits.
    ///
    /// # Errors
    /// [`RawError`] if a plane does not hold all rows, or there are not 9 to 16 bits.
    pub fn p010(
        size: Size,
        (colours, bits): (Ycbcr, u8),
        luma: Plane<'a>,
        chroma: Plane<'a>,
    ) -> Result<Self, RawError> {
        let format = deep(colours, bits)?;
        let [columns, rows] = format.plane(size, 1);
        check("luma", luma, format.plane(size, 0))?;
        check("plane of colour differences", chroma, [2 * columns, rows])?;
        Ok(Self { size, format, samples: Samples::P010 { luma, chroma } })
    }

    /// Borrows 4:2:0 in three planes: luma, blue differences and red differences.
    ///
    /// # Errors
    /// [`RawError`] if a plane does not hold all rows.
    pub fn i420(size: Size, colours: Ycbcr, planes: [Plane<'a>; 3]) -> Result<Self, RawError> {
        Self::planar(size, Format::Ycbcr420(colours), planes)
    }

    /// Borrows 4:2:0 of 9 to 16 bits a sample in three planes. A sample has two bytes, the lower one first, with its value
    /// in the lowest `bits` bits, as in GStreamer's `I420_10LE` and ffmpeg's `yuv420p10le`.
    ///
    /// # Errors
    /// [`RawError`] if a plane does not hold all rows, or there are not 9 to 16 bits.
    pub fn i420_deep(size: Size, (colours, bits): (Ycbcr, u8), planes: [Plane<'a>; 3]) -> Result<Self, RawError> {
        Self::planar(size, deep(colours, bits)?, planes)
    }

    fn planar(size: Size, format: Format, planes: [Plane<'a>; 3]) -> Result<Self, RawError> {
        let names = ["luma", "plane of blue differences", "plane of red differences"];
        for (index, (name, plane)) in names.into_iter().zip(planes).enumerate() {
            check(name, plane, format.plane(size, index))?;
        }
        Ok(Self { size, format, samples: Samples::I420(planes) })
    }

    /// Borrows 4:2:2 in one plane: for every two pixels of a row luma, blue difference, luma, red difference.
    ///
    /// # Errors
    /// [`RawError`] if the plane does not hold all rows. A row has four bytes for every two pixels, even for the last
    /// one of an odd width.
    pub fn yuyv(size: Size, colours: Ycbcr, plane: Plane<'a>) -> Result<Self, RawError> {
        check("picture", plane, [4 * size.width().div_ceil(2), size.height()])?;
        Ok(Self { size, format: Format::Ycbcr420(colours), samples: Samples::Yuyv(plane) })
    }

    /// Returns the format of the copies.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.format
    }

    /// Copies the picture into `picture`, and reuses its memory if it has this size and format. For YUYV, it averages
    /// the colour differences of two rows and rounds halves up; the last row of an odd height keeps its own.
    pub fn copy_into(&self, picture: &mut Picture) {
        if picture.size() != self.size || picture.format() != self.format {
            *picture = Picture::zero(self.size, self.format);
        }
        let [[width, height], [columns, rows]] = [0, 1].map(|plane| self.format.plane(self.size, plane));
        let (to_luma, differences) = picture.samples_mut().split_at_mut(width * height);
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
                    split::<1>(row(chroma, y, 2 * columns), blue, red);
                }
            }
            Samples::P010 { luma, chroma } => {
                let to = to_blue.chunks_exact_mut(columns).zip(to_red.chunks_exact_mut(columns));
                for (y, (blue, red)) in to.enumerate() {
                    split::<2>(row(chroma, y, 2 * columns), blue, red);
                }
                copy(luma, to_luma, width);
                let unused = 16 - self.format.ycbcr420().map_or(8, |(_, bits)| bits);
                picture.samples_mut().as_chunks_mut().0.iter_mut().for_each(|sample| lower(sample, unused));
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

/// Returns the format of copies of more than 8 bits a sample.
fn deep(colours: Ycbcr, bits: u8) -> Result<Format, RawError> {
    if (9..=16).contains(&bits) { Ok(Format::planar(colours, bits)) } else { Err(RawError::Bits(bits)) }
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

/// Separates interleaved differences of `BYTES` bytes.
fn split<const BYTES: usize>(from: &[u8], blue: &mut [u8], red: &mut [u8]) {
    let pairs = from.as_chunks::<BYTES>().0.as_chunks::<2>().0;
    let to = blue.as_chunks_mut::<BYTES>().0.iter_mut().zip(red.as_chunks_mut::<BYTES>().0);
    for ([from_blue, from_red], (blue, red)) in pairs.iter().zip(to) {
        (*blue, *red) = (*from_blue, *from_red);
    }
}

/// Moves a sample's value from the highest to the lowest bits.
fn lower(sample: &mut [u8; 2], unused: u8) {
    *sample = (u16::from_le_bytes(*sample) >> unused).to_le_bytes();
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
    fn samples_of_more_bits_are_copied_from_the_highest_or_the_lowest_ones() {
        let size = size(3, 1);
        let bytes = |samples: &[u16], unused: u32, row: usize| -> Vec<u8> {
            let rows = samples.chunks(row).flat_map(|row| row.iter().copied().chain([0xEEEE]));
            rows.flat_map(|sample| (sample << unused).to_le_bytes()).collect()
        };
        for bits in [9, 10, 12, 16] {
            let (most, format) = (u16::MAX >> (16 - bits), (Ycbcr::BT709, bits));
            let unused = 16 - u32::from(bits);
            let expected: Vec<u8> =
                [1, most, 2, 3, 4, 5, 6].iter().flat_map(|sample: &u16| sample.to_le_bytes()).collect();
            let [luma, blue, red] = [&[1, most, 2][..], &[3, 4], &[5, 6]].map(|plane| bytes(plane, 0, plane.len()));
            let planes = [plane(&luma, 8), plane(&blue, 6), plane(&red, 6)];
            let planar = RawPicture::i420_deep(size, format, planes).expect("all rows");
            assert_eq!(planar.format(), Format::Ycbcr420Deep { colours: Ycbcr::BT709, bits });
            assert_eq!(copied(planar), expected);
            let [luma, both] = [&[1, most, 2][..], &[3, 5, 4, 6]].map(|plane| bytes(plane, unused, plane.len()));
            let semi = RawPicture::p010(size, format, plane(&luma, 8), plane(&both, 10)).expect("all rows");
            assert_eq!(copied(semi), expected);
        }
        let short = [0; 5];
        assert!(RawPicture::p010(size, (Ycbcr::BT709, 10), plane(&short, 5), plane(&short, 5)).is_err());
        for bits in [0, 8, 17] {
            let refused = RawPicture::i420_deep(size, (Ycbcr::BT709, bits), [plane(&short, 5); 3]);
            assert!(matches!(refused, Err(RawError::Bits(given)) if given == bits), "{refused:?}");
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
