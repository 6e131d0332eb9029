//! Reads pictures from files and pipes, no further than a picture can reach.

use std::io::Read;

use nestcast_codec::Size;

use super::decode::{Decoded, check_magic, decode_as, max_file_bytes, size};
use super::error::Error;
use super::opaque::Samples;
use crate::{Kind, PeekedInput};

/// Most files have their header in this number of bytes.
const USUAL_HEADER: u64 = 64 * 1024;

/// Reads a PNG, JPEG or WebP file of at most `max_pixels` pixels, recognised by its content.
///
/// # Errors
/// As [`decode_as`], and the system's; [`Error::Kind`] for another kind of file that this crate reads.
pub fn read(source: PeekedInput<impl Read>, max_pixels: u64) -> Result<Decoded, Error> {
    read_as(source, max_pixels, Samples::Shown)
}

/// As [`read`], with these samples.
///
/// # Errors
/// As [`read`].
pub fn read_as(mut source: PeekedInput<impl Read>, max_pixels: u64, samples: Samples) -> Result<Decoded, Error> {
    check(&mut source)?;
    decode_as(&whole(source, max_pixels)?, max_pixels, samples)
}

/// Returns the size of the picture that [`read`] would return, in most cases from the file's first 64 kB.
///
/// # Errors
/// As [`read`], but it does not see damage after the header.
pub fn read_size(mut source: PeekedInput<impl Read>, max_pixels: u64) -> Result<Size, Error> {
    check(&mut source)?;
    if let Ok(size) = size(source.read_to(USUAL_HEADER)?, max_pixels) {
        return Ok(size);
    }
    // Long metadata may come before the size.
    size(&whole(source, max_pixels)?, max_pixels)
}

/// Checks that a file begins like a picture.
fn check(source: &mut PeekedInput<impl Read>) -> Result<(), Error> {
    let start = source.read_to(Kind::NEEDED_BYTES as u64)?;
    if start.is_empty() {
        return Err(Error::Empty);
    }
    check_magic(start).map_err(|error| match Kind::of(start) {
        Kind::Picture | Kind::Other => error,
        kind => Error::Kind(kind),
    })
}

/// Reads all bytes of a file that may have `max_pixels` pixels.
fn whole(mut source: PeekedInput<impl Read>, max_pixels: u64) -> Result<Vec<u8>, Error> {
    let limit = max_file_bytes(max_pixels);
    let length = source.read_to(limit + 1)?.len() as u64;
    if length > limit { Err(Error::Length { limit, max_pixels }) } else { Ok(source.into_bytes()) }
}

#[cfg(test)]
mod tests {
    use std::io;

    use nestcast_codec::{Channels, Picture};

    use super::*;
    use crate::picture::encode_png;

    #[test]
    fn what_is_no_picture_is_told_apart_and_not_read_on() {
        let read = |bytes: &[u8]| read(PeekedInput::new(bytes.chain(io::repeat(0).take(1 << 40))), 100);
        assert!(matches!(read(b"YUV4MPEG2 W2 H2"), Err(Error::Kind(Kind::Y4m))));
        assert!(matches!(read(b"anything"), Err(Error::Format)));
        assert!(matches!(super::read(PeekedInput::new(&[][..]), 100), Err(Error::Empty)));
    }

    #[test]
    fn a_picture_is_read_whole_or_by_its_header() {
        let picture = Picture::new(Size::new(4, 2).expect("a size"), Channels::Grey, vec![7; 8]).expect("a picture");
        let png = encode_png(&picture).expect("PNG");
        assert_eq!(read(PeekedInput::new(&png[..]), 8).expect("it is sound").picture, picture);
        let header = &png[..8 + 25 + 12];
        assert_eq!(read_size(PeekedInput::new(header), 8).expect("a header"), picture.size());
        assert!(read(PeekedInput::new(header), 8).is_err());
        assert!(matches!(read_size(PeekedInput::new(&png[..]), 7), Err(Error::Pixels { given: 8, max: 7 })));
    }
}
