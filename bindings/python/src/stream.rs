//! The header of a stream.

use nestcast_codec::{Format, Header as StreamHeader, Parsed, Size};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::Result;
use crate::memory::with_bytes;

/// What the first bytes of a stream say.
#[derive(PartialEq, Eq, Hash)]
#[pyclass(frozen, eq, hash, module = "nestcast", get_all)]
pub(crate) struct Header {
    /// Pixels from left to right.
    width: usize,
    /// Pixels from top to bottom.
    height: usize,
    /// 1 for grey, 3 for RGB.
    channels: usize,
    /// Bits of a sample of the source, 8 to 16.
    bits: u8,
    /// Whether the picture has opacity.
    alpha: bool,
    /// The model that decodes the stream, in hexadecimal.
    model: String,
    /// Bytes of the header.
    length: usize,
}

#[pymethods]
impl Header {
    /// Makes a header again from what [`Header::__getnewargs__`] returned: `pickle` and `copy` do so.
    #[new]
    fn new(width: usize, height: usize, channels: usize, bits: u8, alpha: bool, model: String, length: usize) -> Self {
        Self { width, height, channels, bits, alpha, model, length }
    }

    fn __getnewargs__(&self) -> (usize, usize, usize, u8, bool, &str, usize) {
        let Self { width, height, channels, bits, alpha, model, length } = self;
        (*width, *height, *channels, *bits, *alpha, model, *length)
    }

    /// The shape of the decoded array without opacity.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        shape(py, self.height, self.width, self.channels)
    }

    fn __repr__(&self) -> String {
        let Self { width, height, channels, bits, alpha, model, length } = self;
        let alpha = if *alpha { "True" } else { "False" };
        format!(
            "Header(width={width}, height={height}, channels={channels}, bits={bits}, alpha={alpha}, model={model:?}, \
             length={length})"
        )
    }
}

/// Returns the shape of an array for a picture.
pub(crate) fn shape(py: Python<'_>, height: usize, width: usize, channels: usize) -> PyResult<Bound<'_, PyTuple>> {
    if channels == 1 { PyTuple::new(py, [height, width]) } else { PyTuple::new(py, [height, width, channels]) }
}

/// Returns the shape of an array for a picture of such a format, whose samples are in one plane.
pub(crate) fn shape_of(py: Python<'_>, size: Size, format: Format) -> PyResult<Bound<'_, PyTuple>> {
    shape(py, size.height(), size.width(), format.channels().count() + usize::from(format.has_alpha()))
}

/// Reads the header of a stream, or of any part from its beginning. Returns `None` if the header is not complete.
#[pyfunction]
pub(crate) fn parse_header(data: &Bound<'_, PyAny>) -> Result<Option<Header>> {
    let parsed = with_bytes(data, |bytes| Ok(StreamHeader::parse(bytes)?))?;
    let Parsed::Complete(header, length) = parsed else { return Ok(None) };
    Ok(Some(Header {
        width: header.size.width(),
        height: header.size.height(),
        channels: header.channels.count(),
        bits: header.bits,
        alpha: header.alpha.is_some(),
        model: header.model.to_string(),
        length,
    }))
}
