//! Section 2: the header.

use super::Fault;

/// What a stream says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// RGB, or else grey.
    pub colour: bool,
    /// Pixels.
    pub width: usize,
    /// Pixels.
    pub height: usize,
    /// The model's id.
    pub model: [u8; 6],
    /// Bit planes.
    pub planes: i32,
    /// Bytes of the header itself.
    pub bytes: usize,
}

impl Header {
    /// Reads the start of a stream. `None`: the header is not whole, and what is there breaks no rule.
    pub fn read(stream: &[u8]) -> Result<Option<Self>, Fault> {
        let mut left = stream.iter().copied();
        let header = Self::fields(&mut left)?;
        Ok(header.map(|header| Self { bytes: stream.len() - left.len(), ..header }))
    }

    fn fields(left: &mut impl Iterator<Item = u8>) -> Result<Option<Self>, Fault> {
        for expected in *b"nst" {
            match left.next() {
                None => return Ok(None),
                Some(byte) if byte != expected => return Err(Fault::Corrupt),
                Some(_) => {}
            }
        }
        match left.next() {
            None => return Ok(None),
            Some(1) => {}
            Some(_) => return Err(Fault::Unsupported),
        }
        let colour = match left.next() {
            None => return Ok(None),
            Some(0) => false,
            Some(1) => true,
            Some(_) => return Err(Fault::Corrupt),
        };
        let Some(width) = side(left)? else { return Ok(None) };
        let Some(height) = side(left)? else { return Ok(None) };
        let mut model = [0; 6];
        for byte in &mut model {
            let Some(next) = left.next() else { return Ok(None) };
            *byte = next;
        }
        match left.next() {
            None => Ok(None),
            Some(planes @ 0..=15) => Ok(Some(Self { colour, width, height, model, planes: planes.into(), bytes: 0 })),
            Some(_) => Err(Fault::Corrupt),
        }
    }
}

fn side(left: &mut impl Iterator<Item = u8>) -> Result<Option<usize>, Fault> {
    let Some(first) = left.next() else { return Ok(None) };
    if first < 0x80 {
        return Ok(Some(usize::from(first) + 1));
    }
    match left.next() {
        None => Ok(None),
        Some(0) => Err(Fault::Corrupt),
        Some(second) if second >= 0x80 => Err(Fault::Limit),
        Some(second) => Ok(Some(usize::from(first) % 128 + usize::from(second) * 128 + 1)),
    }
}
