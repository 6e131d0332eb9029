//! Section 2: the header.

use super::Fault;
use super::layout::Kind;

/// The header of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Whether it is RGB; otherwise it is grey.
    pub colour: bool,
    /// Pixels.
    pub width: usize,
    /// Pixels.
    pub height: usize,
    /// The model's id.
    pub model: [u8; 6],
    /// Bit planes.
    pub planes: i32,
    /// Whether regions have gains.
    pub gains: bool,
    /// Angles of the colour axes, in 1/1024 of half a turn; 0 for grey.
    pub axes: [i32; 3],
    /// Bits of a sample in the source.
    pub bits: u32,
    /// Bit planes below the finest step.
    pub fine: i32,
    /// Bit planes of the opacity, and those below its finest step.
    pub alpha: Option<[i32; 2]>,
    /// Bytes of the header.
    pub bytes: usize,
}

impl Header {
    pub(super) fn kind(&self) -> Kind {
        if self.colour { Kind::Rgb } else { Kind::Grey }
    }

    /// Returns the header that the opacity would have as a grey picture.
    pub(super) fn of_alpha(&self) -> Option<Self> {
        let of = |[planes, fine]: [i32; 2]| Self {
            colour: false,
            planes,
            gains: false,
            axes: [0; 3],
            fine,
            alpha: None,
            ..*self
        };
        self.alpha.map(of)
    }

    /// Reads the start of a stream. `None` if the header is incomplete and its bytes break no rule.
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
        let version = match left.next() {
            None => return Ok(None),
            Some(version @ (1 | 2)) => version,
            Some(_) => return Err(Fault::Unsupported),
        };
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
        let (planes, gains) = match left.next() {
            None => return Ok(None),
            Some(planes @ 0..=15) => (planes.into(), false),
            Some(planes @ 16..=31) => (i32::from(planes) - 16, true),
            Some(_) => return Err(Fault::Corrupt),
        };
        let Some(axes) = (if colour { axes(left)? } else { Some([0; 3]) }) else { return Ok(None) };
        let precision = if version == 2 { precision(left)? } else { Some((8, 0, None)) };
        let header = |(bits, fine, alpha)| Self {
            colour,
            width,
            height,
            model,
            planes,
            gains,
            axes,
            bits,
            fine,
            alpha,
            bytes: 0,
        };
        Ok(precision.map(header))
    }
}

/// The bits of a sample, the planes below the finest step, those of the opacity.
type Precision = (u32, i32, Option<[i32; 2]>);

fn precision(left: &mut impl Iterator<Item = u8>) -> Result<Option<Precision>, Fault> {
    let Some(byte) = left.next().map(i32::from) else { return Ok(None) };
    let [more_bits, fine] = [byte % 16, byte / 16 % 8];
    if byte == 0 || more_bits > 8 || fine > 6 {
        return Err(Fault::Corrupt);
    }
    let bits = 8 + more_bits.unsigned_abs();
    if byte < 128 {
        return Ok(Some((bits, fine, None)));
    }
    match left.next().map(i32::from) {
        None => Ok(None),
        Some(byte) if byte / 16 > 6 => Err(Fault::Corrupt),
        Some(byte) => Ok(Some((bits, fine, Some([byte % 16, byte / 16])))),
    }
}

fn axes(left: &mut impl Iterator<Item = u8>) -> Result<Option<[i32; 3]>, Fault> {
    let mut number = 0;
    for index in 0..4 {
        let Some(byte) = left.next() else { return Ok(None) };
        number += i32::from(byte & if index == 3 { 0x3F } else { 0xFF }) << (8 * index);
        if index == 3 && byte > 0x3F {
            return Err(Fault::Corrupt);
        }
    }
    Ok(Some([number % 1024 - 512, number / 1024 % 1024 - 512, number / 1024 / 1024 - 512]))
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
