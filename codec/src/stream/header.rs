//! The first bytes of a stream (spec, "Header"): at most 20.

use bytes::{BufMut as _, BytesMut};

use crate::colour::axes::Axes;
use crate::error::{Error, ModelId};
use crate::picture::{Channels, MAX_SIDE, Size};
use crate::subband::quantise::MAX_PLANES;

/// The bytes that begin a stream.
pub(crate) const STREAM_MAGIC: [u8; 3] = *b"nst";
/// The version of the stream that this build writes and reads.
pub(crate) const STREAM_VERSION: u8 = 1;
/// The bit of the planes' byte that is set if regions have gains; the bits below it are the number of planes.
const GAINS_BIT: u8 = 1 << 4;
/// The maximum length of a header in bytes.
pub const MAX_HEADER: usize = 20;

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
    /// Appends the header to `out`.
    pub(crate) fn write(&self, out: &mut BytesMut) {
        out.extend(STREAM_MAGIC);
        out.put_u8(STREAM_VERSION);
        out.put_u8(u8::from(self.channels == Channels::Rgb));
        write_varint(out, self.size.width() - 1);
        write_varint(out, self.size.height() - 1);
        out.extend(self.model.0);
        out.put_u8(self.planes | if self.gains { GAINS_BIT } else { 0 });
        if self.channels == Channels::Rgb {
            out.extend(self.axes.to_bits().to_le_bytes());
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
        match bytes.get(3) {
            Some(&STREAM_VERSION) | None => {}
            Some(&version) => return Err(Error::Version { what: "stream", version, known: STREAM_VERSION }),
        }
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
        Ok(Parsed::Complete(Self { size, channels, model: ModelId(id), planes, gains, axes }, fields.at))
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
        let what = "the picture's longer side in pixels";
        Err(Error::Limit { what, given: u64::from(value) + 1 + (1 << 14), max: u64::from(MAX_SIDE) })
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
        Header { size, channels: Channels::Rgb, model: ModelId([1, 2, 3, 4, 5, 6]), planes: 12, gains: true, axes }
    }

    #[test]
    fn a_header_round_trips_in_twenty_bytes_and_every_prefix_asks_for_more() {
        for (width, height) in [(1, 1), (128, 129), (768, 512), (MAX_SIDE, MAX_SIDE)] {
            let mut bytes = BytesMut::new();
            header(width, height).write(&mut bytes);
            assert!(bytes.len() <= MAX_HEADER);
            assert_eq!(Header::parse(&bytes), Ok(Parsed::Complete(header(width, height), bytes.len())));
            for cut in 0..bytes.len() {
                assert!(matches!(Header::parse(&bytes[..cut]), Ok(Parsed::NeedMore(more)) if more > 0));
            }
        }
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
        assert_eq!(
            Header::parse(b"nst\x09"),
            Err(Error::Version { what: "stream", version: 9, known: STREAM_VERSION })
        );
        assert!(matches!(Header::parse(b"nst\x01\x07"), Err(Error::Corrupt { .. })));
        assert!(matches!(Header::parse(b"nst\x01\x01\xFF\xFF\x7F"), Err(Error::Limit { .. })));
    }
}
