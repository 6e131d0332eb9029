//! Checks a WebP file's chunks before it is decoded (RFC 9649, section 2).

use super::Error;

/// RIFF, a length, WEBP.
const HEADER_BYTES: usize = 12;
const DAMAGED: Error = Error::Corrupt("its data are damaged: get it again");
/// Bytes of a frame of an animation before its chunks: place, size, duration and flags.
const FRAME_HEADER_BYTES: usize = 16;

/// Checks that every chunk ends in the file, that no coded picture is larger than the file's, and that a picture in a
/// frame of an animation has the frame's size. The decoder allocates memory for all of them before it reads them. Returns
/// the file without what follows it: the decoder would read that too.
///
/// # Errors
/// [`Error::Corrupt`] otherwise.
pub(super) fn checked(bytes: &[u8]) -> Result<&[u8], Error> {
    let end =
        bytes.get(4..).and_then(|rest| rest.first_chunk::<4>()).map_or(0, |length| number(length).saturating_add(8));
    let bytes = &bytes[..end.min(bytes.len())];
    let mut canvas = None;
    for chunk in (Chunks { bytes, at: HEADER_BYTES, end }) {
        let data = chunk.data.ok_or(Error::Corrupt("it ends too early: get the whole file"))?;
        match chunk.kind {
            // The decoder takes the first.
            b"VP8X" if canvas.is_none() => canvas = data.get(4..10).map(sides),
            b"ANMF" => {
                let frame = data.get(6..12).map(sides).ok_or(DAMAGED)?;
                for chunk in (Chunks { bytes: data, at: FRAME_HEADER_BYTES, end: data.len() }) {
                    let data = chunk.data.ok_or(DAMAGED)?;
                    check_size(chunk.kind, data, canvas)?;
                    if coded_size(chunk.kind, data).is_some_and(|coded| coded != frame) {
                        return Err(DAMAGED);
                    }
                }
            }
            kind => check_size(kind, data, canvas)?,
        }
    }
    Ok(bytes)
}

/// Reads sides less one, of three bytes each.
fn sides(bytes: &[u8]) -> [usize; 2] {
    [number(&bytes[..3]) + 1, number(&bytes[3..]) + 1]
}

/// Fails if this is a coded picture that is larger than the file's.
fn check_size(kind: &[u8; 4], data: &[u8], canvas: Option<[usize; 2]>) -> Result<(), Error> {
    let (Some(sides), Some(canvas)) = (coded_size(kind, data), canvas) else { return Ok(()) };
    if sides.iter().zip(canvas).any(|(side, most)| *side > most) {
        return Err(DAMAGED);
    }
    Ok(())
}

/// Returns the sides of a coded picture, lossy (RFC 6386, section 9.1) or lossless (RFC 9649, section 3.4).
fn coded_size(kind: &[u8; 4], data: &[u8]) -> Option<[usize; 2]> {
    const SIDE_BITS: u32 = 14;
    const SIDE_MASK: usize = (1 << SIDE_BITS) - 1;
    match kind {
        b"VP8 " => data.get(6..10).map(|sides| [number(&sides[..2]), number(&sides[2..])].map(|side| side & SIDE_MASK)),
        b"VP8L" => {
            data.get(1..5).map(|sides| [number(sides), number(sides) >> SIDE_BITS].map(|side| (side & SIDE_MASK) + 1))
        }
        _ => None,
    }
}

fn number(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

struct Chunk<'a> {
    kind: &'a [u8; 4],
    /// `None` if the chunk ends after the end of the file.
    data: Option<&'a [u8]>,
}

/// The chunks that begin before `end`.
struct Chunks<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Chunk<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let (kind, rest) = self.bytes.get(self.at..).filter(|_| self.at < self.end)?.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let length = number(length);
        // A chunk of odd length has a byte more.
        self.at = self.at.saturating_add(8).saturating_add(length).saturating_add(length % 2);
        Some(Chunk { kind, data: rest.get(..length) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(chunks: &[u8]) -> Vec<u8> {
        let length = u32::try_from(chunks.len() + 4).expect("it is short").to_le_bytes();
        [b"RIFF", &length[..], b"WEBP", chunks].concat()
    }

    #[test]
    fn a_chunk_ends_in_its_file() {
        let file = |length: u32| file(&[b"VP8L", &length.to_le_bytes()[..], b"abcd"].concat());
        let is_sound = |bytes: &[u8]| checked(bytes).is_ok();
        assert!(is_sound(&file(4)) && is_sound(&file(3)) && is_sound(b"RIFF"));
        assert!(!is_sound(&file(5)) && !is_sound(&file(u32::MAX)));
        let longer = [file(4), b"more than the file".to_vec()].concat();
        assert_eq!(checked(&longer).expect("it is sound"), file(4), "what follows is not decoded");
    }

    #[test]
    fn no_coded_picture_is_larger_than_the_files() {
        let chunk = |kind: &[u8; 4], data: &[u8]| {
            [&kind[..], &u32::try_from(data.len()).expect("it is short").to_le_bytes(), data].concat()
        };
        let canvas = chunk(b"VP8X", &[0, 0, 0, 0, 19, 0, 0, 9, 0, 0]);
        let lossy = |width: u8| chunk(b"VP8 ", &[0, 0, 0, 0x9D, 1, 0x2A, width, 0x40, 10, 0]);
        let lossless = |width: u8| chunk(b"VP8L", &[0x2F, width - 1, 0x40, 2, 0, 0]);
        let frame_of = |width: u8, data: Vec<u8>| {
            chunk(b"ANMF", &[&[0, 0, 0, 0, 0, 0, width - 1, 0, 0, 9, 0, 0, 0, 0, 0, 0][..], &data].concat())
        };
        let larger = chunk(b"VP8X", &[0, 0, 0, 0, 255, 0, 0, 255, 0, 0]);
        for (width, fits) in [(20, true), (21, false)] {
            let frames = [frame_of(width, lossy(width)), frame_of(width, lossless(width))];
            for picture in [lossy(width), lossless(width)].into_iter().chain(frames) {
                assert_eq!(checked(&file(&[canvas.clone(), picture.clone()].concat())).is_ok(), fits, "{width}");
                let twice = [canvas.clone(), larger.clone(), picture].concat();
                assert_eq!(checked(&file(&twice)).is_ok(), fits, "the first counts");
            }
            assert!(checked(&file(&lossy(width))).is_ok(), "it is the file's size");
        }
        let alpha = chunk(b"ALPH", &[0; 4]);
        for (width, fits) in [(20, true), (5, false)] {
            let frame = frame_of(width, [alpha.clone(), lossy(20)].concat());
            assert_eq!(checked(&file(&[canvas.clone(), frame].concat())).is_ok(), fits, "a frame {width} wide");
        }
        let mut beyond = frame_of(20, lossy(20));
        let length = u32::try_from(beyond.len() - 9).expect("it is short").to_le_bytes();
        beyond[4..8].copy_from_slice(&length);
        assert!(checked(&file(&[canvas, beyond].concat())).is_err(), "a picture that ends after its frame");
    }
}
