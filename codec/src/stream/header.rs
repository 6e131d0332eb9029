//! The first bytes of a stream (spec, "Header"): at most 22.

use bytes::{BufMut as _, BytesMut};

use crate::colour::axes::Axes;
use crate::error::{Error, ModelId, Quantity};
use crate::picture::{Channels, Format, MAX_SIDE, Size};
use crate::subband::quantise::{MAX_FINE_PLANES, MAX_PLANES};

/// The bytes that begin a stream.
pub(crate) const STREAM_MAGIC: [u8; 3] = *b"nst";
/// The version of opaque streams of 8 bits a sample, which is all that the first version has.
const STREAM_VERSION: u8 = 1;
/// The version of streams of more bits a sample, or with opacity.
const DEEP_VERSION: u8 = 2;
/// The bits of a sample, unless a stream says otherwise.
pub(crate) const USUAL_BITS: u8 = 8;
/// The most bits of a sample.
pub(crate) const MAX_BITS: u8 = 16;
/// In the byte of precision: bits of a sample less 8, planes below the finest step, whether there is opacity.
const BITS_MASK: u8 = 0xF;
const FINE_SHIFT: u32 = 4;
const ALPHA_BIT: u8 = 1 << 7;
/// The bit of the planes' byte that is set if regions have gains; the bits below it are the number of planes.
const GAINS_BIT: u8 = 1 << 4;
/// The maximum length of a header in bytes.
pub const MAX_HEADER: usize = 22;

/// The facts that a decoder needs before the first symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Width and height.
    pub size: Size,
    /// Grey or RGB.
    pub channels: Channels,
    /// The model whose tables the stream was coded with.
    pub model: ModelId,
    /// Number of bit planes, 0..=15.
    pub planes: u8,
    /// Whether regions have gains.
    pub gains: bool,
    /// The colour axes of an RGB picture's planes; the default for grey.
    pub axes: Axes,
    /// Bits of a sample in the source, 8..=16. Decoders of any precision read the stream.
    pub bits: u8,
    /// Number of bit planes below the model's finest step, 0..=6: with each, samples are twice as exact.
    pub fine_planes: u8,
    /// The bit planes of opacity; `None` if the picture is opaque.
    pub alpha: Option<AlphaPlanes>,
}

/// The numbers of bit planes of a picture's opacity, which is coded as a grey picture of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlphaPlanes {
    /// As [`Header::planes`].
    pub planes: u8,
    /// As [`Header::fine_planes`].
    pub fine_planes: u8,
}

/// The result of reading a header from the bytes at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed {
    /// The header, and its length in bytes.
    Complete(Header, usize),
    /// The bytes end inside the header; at least this many more are needed.
    NeedMore(usize),
}

fn corrupt(why: &'static str) -> Error {
    Error::Corrupt { what: "stream", why }
}

impl Header {
    /// Whether the source has more than 8 bits a sample.
    #[must_use]
    pub const fn is_deep(&self) -> bool {
        self.bits > USUAL_BITS
    }

    /// Returns the interleaved format that keeps everything in the stream: grey or RGB, with opacity if there is some,
    /// of 16 bits a sample if the source has more than 8.
    #[must_use]
    pub const fn format(&self) -> Format {
        Format::interleaved(self.channels, self.alpha.is_some(), self.is_deep())
    }

    /// Returns the number that limits of pixels apply to, in proportion to memory: opacity counts as half a pixel, and
    /// samples of more than 8 bits count as an eighth.
    #[must_use]
    pub const fn weighed_pixels(&self) -> u64 {
        let pixels = self.size.pixels() as u64;
        let alpha = if self.alpha.is_some() { pixels / 2 } else { 0 };
        let deep = if self.is_deep() { pixels / 8 } else { 0 };
        pixels + alpha + deep
    }

    /// Checks the picture against a limit of pixels, counted by [`Header::weighed_pixels`].
    ///
    /// # Errors
    /// [`Error::Limit`] if it is larger.
    pub const fn check_pixels(&self, max: u64) -> Result<(), Error> {
        let given = self.weighed_pixels();
        let is_plain = given == self.size.pixels() as u64;
        let what = if is_plain { Quantity::Pixels } else { Quantity::WeighedPixels };
        if given > max { Err(Error::Limit { what, given, max }) } else { Ok(()) }
    }

    /// Appends the header to `out`.
    pub(crate) fn write(&self, out: &mut BytesMut) {
        let alpha = if self.alpha.is_some() { ALPHA_BIT } else { 0 };
        let precision = (self.bits - USUAL_BITS) | self.fine_planes << FINE_SHIFT | alpha;
        out.extend(STREAM_MAGIC);
        out.put_u8(if precision == 0 { STREAM_VERSION } else { DEEP_VERSION });
        out.put_u8(u8::from(self.channels == Channels::Rgb));
        write_varint(out, self.size.width() - 1);
        write_varint(out, self.size.height() - 1);
        out.extend(self.model.0);
        out.put_u8(self.planes | if self.gains { GAINS_BIT } else { 0 });
        if self.channels == Channels::Rgb {
            out.extend(self.axes.to_bits().to_le_bytes());
        }
        if precision != 0 {
            out.put_u8(precision);
            if let Some(AlphaPlanes { planes, fine_planes }) = self.alpha {
                out.put_u8(planes | fine_planes << FINE_SHIFT);
            }
        }
    }

    /// Reads a header from the start of a stream.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if this is no nestcast stream, [`Error::Version`] if it has another version, [`Error::Limit`]
    /// if a side is too long. A prefix of a header is not an error.
    pub fn parse(bytes: &[u8]) -> Result<Parsed, Error> {
        let start = bytes.len().min(STREAM_MAGIC.len());
        if bytes[..start] != STREAM_MAGIC[..start] {
            return Err(corrupt("it does not begin with \"nst\", so it is no nestcast stream"));
        }
        let deep = match bytes.get(3) {
            Some(&STREAM_VERSION) | None => false,
            Some(&DEEP_VERSION) => true,
            Some(&version) => return Err(Error::Version { what: "stream", version, known: DEEP_VERSION }),
        };
        let mut fields = Fields { bytes, at: 4 };
        let Some([kind]) = fields.take() else { return Ok(fields.need_more()) };
        let channels = match kind {
            0 => Channels::Grey,
            1 => Channels::Rgb,
            2 | 3 => return Err(corrupt("it is a stored video, no picture")),
            _ => return Err(corrupt("its kind of content is reserved")),
        };
        let Some(width) = fields.side()? else { return Ok(Parsed::NeedMore(9)) };
        let Some(height) = fields.side()? else { return Ok(Parsed::NeedMore(8)) };
        let size = Size::new(width, height)?;
        let (Some(id), Some([planes])) = (fields.take(), fields.take()) else { return Ok(fields.need_more()) };
        let gains = planes & GAINS_BIT != 0;
        let planes = planes & !GAINS_BIT;
        if planes > MAX_PLANES {
            return Err(corrupt("it has more than 15 bit planes"));
        }
        let axes = match channels {
            Channels::Grey => Axes::default(),
            Channels::Rgb => {
                let Some(bits) = fields.take() else { return Ok(fields.need_more()) };
                let bits = u32::from_le_bytes(bits);
                Axes::from_bits(bits).ok_or(corrupt("a reserved bit of its colour axes is set"))?
            }
        };
        let Some([bits, fine_planes, alpha]) = (if deep { fields.precision()? } else { Some([USUAL_BITS, 0, 0]) })
        else {
            return Ok(fields.need_more());
        };
        let alpha = match alpha {
            0 => None,
            _ => {
                let Some([byte]) = fields.take() else { return Ok(fields.need_more()) };
                let [planes, fine_planes] = [byte & MAX_PLANES, byte >> FINE_SHIFT];
                if fine_planes > MAX_FINE_PLANES {
                    return Err(corrupt("the planes of its opacity are reserved"));
                }
                Some(AlphaPlanes { planes, fine_planes })
            }
        };
        let model = ModelId(id);
        let header = Self { size, channels, model, planes, gains, axes, bits, fine_planes, alpha };
        Ok(Parsed::Complete(header, fields.at))
    }
}

/// The fields of a header, one after another.
struct Fields<'a> {
    bytes: &'a [u8],
    /// Where the next field begins; this can lie past the end.
    at: usize,
}

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let taken = self.bytes.get(self.at..self.at + N);
        self.at += N;
        taken.and_then(|taken| taken.try_into().ok())
    }

    /// Returns how many bytes of the fields read so far are missing.
    const fn need_more(&self) -> Parsed {
        Parsed::NeedMore(self.at.saturating_sub(self.bytes.len()))
    }

    /// Reads the bits of a sample, the planes below the finest step, and whether there is opacity; `None` if the bytes
    /// end before.
    fn precision(&mut self) -> Result<Option<[u8; 3]>, Error> {
        let Some([byte]) = self.take() else { return Ok(None) };
        let [bits, fine, alpha] =
            [USUAL_BITS + (byte & BITS_MASK), (byte & !ALPHA_BIT) >> FINE_SHIFT, byte & ALPHA_BIT];
        if byte == 0 || bits > MAX_BITS || fine > MAX_FINE_PLANES {
            return Err(corrupt("its precision is reserved"));
        }
        Ok(Some([bits, fine, alpha]))
    }

    /// Reads a side in pixels; `None` if the bytes end inside it.
    fn side(&mut self) -> Result<Option<u32>, Error> {
        let mut value = 0;
        for shift in [0, 7] {
            let Some([byte]) = self.take() else { return Ok(None) };
            value |= u32::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                let too_long = shift > 0 && byte == 0;
                return if too_long {
                    Err(corrupt("a side is written in too many bytes"))
                } else {
                    Ok(Some(value + 1))
                };
            }
        }
        let given = u64::from(value) + 1 + (1 << 14);
        Err(Error::Limit { what: Quantity::Side, given, max: u64::from(MAX_SIDE) })
    }
}

/// Appends `value` in groups of seven bits, lowest first; all but the last byte have the top bit set.
pub(crate) fn write_varint(out: &mut BytesMut, mut value: usize) {
    loop {
        let low = value.to_le_bytes()[0] & 0x7F;
        value >>= 7;
        if value == 0 {
            return out.put_u8(low);
        }
        out.put_u8(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(width: u32, height: u32) -> Header {
        let size = Size::new(width, height).expect("a valid size");
        let axes = Axes::from_angles([1, -512, 511]).expect("angles within their range");
        let model = ModelId([1, 2, 3, 4, 5, 6]);
        let channels = Channels::Rgb;
        Header { size, channels, model, planes: 12, gains: true, axes, bits: 8, fine_planes: 0, alpha: None }
    }

    #[test]
    fn a_header_round_trips_and_every_prefix_asks_for_more() {
        for (width, height) in [(1, 1), (128, 129), (768, 512), (MAX_SIDE, MAX_SIDE)] {
            let usual = header(width, height);
            let alpha = |planes, fine_planes| Some(AlphaPlanes { planes, fine_planes });
            for (bits, fine_planes, alpha, more) in
                [(8, 0, None, 0), (16, 6, None, 1), (8, 0, alpha(0, 0), 2), (10, 2, alpha(15, 6), 2)]
            {
                let written = Header { bits, fine_planes, alpha, ..usual };
                let mut bytes = BytesMut::new();
                written.write(&mut bytes);
                let mut plain = BytesMut::new();
                usual.write(&mut plain);
                assert_eq!(bytes.len(), plain.len() + more);
                assert!(bytes.len() <= MAX_HEADER);
                assert_eq!(Header::parse(&bytes), Ok(Parsed::Complete(written, bytes.len())));
                for cut in 0..bytes.len() {
                    assert!(matches!(Header::parse(&bytes[..cut]), Ok(Parsed::NeedMore(more)) if more > 0));
                }
            }
        }
    }

    #[test]
    fn a_precision_that_no_encoder_writes_is_refused() {
        let mut bytes = BytesMut::new();
        Header { bits: 16, fine_planes: 6, ..header(1, 1) }.write(&mut bytes);
        for (precision, sound) in [(0x68, true), (0, false), (0x69, false), (0x78, false), (0x08, true), (0x60, true)] {
            *bytes.last_mut().expect("a byte") = precision;
            assert_eq!(Header::parse(&bytes).is_ok(), sound, "{precision:#x}");
        }
        bytes[3] = 1;
        assert!(matches!(Header::parse(&bytes), Ok(Parsed::Complete(_, length)) if length == bytes.len() - 1));
        bytes.clear();
        Header { alpha: Some(AlphaPlanes { planes: 15, fine_planes: 6 }), ..header(1, 1) }.write(&mut bytes);
        *bytes.last_mut().expect("a byte") = 0x70;
        assert!(matches!(Header::parse(&bytes), Err(Error::Corrupt { .. })));
    }

    #[test]
    fn the_layout_is_the_one_of_the_specification() {
        let bytes = b"nst\x01\x01\xFF\x05\xFF\x03\x01\x02\x03\x04\x05\x06\x1C\x01\x02\xF0\x3F";
        assert_eq!(Header::parse(bytes), Ok(Parsed::Complete(header(768, 512), 20)));
        let mut written = BytesMut::new();
        header(768, 512).write(&mut written);
        assert_eq!(written, bytes[..]);
    }

    #[test]
    fn what_is_no_stream_is_refused_by_name() {
        assert!(matches!(Header::parse(b"\x89PNG"), Err(Error::Corrupt { .. })));
        assert_eq!(Header::parse(b"nst\x09"), Err(Error::Version { what: "stream", version: 9, known: DEEP_VERSION }));
        assert!(matches!(Header::parse(b"nst\x01\x07"), Err(Error::Corrupt { .. })));
        assert!(matches!(Header::parse(b"nst\x01\x01\xFF\xFF\x7F"), Err(Error::Limit { .. })));
    }
}
