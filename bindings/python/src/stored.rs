//! Stored videos: read from a file or from bytes, written to memory, and cut to a bit rate.

use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Mutex;

use nestcast_codec::{Bitrate, Display, Matrix, Range, Size, VideoHeader, VideoModel, VideoRenditions, Ycbcr};
use nestcast_media::stored::{Error, Frames, Player, Reader, Writer, cut};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{Result, argument, of_file};
use crate::exclusive::exclusive;
use crate::memory::with_bytes;
use crate::picture::{Planar, STATE_BITS, colours, depth};
use crate::video::settings;

/// The bytes of a video, wherever they are.
enum Input {
    File(File),
    Memory(Cursor<Vec<u8>>),
}

impl Input {
    fn open(source: &Bound<'_, PyAny>) -> Result<Self> {
        match source.extract::<PathBuf>() {
            Ok(path) => {
                let file = source.py().detach(|| File::open(path));
                file.map(Self::File).map_err(|error| of_file(&error, source))
            }
            Err(_) => with_bytes(source, |bytes| Ok(Self::Memory(Cursor::new(bytes.to_vec())))),
        }
    }
}

impl Read for Input {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::File(file) => file.read(bytes),
            Self::Memory(memory) => memory.read(bytes),
        }
    }
}

impl Seek for Input {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        match self {
            Self::File(file) => file.seek(to),
            Self::Memory(memory) => memory.seek(to),
        }
    }
}

/// Reads a stored video, or any prefix of one, frame by frame.
#[pyclass(frozen, module = "nestcast")]
pub(crate) struct StoredVideo {
    player: Mutex<Player<Input>>,
    size: Size,
    colours: Ycbcr,
    #[pyo3(get)]
    bits: u8,
    #[pyo3(get)]
    rate: (u32, u32),
}

#[pymethods]
impl StoredVideo {
    #[new]
    #[pyo3(signature = (source, bitrate, threads, max_pixels, start, stop))]
    fn new(
        source: &Bound<'_, PyAny>,
        bitrate: Option<f64>,
        threads: usize,
        max_pixels: u64,
        start: u64,
        stop: Option<u64>,
    ) -> Result<Self> {
        let input = Input::open(source)?;
        let is_file = matches!(input, Input::File(_));
        let reader = Reader::new(input, max_pixels).map_err(|error| match error {
            // A folder can be opened.
            Error::Io(error) if is_file => of_file(&error, source),
            error => error.into(),
        })?;
        let header = *reader.header();
        let frames = Frames::new(reader, start..stop.unwrap_or(u64::MAX));
        let mut player = Player::new(frames, VideoModel::built_in(), threads)?;
        if start > 0 {
            player.seek()?;
        }
        if let Some(bitrate) = bitrate {
            player = player.with_bitrate(positive(bitrate)?);
        }
        let rate = (header.rate.frames(), header.rate.seconds());
        Ok(Self { player: Mutex::new(player), size: header.size, colours: header.colours, bits: header.bits, rate })
    }

    /// Decodes the next frame into three arrays, or one I420 array: in 8 bits into uint8, in the video's into uint16.
    /// Returns its number, or `None` after the last.
    fn next_into(&self, out: &Bound<'_, PyAny>) -> Result<Option<u64>> {
        let mut player = exclusive(&self.player, "video")?;
        let player = &mut *player;
        let planes = Planar::to_write(out, self.size, self.colours, self.bits, "this video has 8 bits")?;
        let shown = planes.draw(out.py(), |view| Ok(player.next_into(view)?))?;
        Ok(shown.map(|shown| shown.number))
    }

    /// Pixels from left to right.
    #[getter]
    const fn width(&self) -> usize {
        self.size.width()
    }

    /// Pixels from top to bottom.
    #[getter]
    const fn height(&self) -> usize {
        self.size.height()
    }

    /// "601" or "709".
    #[getter]
    const fn matrix(&self) -> &'static str {
        match self.colours.matrix {
            Matrix::Bt601 => "601",
            Matrix::Bt709 => "709",
        }
    }

    /// Whether luma uses 0 to 255, as in JPEG, and not 16 to 235.
    #[getter]
    fn full_range(&self) -> bool {
        self.colours.range == Range::Full
    }

    /// The first fault of the video so far: where it is cut or damaged.
    #[getter]
    fn fault(&self) -> Result<Option<String>> {
        Ok(exclusive(&self.player, "video")?.frames().fault().map(str::to_owned))
    }
}

/// Encodes frames as a stored video in memory.
#[pyclass(frozen, module = "nestcast")]
pub(crate) struct VideoWriter {
    /// Nothing after the end.
    writer: Mutex<Option<Writer<Vec<u8>>>>,
    size: Size,
    colours: Ycbcr,
    bits: u8,
}

#[pymethods]
impl VideoWriter {
    #[new]
    #[pyo3(signature = (width, height, rate, bitrates, threads, renditions, matrix, full_range, bits))]
    #[expect(clippy::too_many_arguments, reason = "each is an argument by name in Python")]
    fn new(
        width: usize,
        height: usize,
        rate: (u32, u32),
        bitrates: Option<(f64, f64)>,
        threads: usize,
        renditions: usize,
        matrix: Option<&str>,
        full_range: bool,
        bits: u64,
    ) -> Result<Self> {
        let settings = settings([width, height], rate, bitrates, threads)?;
        let (size, rate, model) = (settings.size, settings.rate, VideoModel::built_in());
        let (colours, bits) = (colours(size, matrix, full_range)?, depth(bits)?);
        let encoder = VideoRenditions::new(&model, settings, renditions)?;
        let (display, renditions) = (Display::default(), encoder.rates());
        let header = VideoHeader { size, rate, colours, bits, display, models: model.ids(), renditions };
        Ok(Self { writer: Mutex::new(Some(Writer::new(encoder, &header, Vec::new()))), size, colours, bits })
    }

    /// Encodes the next frame: three arrays (luma, Cb, Cr), or one I420 array.
    fn write(&self, frame: &Bound<'_, PyAny>) -> Result<()> {
        let mut writer = exclusive(&self.writer, "writer")?;
        let writer = writer.as_mut().ok_or_else(|| argument("the video is finished"))?;
        Planar::of(frame, self.size, self.colours, self.bits, STATE_BITS)?
            .view(frame.py(), |view| Ok(writer.write(view)?))
    }

    /// Ends the video and returns its bytes.
    fn finish<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>> {
        let writer = exclusive(&self.writer, "writer")?.take();
        let (bytes, _) = writer.ok_or_else(|| argument("the video is finished"))?.finish()?;
        Ok(PyBytes::new(py, &bytes))
    }
}

/// Returns the part of a stored video that fits a bit rate.
#[pyfunction]
pub(crate) fn cut_video<'py>(data: &Bound<'py, PyAny>, bitrate: f64) -> Result<Bound<'py, PyBytes>> {
    let py = data.py();
    let bitrate = positive(bitrate)?;
    let bytes = with_bytes(data, |bytes| {
        py.detach(|| {
            let mut frames = Frames::new(Reader::new(Cursor::new(bytes), u64::MAX)?, 0..u64::MAX);
            let mut output = Vec::new();
            cut(&mut frames, bitrate, &mut output)?;
            Ok(output)
        })
    })?;
    Ok(PyBytes::new(py, &bytes))
}

/// Returns how many frames of a stored video are shown, without decoding them: those from the first on that has its
/// head.
#[pyfunction]
pub(crate) fn count_frames(data: &Bound<'_, PyAny>, max_pixels: u64) -> Result<u64> {
    let py = data.py();
    with_bytes(data, |bytes| {
        py.detach(|| {
            let mut frames = Frames::new(Reader::new(Cursor::new(bytes), max_pixels)?, 0..u64::MAX);
            let mut count = 0;
            while let Some(frame) = frames.next()? {
                let begins = frame.head.is_some_and(|head| head.side <= frame.bytes.len());
                count += u64::from(count > 0 || begins);
            }
            Ok(count)
        })
    })
}

/// Checks a number of bits a second.
pub(crate) fn positive(bitrate: f64) -> Result<Bitrate> {
    if bitrate.round() >= 1.0 && bitrate.is_finite() {
        Ok(Bitrate::rounded(bitrate))
    } else {
        Err(argument("a bit rate is 1 or more"))
    }
}
