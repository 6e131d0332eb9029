//! The line that a y4m stream begins with.

use nestcast_codec::Size;

use crate::{Error, Rate};

const MAGIC: &str = "YUV4MPEG2";

/// Where the colour samples are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Luma alone.
    Mono,
    /// One chroma sample for two by two pixels.
    Quarter,
    /// One for each pixel.
    Full,
}

/// What the line says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub(crate) size: Size,
    pub(crate) rate: Rate,
    pub(crate) layout: Layout,
    /// Samples take 0..=255 and not 16..=235.
    pub(crate) full_range: bool,
}

impl Header {
    pub(crate) fn parse(line: &str, max_pixels: u64) -> Result<Self, Error> {
        let mut fields = line.split(' ');
        if fields.next() != Some(MAGIC) {
            return Err(Error::Corrupt("it does not begin with \"YUV4MPEG2\""));
        }
        let (mut width, mut height, mut rate) = (None, None, None);
        let (mut layout, mut full_range) = (Layout::Quarter, false);
        for field in fields {
            let Some((name, value)) = field.split_at_checked(1) else { continue };
            match name {
                "W" => width = value.parse().ok(),
                "H" => height = value.parse().ok(),
                "F" => rate = value.split_once(':').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?))),
                "C" => layout = samples(value)?,
                "X" if value == "COLORRANGE=FULL" => full_range = true,
                _ => {}
            }
        }
        let (Some(width), Some(height)) = (width, height) else {
            return Err(Error::Corrupt("its header has no width or no height"));
        };
        let pixels = u64::from(width) * u64::from(height);
        if pixels > max_pixels {
            return Err(Error::Limit { given: pixels, max: max_pixels });
        }
        let size = Size::new(width, height).map_err(|_| Error::Corrupt("a side is 0 or over 16384 pixels"))?;
        let (frames, seconds) = rate.ok_or(Error::Corrupt("its header has no frame rate"))?;
        // Without a known rate writers put 0:0 or 0:1.
        let rate = if frames == 0 { Rate::new(25, 1)? } else { Rate::new(frames, seconds)? };
        Ok(Self { size, rate, layout, full_range })
    }

    /// The bytes of a frame.
    pub(crate) fn frame_bytes(&self) -> usize {
        let chroma = match self.layout {
            Layout::Mono => 0,
            Layout::Quarter => 2 * self.size.width().div_ceil(2) * self.size.height().div_ceil(2),
            Layout::Full => 2 * self.size.pixels(),
        };
        self.size.pixels() + chroma
    }
}

fn samples(value: &str) -> Result<Layout, Error> {
    match value {
        "mono" => Ok(Layout::Mono),
        "420" | "420jpeg" | "420mpeg2" | "420paldv" => Ok(Layout::Quarter),
        "444" => Ok(Layout::Full),
        other => Err(Error::Unsupported(other.chars().filter(|c| !c.is_control()).take(20).collect())),
    }
}
