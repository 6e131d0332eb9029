//! Checks a WebP file's chunks before it is decoded (RFC 9649, section 2).

use super::Error;

/// RIFF, a length, WEBP.
const HEADER_BYTES: usize = 12;
/// Bytes of a frame of an animation before its chunks: place, size, duration and flags.
const FRAME_HEADER_BYTES: usize = 16;

/// Checks that every chunk ends in the file, and that no coded picture is larger than the file's. The decoder allocates
/// memory for both before it reads them.
///
/// # Errors
/// [`Error::Corrupt`] otherwise.
pub(super) fn check(bytes: &[u8]) -> Result<(), Error> {
    let end =
        bytes.get(4..).and_then(|rest| rest.first_chunk::<4>()).map_or(0, |length| number(length).saturating_add(8));
    let mut canvas = None;
    for chunk in (Chunks { bytes, at: HEADER_BYTES, end }) {
        let data = chunk.data.ok_or(Error::Corrupt("it ends too early: get the whole file"))?;
        match chunk.kind {
            b"VP8X" => canvas = data.get(4..10).map(|sides| [number(&sides[..3]) + 1, number(&sides[3..]) + 1]),
            b"ANMF" => {
                for chunk in (Chunks { bytes: data, at: FRAME_HEADER_BYTES, end: data.len() }) {
                    chunk.data.map_or(Ok(()), |data| check_size(chunk.kind, data, canvas))?;
                }
            }
            kind => check_size(kind, data, canvas)?,
        }
    }
    Ok(())
}

/// Fails if this is a coded picture that is larger than the file's.
fn check_size(kind: &[u8; 4], data: &[u8], canvas: Option<[usize; 2]>) -> Result<(), Error> {
    let (Some(sides), Some(canvas)) = (coded_size(kind, data), canvas) else { return Ok(()) };
    if sides.iter().zip(canvas).any(|(side, most)| *side > most) {
        return Err(Error::Corrupt("its data are damaged: get it again"));
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
        assert!(check(&file(4)).is_ok() && check(&file(3)).is_ok() && check(b"RIFF").is_ok());
        assert!(check(&file(5)).is_err() && check(&file(u32::MAX)).is_err());
        assert!(check(&[file(4), b"more than the file".to_vec()].concat()).is_ok());
    }

    #[test]
    fn no_coded_picture_is_larger_than_the_files() {
        let chunk = |kind: &[u8; 4], data: &[u8]| {
            [&kind[..], &u32::try_from(data.len()).expect("it is short").to_le_bytes(), data].concat()
        };
        let canvas = chunk(b"VP8X", &[0, 0, 0, 0, 19, 0, 0, 9, 0, 0]);
        let lossy = |width: u8| chunk(b"VP8 ", &[0, 0, 0, 0x9D, 1, 0x2A, width, 0x40, 10, 0]);
        let lossless = |width: u8| chunk(b"VP8L", &[0x2F, width - 1, 0x40, 2, 0, 0]);
        let frame = |data: Vec<u8>| chunk(b"ANMF", &[vec![0; FRAME_HEADER_BYTES], data].concat());
        for (width, fits) in [(20, true), (21, false)] {
            for picture in [lossy(width), lossless(width), frame(lossy(width)), frame(lossless(width))] {
                assert_eq!(check(&file(&[canvas.clone(), picture].concat())).is_ok(), fits, "{width}");
            }
            assert!(check(&file(&lossy(width))).is_ok(), "it is the file's size");
        }
    }
}
