//! Clips to learn from.

use std::error::Error;

use nestcast_codec::{Format, FrameRate, Picture, Size, Ycbcr};

pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// Frames of planar YCbCr 4:2:0.
pub(crate) struct Clip {
    pub(crate) size: Size,
    pub(crate) rate: FrameRate,
    pub(crate) frames: Vec<Picture>,
}

impl Clip {
    /// Reads a clip of YUV4MPEG2 whose frames have no parameters.
    pub(crate) fn read(path: &str) -> Result<Self, Failure> {
        const FRAME_HEADER: &[u8] = b"FRAME\n";
        let bytes = std::fs::read(path)?;
        let end = bytes.iter().position(|byte| *byte == b'\n').ok_or("the file has no header")?;
        let header = std::str::from_utf8(&bytes[..end])?;
        let tag =
            |name: char| header.split(' ').skip(1).find_map(|tag| tag.strip_prefix(name)).ok_or("a tag is missing");
        let size = Size::new(tag('W')?.parse()?, tag('H')?.parse()?)?;
        let rate = tag('F')?.parse()?;
        let [width, height] = [size.width(), size.height()];
        let samples = width * height + 2 * width.div_ceil(2) * height.div_ceil(2);
        let frames = bytes[end + 1..]
            .chunks_exact(FRAME_HEADER.len() + samples)
            .map(|frame| frame[FRAME_HEADER.len()..].to_vec());
        let pictures = frames.map(|samples| Picture::new(size, Format::Ycbcr420(Ycbcr::BT601), samples));
        Ok(Self { size, rate, frames: pictures.collect::<Result<_, _>>()? })
    }
}
