//! What the file says of its tracks.

use std::time::Duration;

use nestcast_codec::{Display, FrameRate, Range, Scan, Siting, Size, Ycbcr};

use super::element::{children, float, number, text};
use super::layout::Layout;
use super::{Error, colours};
use crate::aspect;

/// Nanoseconds in a second.
const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;
/// The rate that is announced where the file has none: times of pictures are in the file anyway.
const UNKNOWN_RATE: (u32, u32) = (30, 1);
/// The longest delay of a sound codec.
const MAX_DELAY: Duration = Duration::from_secs(1);

/// The track of sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SoundTrack {
    /// What its bytes are.
    pub format: SoundFormat,
    /// How long after its time in the file, less this, a packet's sound is heard.
    pub delay: Duration,
}

/// What the bytes of sound are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SoundFormat {
    /// Samples, the lowest byte first, the channels in turn.
    Samples {
        /// Samples of each channel in a second.
        rate: u32,
        /// The number of channels.
        channels: u16,
        /// Bits of a sample: 16, 24 or 32.
        bits: u16,
        /// Whether samples are floating-point numbers of 32 bits from -1 to 1.
        is_float: bool,
    },
    /// A packet of Opus.
    Opus {
        /// The number of channels.
        channels: u16,
    },
}

/// The track of pictures.
#[derive(Debug, Clone, Copy)]
pub(super) struct PictureTrack {
    pub(super) number: u64,
    pub(super) size: Size,
    pub(super) layout: Layout,
    pub(super) colours: Ycbcr,
    pub(super) display: Display,
    pub(super) rate: FrameRate,
    /// Whether the file states the rate.
    pub(super) has_rate: bool,
}

/// The tracks that are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tracks {
    pub(super) pictures: PictureTrack,
    pub(super) sound: Option<(u64, SoundTrack)>,
}

impl Tracks {
    /// Reads the content of the element `Tracks`, and takes the first of each kind.
    pub(super) fn parse(content: &[u8], max_pixels: u64) -> Result<Self, Error> {
        let entries = || children(content).filter(|(id, _)| *id == 0xAE).map(|(_, entry)| Entry::parse(entry));
        let pictures = entries().find(|entry| entry.kind == 1).ok_or(Error::NoPictures)?;
        let sound = entries().find(|entry| entry.kind == 2);
        Ok(Self {
            pictures: pictures.pictures(max_pixels)?,
            sound: sound.map(|entry| Ok::<_, Error>((entry.number, entry.sound()?))).transpose()?,
        })
    }
}

/// The fields of a track.
#[derive(Default)]
struct Entry<'a> {
    number: u64,
    kind: u64,
    codec: &'a [u8],
    private: &'a [u8],
    interval: Option<u64>,
    delay: u64,
    has_encodings: bool,
    video: &'a [u8],
    audio: &'a [u8],
}

impl<'a> Entry<'a> {
    fn parse(entry: &'a [u8]) -> Self {
        let mut track = Self::default();
        for (id, content) in children(entry) {
            match id {
                0xD7 => track.number = number(content).unwrap_or_default(),
                0x83 => track.kind = number(content).unwrap_or_default(),
                0x86 => track.codec = content.strip_suffix(&[0]).unwrap_or(content),
                0x63A2 => track.private = content,
                0x23_E383 => track.interval = number(content),
                0x56AA => track.delay = number(content).unwrap_or_default(),
                0x6D80 => track.has_encodings = true,
                0xE0 => track.video = content,
                0xE1 => track.audio = content,
                _ => {}
            }
        }
        track
    }

    fn pictures(&self, max_pixels: u64) -> Result<PictureTrack, Error> {
        if self.codec != b"V_UNCOMPRESSED" {
            return Err(Error::Pictures(text(self.codec)));
        }
        if self.has_encodings {
            return Err(Error::Form("pictures are compressed once more"));
        }
        let field = |id| children(self.video).find(|(other, _)| *other == id).map(|(_, content)| content);
        let numbered = |id| field(id).and_then(number);
        let code = field(0x2E_B524).unwrap_or_default();
        let layout = Layout::of(code).ok_or_else(|| Error::Pictures(format!("raw {}", text(code))))?;
        let sides = [numbered(0xB0), numbered(0xBA)].map(|side| side.and_then(|side| u32::try_from(side).ok()));
        let [Some(width), Some(height)] = sides else { return Err(corrupt("its pictures have no size")) };
        let given = u64::from(width) * u64::from(height);
        if given > max_pixels {
            return Err(Error::Limit { given, max: max_pixels });
        }
        let size = Size::new(width, height).map_err(|_| corrupt("a side is 0 or over 16384 pixels"))?;
        let colour = field(0x55B0).unwrap_or_default();
        let coloured = |id| children(colour).find(|(other, _)| *other == id).and_then(|(_, content)| number(content));
        let matrix = colours::matrix([0x55B1, 0x55BA, 0x55BB].map(coloured), size).map_err(Error::Colours)?;
        let range = if coloured(0x55B9) == Some(2) { Range::Full } else { Range::Limited };
        let siting = if coloured(0x55B7) == Some(1) { Siting::Left } else { Siting::Centre };
        let shown = [(0x54B0, width), (0x54BA, height)].map(|(id, side)| numbered(id).unwrap_or_else(|| side.into()));
        // In pixels, or as a proportion.
        let has_shape = matches!(numbered(0x54B2), None | Some(0 | 3));
        let product = |shown: u64, side: u32| shown.checked_mul(side.into());
        let aspect = product(shown[0], height).zip(product(shown[1], width)).filter(|_| has_shape);
        let aspect = aspect.and_then(aspect::reduced).unwrap_or([1, 1]);
        let scan = scan(numbered(0x9A), numbered(0x9D));
        let rate = self.interval.and_then(rate);
        let (frames, seconds) = UNKNOWN_RATE;
        Ok(PictureTrack {
            number: self.number,
            size,
            layout,
            colours: Ycbcr { range, matrix },
            display: Display { siting, scan, aspect },
            has_rate: rate.is_some(),
            rate: rate.or_else(|| FrameRate::new(frames, seconds).ok()).ok_or_else(|| corrupt("it has no rate"))?,
        })
    }

    fn sound(&self) -> Result<SoundTrack, Error> {
        if self.has_encodings {
            return Err(Error::Form("sound is compressed once more"));
        }
        let field = |id| children(self.audio).find(|(other, _)| *other == id).map(|(_, content)| content);
        let numbered = |id, usual| field(id).and_then(number).unwrap_or(usual);
        let channels = u16::try_from(numbered(0x9F, 1)).unwrap_or(u16::MAX);
        let bits = u16::try_from(numbered(0x6264, 0)).unwrap_or(u16::MAX);
        let rate = field(0xB5).map_or(Some(8000.0), float).and_then(whole).unwrap_or_default();
        let samples = |is_float| SoundFormat::Samples { rate, channels, bits, is_float };
        let format = match (self.codec, bits) {
            (b"A_PCM/INT/LIT", 16 | 24 | 32) => samples(false),
            (b"A_PCM/FLOAT/IEEE", 32) => samples(true),
            (b"A_OPUS", _) => {
                // The channels of the codec's own head count (RFC 7845, section 5.1).
                let head = self.private.strip_prefix(b"OpusHead").and_then(|head| head.get(1));
                SoundFormat::Opus { channels: head.map_or(channels, |channels| (*channels).into()) }
            }
            (b"A_PCM/INT/LIT" | b"A_PCM/FLOAT/IEEE", _) => {
                return Err(Error::Sound(format!("{} of {bits} bits", text(self.codec))));
            }
            _ => return Err(Error::Sound(text(self.codec))),
        };
        Ok(SoundTrack { format, delay: Duration::from_nanos(self.delay).min(MAX_DELAY) })
    }
}

/// Returns a rate of samples; `None` if it is no whole number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in the range")]
fn whole(rate: f64) -> Option<u32> {
    (rate.fract() == 0.0 && (1.0..=1e9).contains(&rate)).then_some(rate as u32)
}

const fn corrupt(why: &'static str) -> Error {
    Error::Corrupt { why, at: 0 }
}

/// Returns how lines were taken, of `FlagInterlaced` and `FieldOrder`.
fn scan(interlaced: Option<u64>, order: Option<u64>) -> Scan {
    match (interlaced, order) {
        (Some(1), Some(1 | 9)) => Scan::TopFirst,
        (Some(1), Some(6 | 14)) => Scan::BottomFirst,
        _ => Scan::Progressive,
    }
}

/// Returns the rate of pictures that are this number of nanoseconds apart, which is rounded. Usual rates are whole, or so
/// divided by 1.001.
fn rate(interval: u64) -> Option<FrameRate> {
    for seconds in [1, 1001] {
        let all = NANOSECONDS_PER_SECOND * u64::from(seconds);
        let frames = all.checked_add(interval / 2)?.checked_div(interval)?;
        let exact = all.checked_div(frames)?;
        if exact.abs_diff(interval) <= 1 {
            return FrameRate::new(u32::try_from(frames).ok()?, seconds).ok();
        }
    }
    FrameRate::nearest(NANOSECONDS_PER_SECOND, interval).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_in_nanoseconds_is_the_usual_rate_that_it_is_rounded_from() {
        let terms = |interval| rate(interval).map(|rate| (rate.frames(), rate.seconds()));
        assert_eq!(terms(40_000_000), Some((25, 1)));
        assert_eq!(terms(33_333_333), Some((30, 1)));
        assert_eq!(terms(33_366_666), Some((30_000, 1001)));
        assert_eq!(terms(41_708_333), Some((24_000, 1001)));
        assert_eq!(terms(16_666_667), Some((60, 1)));
        assert_eq!(terms(2_000_000_000), Some((1, 2)));
        assert_eq!([0, 1, u64::MAX].map(terms), [None; 3]);
    }
}
