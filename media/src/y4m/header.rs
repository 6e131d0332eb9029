//! Parses the first line of a y4m stream.

use nestcast_codec::{Display, Format, FrameRate, Matrix, Range, Scan, Siting, Size, Ycbcr};

use super::Error;
use crate::aspect;

/// The beginning of a y4m stream.
pub const MAGIC: &str = "YUV4MPEG2";

/// The number of chroma samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subsampling {
    /// No chroma: luma alone.
    Mono,
    /// 4:2:0: one of each for two by two pixels.
    C420,
    /// 4:2:2: one of each for two pixels of a row.
    C422,
    /// 4:4:4: one of each for every pixel.
    C444,
}

impl Subsampling {
    fn parse(value: &str) -> Result<Self, Error> {
        match value {
            "mono" => Ok(Self::Mono),
            "420" | "420jpeg" | "420mpeg2" | "420paldv" => Ok(Self::C420),
            "422" => Ok(Self::C422),
            "444" => Ok(Self::C444),
            other => Err(Error::Unsupported(other.chars().filter(|c| !c.is_control()).take(20).collect())),
        }
    }
}

/// The fields of the line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    pub(super) size: Size,
    pub(super) rate: FrameRate,
    pub(super) subsampling: Subsampling,
    pub(super) colours: Ycbcr,
    pub(super) display: Display,
}

impl Header {
    pub(super) fn parse(line: &str, max_pixels: u64) -> Result<Self, Error> {
        let line = match line.strip_suffix('\r') {
            Some(_) => {
                return Err(Error::Corrupt("its header ends with CR LF, as if it were sent as text"));
            }
            None => line,
        };
        let mut fields = line.split(' ');
        if fields.next() != Some(MAGIC) {
            return Err(Error::Corrupt("it does not begin with \"YUV4MPEG2\""));
        }
        let mut width = None;
        let mut height = None;
        let mut rate = None;
        let mut subsampling = Subsampling::C420;
        let mut range = Range::Limited;
        let mut display = Display::default();
        for field in fields {
            let Some((name, value)) = field.split_at_checked(1) else { continue };
            match name {
                "W" => width = value.parse().ok(),
                "H" => height = value.parse().ok(),
                "F" => rate = fraction(value),
                "A" => display.aspect = fraction(value).and_then(aspect::reduced).unwrap_or(display.aspect),
                "I" => display.scan = scan(value),
                "C" => {
                    subsampling = Subsampling::parse(value)?;
                    display.siting = siting(value);
                }
                "X" if value == "COLORRANGE=FULL" => range = Range::Full,
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
        let rate = if frames == 0 { FrameRate::new(25, 1) } else { FrameRate::nearest(frames, seconds) };
        let rate = rate.map_err(|_| Error::Corrupt("its frame rate is out of range"))?;
        let colours = Ycbcr { range, matrix: Matrix::usual(size) };
        Ok(Self { size, rate, subsampling, colours, display })
    }

    /// Returns the bytes of a picture in the file, including its line.
    pub(super) fn frame_bytes(&self) -> usize {
        let [width, height] = [self.size.width(), self.size.height()];
        let differences = match self.subsampling {
            Subsampling::Mono => 0,
            Subsampling::C420 => 2 * width.div_ceil(2) * height.div_ceil(2),
            Subsampling::C422 => 2 * width.div_ceil(2) * height,
            Subsampling::C444 => 2 * width * height,
        };
        "FRAME\n".len() + width * height + differences
    }

    /// Returns how its pictures lie in memory.
    pub(super) const fn format(&self) -> Format {
        match self.subsampling {
            Subsampling::Mono => Format::Grey,
            Subsampling::C420 | Subsampling::C422 | Subsampling::C444 => Format::Ycbcr420(self.colours),
        }
    }
}

/// Parses two numbers with a colon between them.
fn fraction(value: &str) -> Option<(u64, u64)> {
    let (above, below) = value.split_once(':')?;
    Some((above.parse().ok()?, below.parse().ok()?))
}

fn scan(value: &str) -> Scan {
    match value {
        "t" => Scan::TopFirst,
        "b" => Scan::BottomFirst,
        "m" => Scan::Mixed,
        _ => Scan::Progressive,
    }
}

/// Returns where the colour differences of 4:2:0 lie, or the means of those of 4:2:2 and 4:4:4.
fn siting(value: &str) -> Siting {
    match value {
        "420mpeg2" | "422" => Siting::Left,
        "420paldv" => Siting::PalDv,
        _ => Siting::Centre,
    }
}
