//! Parses the first line of a y4m stream.

use nestcast_codec::{Display, Format, FrameRate, Matrix, Range, Scan, Siting, Size, Ycbcr};

use super::{Error, Note};
use crate::aspect;

/// The beginning of a y4m stream.
pub const MAGIC_WORD: &str = "YUV4MPEG2";

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

/// The samples of a picture in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Samples {
    pub(super) subsampling: Subsampling,
    /// Bits of a sample; one of more than 8 has two bytes.
    pub(super) depth: u8,
    /// Whether a plane of opacity follows.
    pub(super) alpha: bool,
}

impl Samples {
    const fn plain(subsampling: Subsampling) -> Self {
        Self { subsampling, depth: 8, alpha: false }
    }

    fn parse(value: &str) -> Result<Self, Error> {
        match value {
            "mono" => Ok(Self::plain(Subsampling::Mono)),
            "420" | "420jpeg" | "420mpeg2" | "420paldv" => Ok(Self::plain(Subsampling::C420)),
            "422" => Ok(Self::plain(Subsampling::C422)),
            "444" => Ok(Self::plain(Subsampling::C444)),
            "444alpha" => Ok(Self { alpha: true, ..Self::plain(Subsampling::C444) }),
            other => Self::parse_deep(other)
                .ok_or_else(|| Error::Unsupported(other.chars().filter(|c| !c.is_control()).take(20).collect())),
        }
    }

    /// Parses the names of samples of more than 8 bits, such as `420p10` and `mono12`.
    fn parse_deep(value: &str) -> Option<Self> {
        let (subsampling, bits) = match value.split_once('p') {
            Some(("420", bits)) => (Subsampling::C420, bits),
            Some(("422", bits)) => (Subsampling::C422, bits),
            Some(("444", bits)) => (Subsampling::C444, bits),
            _ => (Subsampling::Mono, value.strip_prefix("mono")?),
        };
        let depth = bits.parse().ok().filter(|bits| (9..=16).contains(bits))?;
        Some(Self { depth, ..Self::plain(subsampling) })
    }
}

/// The fields of the line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    pub(super) size: Size,
    pub(super) rate: FrameRate,
    pub(super) samples: Samples,
    pub(super) colours: Ycbcr,
    pub(super) display: Display,
    /// The most bits of a sample that pictures keep.
    pub(super) max_bits: u8,
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
        if fields.next() != Some(MAGIC_WORD) {
            return Err(Error::Corrupt("it does not begin with \"YUV4MPEG2\""));
        }
        let mut width = None;
        let mut height = None;
        let mut rate = None;
        // Old writers have the kind of samples in a comment alone.
        let mut kinds = [None, None];
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
                "C" => kinds[0] = Some(value.to_owned()),
                "X" if value == "COLORRANGE=FULL" => range = Range::Full,
                "X" => kinds[1] = value.strip_prefix("YSCSS=").map(str::to_lowercase).or_else(|| kinds[1].take()),
                _ => {}
            }
        }
        let [given, comment] = kinds;
        let kind = given.or(comment).unwrap_or_else(|| "420".to_owned());
        let samples = Samples::parse(&kind)?;
        display.siting = siting(&kind);
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
        let rate = rate.map_err(|_| Error::Rate)?;
        let colours = Ycbcr { range, matrix: Matrix::usual(size) };
        Ok(Self { size, rate, samples, colours, display, max_bits: 8 })
    }

    /// Returns the bytes of a picture in the file, including its line.
    pub(super) fn frame_bytes(&self) -> usize {
        let [width, height] = [self.size.width(), self.size.height()];
        let differences = match self.samples.subsampling {
            Subsampling::Mono => 0,
            Subsampling::C420 => 2 * width.div_ceil(2) * height.div_ceil(2),
            Subsampling::C422 => 2 * width.div_ceil(2) * height,
            Subsampling::C444 => 2 * width * height,
        };
        let opacity = if self.samples.alpha { width * height } else { 0 };
        let bytes = if self.samples.depth > 8 { 2 } else { 1 };
        "FRAME\n".len() + bytes * (width * height + differences + opacity)
    }

    /// Returns whether rows of colour end with half of a pair of pixels, in samples of two bytes.
    pub(super) fn has_halves(&self) -> bool {
        let is_halved = matches!(self.samples.subsampling, Subsampling::C420 | Subsampling::C422);
        is_halved && self.samples.depth > 8 && self.size.width() % 2 == 1
    }

    /// Returns what its pictures lose.
    pub(super) fn notes(&self) -> impl Iterator<Item = Note> + use<> {
        let averaged = match self.samples.subsampling {
            Subsampling::Mono | Subsampling::C420 => None,
            Subsampling::C422 => Some(Note::Averaged("4:2:2")),
            Subsampling::C444 => Some(Note::Averaged("4:4:4")),
        };
        let kept = self.bits();
        let depth = Note::rounded(self.samples.depth, kept);
        let clipped = (kept > 8 && self.colours.range == Range::Full).then_some(Note::FullRange { bits: kept });
        let inexact = (kept > Note::EXACT_BITS).then_some(Note::Inexact { bits: kept });
        let mixed = (self.display.scan == Scan::Mixed).then_some(Note::Mixed);
        [depth, clipped, inexact, averaged, mixed, self.samples.alpha.then_some(Note::Alpha)].into_iter().flatten()
    }

    /// Returns the bits of a sample of its pictures.
    pub(super) fn bits(&self) -> u8 {
        self.samples.depth.min(self.max_bits)
    }

    /// Returns planar YCbCr 4:2:0 of its colours and bits.
    pub(super) fn planar(&self) -> Format {
        Format::planar(self.colours, self.bits())
    }

    /// Returns how its pictures lie in memory.
    pub(super) fn format(&self) -> Format {
        match self.samples.subsampling {
            Subsampling::Mono if self.bits() == 8 => Format::Grey,
            _ => self.planar(),
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

/// Returns where the colour differences of 4:2:0 lie, or the means of those of 4:2:2 and 4:4:4. No name of 4:2:0 with
/// more than 8 bits says it; HEVC and AV1, which such video comes from, have them on the left.
fn siting(value: &str) -> Siting {
    match value {
        "420mpeg2" => Siting::Left,
        "420paldv" => Siting::PalDv,
        // Deep grey becomes deep 4:2:0, whose differences are the same everywhere.
        "mono" => Siting::Centre,
        _ if value.starts_with("mono") => Siting::Left,
        _ if value.starts_with("422") || value.starts_with("420p") => Siting::Left,
        _ => Siting::Centre,
    }
}
