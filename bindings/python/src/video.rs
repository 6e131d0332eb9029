//! Video by frames: planar YCbCr 4:2:0 in, bytes out, and back.

use std::sync::Mutex;

use nestcast_codec::{
    Bitrate, DecodedPart, FrameRate, Population, Size, VideoDecoder as Decoder, VideoEncoder as Encoder, VideoModel,
    VideoSettings, Ycbcr,
};
use nestcast_media::to_rgb;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{Result, argument};
use crate::exclusive::exclusive;
use crate::memory::with_bytes;
use crate::picture::{Pixels, Planar, STATE_BITS, colours, depth, size};

/// The numbers of a video: pixels, frames a second, and its slowest and fastest receiver's bits a second.
pub(crate) fn settings(
    [width, height]: [usize; 2],
    (frames, seconds): (u32, u32),
    bitrates: Option<(f64, f64)>,
    threads: usize,
) -> Result<VideoSettings> {
    let size = size(width, height)?;
    if threads == 0 {
        return Err(argument("at least one thread is needed"));
    }
    let rate = FrameRate::new(frames, seconds).map_err(|error| argument(format!("{error}")))?;
    let population = match bitrates {
        Some((slowest, fastest)) => between(slowest, fastest)?,
        None => {
            let [slowest, fastest] = Population::usual_bitrates(size, rate);
            Population::log_uniform(slowest..=fastest)
        }
    };
    Ok(VideoSettings { size, rate, population, threads })
}

/// Returns receivers with all rates between these two, in bits a second.
fn between(slowest: f64, fastest: f64) -> Result<Population> {
    if !(slowest.round() >= 1.0 && slowest <= fastest && fastest.is_finite()) {
        return Err(argument("the slowest receiver has 1 bit a second or more, and the fastest not fewer"));
    }
    Ok(Population::log_uniform(Bitrate::rounded(slowest)..=Bitrate::rounded(fastest)))
}

/// One coded frame.
#[pyclass(frozen, module = "nestcast", get_all)]
pub(crate) struct VideoFrame {
    /// All bytes. Every prefix of at least `base` bytes decodes without lasting harm.
    data: Py<PyBytes>,
    /// Bytes that every receiver needs before any later frame.
    base: usize,
    /// Bytes from which later frames are predicted.
    enhancement_reference: usize,
    /// Whether a decoder can begin with this frame.
    key: bool,
}

impl VideoFrame {
    fn new(py: Python<'_>, frame: &nestcast_codec::CodedFrame) -> Self {
        Self {
            data: PyBytes::new(py, &frame.bytes).unbind(),
            base: frame.base,
            enhancement_reference: frame.enhancement_reference,
            key: frame.key,
        }
    }
}

#[pymethods]
impl VideoFrame {
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.data.bind(py).len()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let key = if self.key { ", key" } else { "" };
        Ok(format!("VideoFrame({} bytes, base {}{key})", self.__len__(py)?, self.base))
    }
}

/// Encodes the frames of one video, one after another.
#[pyclass(frozen, module = "nestcast")]
pub(crate) struct VideoEncoder {
    encoder: Mutex<Encoder>,
    size: Size,
    bits: u8,
}

#[pymethods]
impl VideoEncoder {
    #[new]
    #[pyo3(signature = (width, height, rate, bitrates, threads, bits))]
    fn new(
        width: usize,
        height: usize,
        rate: (u32, u32),
        bitrates: Option<(f64, f64)>,
        threads: usize,
        bits: u64,
    ) -> Result<Self> {
        let settings = settings([width, height], rate, bitrates, threads)?;
        let (size, bits) = (settings.size, depth(bits)?);
        Ok(Self { size, bits, encoder: Mutex::new(Encoder::new(VideoModel::built_in(), settings)) })
    }

    /// Encodes the next frame: three arrays (luma, Cb, Cr), or one I420 array.
    fn encode(&self, frame: &Bound<'_, PyAny>) -> Result<VideoFrame> {
        let mut encoder = exclusive(&self.encoder, "encoder")?;
        let encoder = &mut *encoder;
        let picture = Planar::of(frame, self.size, Ycbcr::BT601, self.bits, STATE_BITS)?;
        let frame_coded = picture.view(frame.py(), |view| Ok(encoder.encode(view)?))?;
        Ok(VideoFrame::new(frame.py(), &frame_coded))
    }

    /// Returns a frame with which a new receiver can begin, in place of the last one.
    fn join(&self, py: Python<'_>, max_bytes: usize) -> Result<VideoFrame> {
        let mut encoder = exclusive(&self.encoder, "encoder")?;
        let encoder = &mut *encoder;
        let frame = py.detach(|| encoder.join(max_bytes));
        Ok(VideoFrame::new(py, &frame))
    }

    /// Sets the slowest and the fastest receiver's bits a second, from the next frame on.
    fn set_bitrates(&self, slowest: f64, fastest: f64) -> Result<()> {
        exclusive(&self.encoder, "encoder")?.set_population(between(slowest, fastest)?);
        Ok(())
    }
}

/// Decodes the frames of one video, one after another.
#[pyclass(frozen, module = "nestcast")]
pub(crate) struct VideoDecoder {
    decoder: Mutex<Decoder>,
    size: Size,
    bits: u8,
}

#[pymethods]
impl VideoDecoder {
    #[new]
    #[pyo3(signature = (width, height, threads, max_pixels, bits))]
    fn new(width: usize, height: usize, threads: usize, max_pixels: u64, bits: u64) -> Result<Self> {
        let (size, bits) = (size(width, height)?, depth(bits)?);
        if threads == 0 {
            return Err(argument("at least one thread is needed"));
        }
        let decoder = Decoder::new(VideoModel::built_in(), size, threads).with_max_pixels(max_pixels);
        Ok(Self { decoder: Mutex::new(decoder), size, bits })
    }

    /// Decodes the next frame, or a prefix of it. Returns how far it reached.
    fn decode(&self, data: &Bound<'_, PyAny>) -> Result<&'static str> {
        let mut decoder = exclusive(&self.decoder, "decoder")?;
        let decoder = &mut *decoder;
        let arrived = with_bytes(data, |bytes| Ok(data.py().detach(|| decoder.decode(bytes))?))?;
        Ok(match arrived {
            DecodedPart::Nothing => "nothing",
            DecodedPart::Part => "part",
            DecodedPart::Base => "base",
            DecodedPart::EnhancementReference => "enhancement_reference",
        })
    }

    /// Renders the last frame into three arrays, or one I420 array: in 8 bits into uint8, in `bits` into uint16.
    fn render(&self, out: &Bound<'_, PyAny>) -> Result<()> {
        let mut decoder = exclusive(&self.decoder, "decoder")?;
        let decoder = &mut *decoder;
        let out_planes = Planar::to_write(out, self.size, Ycbcr::BT601, self.bits, STATE_BITS)?;
        out_planes.draw(out.py(), |view| Ok(decoder.render_into(view)?))
    }

    /// Renders a picture for the `frames`th missing frame after the last one. Returns whether anything moves; if not,
    /// `out` stays as it is.
    fn conceal(&self, out: &Bound<'_, PyAny>, frames: u64) -> Result<bool> {
        let mut decoder = exclusive(&self.decoder, "decoder")?;
        let decoder = &mut *decoder;
        let frames = u32::try_from(frames).unwrap_or(u32::MAX);
        let out_planes = Planar::to_write(out, self.size, Ycbcr::BT601, self.bits, STATE_BITS)?;
        out_planes.draw(out.py(), |view| Ok(decoder.conceal_into(view, frames)?))
    }
}

/// Converts a planar picture to RGB, into an array of the shape (height, width, 3): of uint8 for 8 bits a sample, of
/// uint16 with white at 65535 for more.
#[pyfunction]
pub(crate) fn planar_to_rgb(
    planes: &Bound<'_, PyAny>,
    out: &Bound<'_, PyAny>,
    matrix: &str,
    full_range: bool,
    bits: u64,
) -> Result<()> {
    let py = planes.py();
    let rgb = Pixels::of(out)?;
    let colours = colours(rgb.size(), Some(matrix), full_range)?;
    let picture = Planar::of(planes, rgb.size(), colours, depth(bits)?, STATE_BITS)?.to_picture(py)?;
    let converted = py.detach(|| to_rgb(&picture).into_owned());
    if rgb.format() != converted.format() {
        let kind = if converted.format().is_deep() { "uint16" } else { "uint8" };
        return Err(argument(format!("the array to write to needs three channels of {kind}")));
    }
    rgb.fill(py, converted.samples())
}
