//! Arrays as pictures: interleaved grey and RGB, and planar YCbCr 4:2:0.

use nestcast_codec::{Channels, Format, Matrix, Picture, Plane, PlaneMut, Range, Size, View, ViewMut, Ycbcr};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::errors::{Result, argument};
use crate::memory::{Array, Rows};

/// A grey or RGB picture, with opacity or without, in an array of the shape (height, width) or (height, width, 1 to 4).
pub(crate) struct Pixels {
    array: Array,
    size: Size,
    format: Format,
}

impl Pixels {
    /// Exports an array.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> Result<Self> {
        let array = Array::of_samples(object)?;
        let (height, width, channels, alpha) = match *array.shape() {
            [height, width] | [height, width, 1] => (height, width, Channels::Grey, false),
            [height, width, 2] => (height, width, Channels::Grey, true),
            [height, width, 3] => (height, width, Channels::Rgb, false),
            [height, width, 4] => (height, width, Channels::Rgb, true),
            ref shape => {
                return Err(argument(format!(
                    "a picture has the shape (height, width) or (height, width, channels) with 1 to 4 channels, not {}",
                    written(shape)
                )));
            }
        };
        let format = Format::interleaved(channels, alpha, array.is_uint16());
        Ok(Self { size: size(width, height)?, format, array })
    }

    pub(crate) const fn size(&self) -> Size {
        self.size
    }

    pub(crate) const fn format(&self) -> Format {
        self.format
    }

    /// Lends the picture to `work`, without the interpreter's lock. Copies it only if its rows have gaps between
    /// samples or run backwards.
    pub(crate) fn view<T: Send>(&self, py: Python<'_>, work: impl FnOnce(View<'_>) -> Result<T> + Send) -> Result<T> {
        let Some(rows) = self.array.rows() else {
            let picture = Picture::new(self.size, self.format, self.array.to_vec(py)?)?;
            return py.detach(|| work(View::from(&picture)));
        };
        self.array.read(rows, |samples| {
            let view = View::new(self.size, self.format, &[Plane { samples, stride: rows.stride }])?;
            py.detach(|| work(view))
        })
    }

    /// Lends the picture to `work` for writing, as [`Pixels::view`] does.
    pub(crate) fn draw<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(ViewMut<'_>) -> Result<T> + Send,
    ) -> Result<T> {
        let Some(rows) = self.array.rows() else {
            let mut picture = Picture::zero(self.size, self.format);
            let done = py.detach(|| work(ViewMut::from(&mut picture)))?;
            self.array.fill(py, picture.samples())?;
            return Ok(done);
        };
        self.array.write(rows, |samples| {
            let view = ViewMut::new(self.size, self.format, [PlaneMut { samples, stride: rows.stride }])?;
            py.detach(|| work(view))
        })
    }
}

impl Pixels {
    /// Writes the bytes of the whole picture, row by row.
    pub(crate) fn fill(&self, py: Python<'_>, samples: &[u8]) -> Result<()> {
        self.array.fill(py, samples)
    }
}

/// Checks a picture's sides.
pub(crate) fn size(width: usize, height: usize) -> Result<Size> {
    let [width, height] = [width, height].map(|side| u32::try_from(side).unwrap_or(u32::MAX));
    Ok(Size::new(width, height)?)
}

/// Writes a shape as Python does.
fn written(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        several => format!("({})", several.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// A planar YCbCr 4:2:0 picture: three arrays (luma, blue difference, red difference), or one array of all their rows,
/// I420, which has an even width and height.
pub(crate) struct Planar {
    arrays: Vec<Array>,
    size: Size,
    format: Format,
}

/// What helps a caller that can state the bits of a sample.
pub(crate) const STATE_BITS: &str = "state bits, 9 to 16";

impl Planar {
    /// Exports the arrays of a picture to read, whose samples have `bits` bits: uint8 for 8, uint16 for 9 to 16. `advice`
    /// says what helps if uint16 comes for 8.
    pub(crate) fn of(object: &Bound<'_, PyAny>, size: Size, colours: Ycbcr, bits: u8, advice: &str) -> Result<Self> {
        let picture = Self::to_write(object, size, colours, bits, advice)?;
        if bits > 8 && !picture.is_deep() {
            return Err(argument(format!("a frame of {bits} bits a sample has arrays of uint16, not of uint8")));
        }
        Ok(picture)
    }

    /// Exports the arrays of a picture to write: of 8 bits in uint8, of `bits` bits, 9 to 16, in uint16. `advice` says
    /// what helps if uint16 comes for 8.
    pub(crate) fn to_write(
        object: &Bound<'_, PyAny>,
        size: Size,
        colours: Ycbcr,
        bits: u8,
        advice: &str,
    ) -> Result<Self> {
        let planes = if object.is_instance_of::<PyTuple>() || object.is_instance_of::<PyList>() {
            object.try_iter()?.collect::<PyResult<Vec<_>>>()?
        } else {
            vec![object.clone()]
        };
        let arrays = planes.iter().map(Array::of_samples).collect::<Result<Vec<_>>>()?;
        let is_deep = arrays.first().is_some_and(Array::is_uint16);
        if arrays.iter().any(|array| array.is_uint16() != is_deep) {
            return Err(argument("the planes of a frame are of one type, uint8 or uint16"));
        }
        if is_deep && bits == 8 {
            return Err(argument(format!("arrays of uint16 need a video of more than 8 bits a sample: {advice}")));
        }
        let format = Format::planar(colours, if is_deep { bits } else { 8 });
        let picture = Self { arrays, size, format };
        let expected = picture.shapes();
        let given: Vec<_> = picture.arrays.iter().map(|array| array.shape().to_vec()).collect();
        if given != expected {
            let list = |shapes: &[Vec<usize>]| shapes.iter().map(|shape| written(shape)).collect::<Vec<_>>().join(", ");
            return Err(argument(format!(
                "a frame of {}x{} pixels has planes of the shapes {}, not {}",
                size.width(),
                size.height(),
                list(&expected),
                list(&given)
            )));
        }
        Ok(picture)
    }

    /// Returns the shapes of as many arrays as there are.
    fn shapes(&self) -> Vec<Vec<usize>> {
        let plane = |plane| {
            let [width, height] = self.format.plane(self.size, plane);
            vec![height, width / self.sample_bytes()]
        };
        let is_even = self.size.width().is_multiple_of(2) && self.size.height().is_multiple_of(2);
        if self.arrays.len() == 1 && is_even {
            return vec![vec![self.size.height() / 2 * 3, self.size.width()]];
        }
        (0..self.format.planes()).map(plane).collect()
    }

    /// Lends the picture to `work`, without the interpreter's lock, with the copies that gaps between samples need.
    pub(crate) fn view<T: Send>(&self, py: Python<'_>, work: impl FnOnce(View<'_>) -> Result<T> + Send) -> Result<T> {
        let Some(rows) = self.rows() else {
            let picture = self.to_picture(py)?;
            return py.detach(|| work(View::from(&picture)));
        };
        match (&*self.arrays, &*rows) {
            ([luma, blue, red], &[luma_rows, blue_rows, red_rows]) => luma.read(luma_rows, |y| {
                blue.read(blue_rows, |cb| {
                    red.read(red_rows, |cr| {
                        let planes = [(y, luma_rows), (cb, blue_rows), (cr, red_rows)];
                        let planes = planes.map(|(samples, Rows { stride, .. })| Plane { samples, stride });
                        let view = View::new(self.size, self.format, &planes)?;
                        let (size, format) = (self.size, self.format);
                        py.detach(|| check_planes(size, format, &planes).and_then(|()| work(view)))
                    })
                })
            }),
            _ => self.arrays[0].read(rows[0], |samples| {
                let (luma, differences) = samples.split_at(self.luma_bytes());
                let (blue, red) = differences.split_at(differences.len() / 2);
                let planes: Vec<_> = [luma, blue, red]
                    .into_iter()
                    .enumerate()
                    .map(|(plane, samples)| Plane { samples, stride: self.format.plane(self.size, plane)[0] })
                    .collect();
                let view = View::new(self.size, self.format, &planes)?;
                let (size, format) = (self.size, self.format);
                py.detach(|| check_planes(size, format, &planes).and_then(|()| work(view)))
            }),
        }
    }

    /// Lends the picture to `work` for writing, as [`Planar::view`] does.
    pub(crate) fn draw<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(ViewMut<'_>) -> Result<T> + Send,
    ) -> Result<T> {
        let Some(rows) = self.rows() else {
            let mut picture = Picture::zero(self.size, self.format);
            let done = py.detach(|| work(ViewMut::from(&mut picture)))?;
            self.fill(py, picture.samples())?;
            return Ok(done);
        };
        match (&*self.arrays, &*rows) {
            ([luma, blue, red], &[luma_rows, blue_rows, red_rows]) => luma.write(luma_rows, |y| {
                blue.write(blue_rows, |cb| {
                    red.write(red_rows, |cr| {
                        let planes = [(y, luma_rows), (cb, blue_rows), (cr, red_rows)];
                        let planes = planes.map(|(samples, Rows { stride, .. })| PlaneMut { samples, stride });
                        let view = ViewMut::new(self.size, self.format, planes)?;
                        py.detach(|| work(view))
                    })
                })
            }),
            _ => self.arrays[0].write(rows[0], |samples| {
                let (luma, differences) = samples.split_at_mut(self.luma_bytes());
                let (blue, red) = differences.split_at_mut(differences.len() / 2);
                let [luma_width, width, _] = [0, 1, 2].map(|plane| self.format.plane(self.size, plane)[0]);
                let planes = [(luma, luma_width), (blue, width), (red, width)];
                let planes = planes.map(|(samples, stride)| PlaneMut { samples, stride });
                let view = ViewMut::new(self.size, self.format, planes)?;
                py.detach(|| work(view))
            }),
        }
    }

    pub(crate) const fn format(&self) -> Format {
        self.format
    }

    const fn is_deep(&self) -> bool {
        matches!(self.format, Format::Ycbcr420Deep { .. })
    }

    const fn sample_bytes(&self) -> usize {
        if self.is_deep() { 2 } else { 1 }
    }

    /// Returns the bytes of luma without gaps.
    fn luma_bytes(&self) -> usize {
        let [row, rows] = self.format.plane(self.size, 0);
        row * rows
    }

    /// Writes the bytes of all planes, row by row.
    pub(crate) fn fill(&self, py: Python<'_>, mut samples: &[u8]) -> Result<()> {
        for array in &self.arrays {
            let plane = samples.split_off(..self.bytes_of(array)).unwrap_or_default();
            array.fill(py, plane)?;
        }
        Ok(())
    }

    /// Returns a copy of the picture.
    pub(crate) fn to_picture(&self, py: Python<'_>) -> Result<Picture> {
        let mut picture = Picture::zero(self.size, self.format);
        self.copy_into(py, &mut picture)?;
        Ok(picture)
    }

    /// Copies the samples of all planes into a picture, in its memory if it has this size and format. Checks their
    /// values.
    pub(crate) fn copy_into(&self, py: Python<'_>, picture: &mut Picture) -> Result<()> {
        if picture.size() != self.size || picture.format() != self.format {
            *picture = Picture::zero(self.size, self.format);
        }
        let mut samples = picture.samples_mut();
        for array in &self.arrays {
            let plane = samples.split_off_mut(..self.bytes_of(array)).unwrap_or_default();
            array.copy_into(py, plane)?;
        }
        let (format, samples) = (self.format, picture.samples());
        py.detach(|| check_values(format, std::iter::once(samples)))
    }

    /// Returns the bytes of an array's samples without gaps.
    fn bytes_of(&self, array: &Array) -> usize {
        let count: usize = array.shape().iter().product();
        self.sample_bytes() * count
    }

    /// Returns how the rows of each array lie, if they can be lent.
    fn rows(&self) -> Option<Vec<Rows>> {
        let rows = self.arrays.iter().map(Array::rows).collect::<Option<Vec<_>>>()?;
        // In I420, chroma has rows of half the width: all of them must be one piece.
        (rows.len() == 3 || rows[0].length == self.format.bytes(self.size)).then_some(rows)
    }
}

/// Checks the values of planes whose rows may have gaps.
fn check_planes(size: Size, format: Format, planes: &[Plane<'_>]) -> Result<()> {
    let rows = planes.iter().enumerate().flat_map(|(plane, &Plane { samples, stride })| {
        let [row, rows] = format.plane(size, plane);
        samples.chunks(stride).take(rows).filter_map(move |samples| samples.get(..row))
    });
    check_values(format, rows)
}

/// Refuses samples of more than their 9 to 15 bits, which the codec would take for the largest value.
fn check_values<'a>(format: Format, rows: impl Iterator<Item = &'a [u8]>) -> Result<()> {
    let Some((_, bits @ 9..=15)) = format.ycbcr420() else { return Ok(()) };
    let largest_of =
        |row: &[u8]| row.as_chunks().0.iter().fold(0, |largest: u16, &sample| largest.max(u16::from_le_bytes(sample)));
    let (largest, limit) = (rows.map(largest_of).max().unwrap_or(0), (1 << bits) - 1);
    if largest <= limit {
        return Ok(());
    }
    Err(argument(format!(
        "a sample is {largest}, but samples of {bits} bits are at most {limit}: shift samples whose bits are the highest \
         of 16, as in P010, right by {}",
        16 - bits
    )))
}

/// Checks the bits of a video's samples, 8 to 16.
pub(crate) fn depth(bits: u64) -> Result<u8> {
    let fits = u8::try_from(bits).ok().filter(|bits| (8..=16).contains(bits));
    fits.ok_or_else(|| argument(format!("samples of a video have 8 to 16 bits, not {bits}")))
}

/// Returns what samples of a video mean: `matrix` is "601", "709", or nothing for the usual one of the size.
pub(crate) fn colours(size: Size, matrix: Option<&str>, full_range: bool) -> Result<Ycbcr> {
    let matrix = match matrix {
        None => Matrix::usual(size),
        Some("601") => Matrix::Bt601,
        Some("709") => Matrix::Bt709,
        Some(other) => return Err(argument(format!("the matrix is \"601\" or \"709\", not {other:?}"))),
    };
    Ok(Ycbcr { range: if full_range { Range::Full } else { Range::Limited }, matrix })
}
