//! The first bytes of a coded frame (spec, "Frames").

use crate::error::Error;
use crate::motion::field::{CONSTANT_CYCLE, Turn};
use crate::subband::quantise::MAX_PLANES;

/// The maximum length of a head in bytes.
pub(super) const MAX_HEAD: usize = 2 + 3 * MAX_VARINT;
/// The maximum bytes of a number, which is at most 2^28 - 1.
const MAX_VARINT: usize = 4;
/// The frame is predicted from nothing. Its side information has the vectors that the next frame can copy, if any.
const KEY_FLAG: u16 = 1 << 7;
/// Blocks may be bi-predicted.
const BIPREDICTION_FLAG: u16 = 1 << 12;
/// The frame leads to another rendition.
const SWITCH_FLAG: u16 = 1 << 13;
/// The picture is the one before, and the frame has no side information.
const STAYS_FLAG: u16 = 1 << 14;
/// Some blocks are predicted from nothing.
const RENEWS_FLAG: u16 = 1 << 15;

/// The facts that a decoder needs before a frame's first symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Head {
    /// The place in the refresh cycle, 0..128.
    pub(crate) phase: u8,
    /// Whether the frame is predicted from nothing.
    pub(crate) key: bool,
    /// Bit planes of the residual bitstream, 0..=15.
    pub(crate) planes: u8,
    /// Whether blocks may be predicted from two pictures; never in a frame that is predicted from nothing.
    pub(crate) bipredicts: bool,
    /// Whether both references are predicted from the base-layer reference alone, and become those of another
    /// rendition; never with `key` or `bipredicts`.
    pub(crate) switches: bool,
    /// Whether the picture is the one before, so that each block is predicted from its own place; never with `key`,
    /// `bipredicts` or `switches`.
    pub(crate) stays: bool,
    /// Whether some blocks are predicted from nothing; never with `key`.
    pub(crate) renews: bool,
    /// Bytes of side information; a frame that is predicted from nothing may have none.
    pub(crate) side: usize,
    /// Bytes of the bitstream in the base-layer reference.
    pub(crate) base_reference: usize,
    /// Bytes of the bitstream in the enhancement reference, at least as many.
    pub(crate) enhancement_reference: usize,
}

/// A coded frame's description of itself: where it can be cut, and what it serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHead {
    /// Whether it is predicted from nothing, so that a decoder can begin here.
    pub key: bool,
    /// Whether its picture is the one before.
    pub stays: bool,
    /// Whether a 128th of its blocks is predicted from nothing.
    pub renews: bool,
    /// Bytes of head and side information: fewer have no use.
    pub side: usize,
    /// Bytes up to the end of the base layer, as [`crate::CodedFrame::base`]; can exceed the bytes of a cut frame.
    pub base: usize,
    /// Bytes up to the end of the enhancement reference, as [`crate::CodedFrame::enhancement_reference`]; can exceed the
    /// bytes of a cut frame.
    pub enhancement_reference: usize,
}

impl FrameHead {
    /// The most bytes of a head.
    pub const MAX_BYTES: usize = MAX_HEAD;

    /// Reads the head of a frame, or of a prefix of one; `None` if the bytes end in it.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if its flags exclude each other or a number has more than four bytes.
    pub fn parse(frame: &[u8]) -> Result<Option<Self>, Error> {
        let parsed = Head::parse(frame)?;
        Ok(parsed.map(|(head, length)| {
            let side = length + head.side;
            Self {
                key: head.key,
                stays: head.stays,
                renews: head.renews,
                side,
                base: side + head.base_reference,
                enhancement_reference: side + head.enhancement_reference,
            }
        }))
    }
}

fn corrupt(why: &'static str) -> Error {
    Error::Corrupt { what: "frame", why }
}

impl Head {
    /// Returns its place in the refresh cycle.
    pub(super) const fn turn(&self) -> Turn {
        Turn { phase: self.phase, renews: self.renews }
    }

    /// Returns whether its residual is weighted by the age of blocks.
    pub(crate) const fn is_weighted(&self) -> bool {
        !self.key && !self.switches && !self.stays
    }

    /// Appends the head to `out`.
    pub(super) fn write(&self, out: &mut impl Extend<u8>) {
        let flags = [
            (self.key, KEY_FLAG),
            (self.bipredicts, BIPREDICTION_FLAG),
            (self.switches, SWITCH_FLAG),
            (self.stays, STAYS_FLAG),
            (self.renews, RENEWS_FLAG),
        ];
        let flags = flags.into_iter().fold(0, |all, (is_set, flag)| if is_set { all | flag } else { all });
        let fixed = u16::from(self.phase) | flags | u16::from(self.planes) << 8;
        out.extend(fixed.to_le_bytes());
        if !self.stays {
            varint(out, self.side);
        }
        varint(out, self.base_reference);
        varint(out, self.enhancement_reference - self.base_reference);
    }

    /// Reads a head and returns it with its length in bytes; `None` if the bytes end in it.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if its flags exclude each other or a number has more than four bytes.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, Error> {
        let Some((fixed, mut rest)) = bytes.split_first_chunk() else { return Ok(None) };
        let fixed = u16::from_le_bytes(*fixed);
        let is_set = |flag| fixed & flag != 0;
        let kinds = [KEY_FLAG, BIPREDICTION_FLAG, SWITCH_FLAG, STAYS_FLAG].map(is_set);
        let [key, bipredicts, switches, stays] = kinds;
        let renews = is_set(RENEWS_FLAG);
        if kinds.into_iter().filter(|is_set| *is_set).count() > 1 || renews && key {
            return Err(corrupt("its head has flags that exclude each other"));
        }
        let [low, high] = fixed.to_le_bytes();
        let planes = high & MAX_PLANES;
        let side = if stays { Some(0) } else { number(&mut rest)? };
        let Some(side) = side else { return Ok(None) };
        let Some(base_reference) = number(&mut rest)? else { return Ok(None) };
        let Some(beyond) = number(&mut rest)? else { return Ok(None) };
        let phase = low & KEY_FLAG.to_le_bytes()[0].wrapping_sub(1);
        let head = Self {
            phase,
            key,
            planes,
            bipredicts,
            switches,
            stays,
            renews,
            side,
            base_reference,
            enhancement_reference: base_reference + beyond,
        };
        Ok(Some((head, bytes.len() - rest.len())))
    }
}

const _: () = assert!(CONSTANT_CYCLE == KEY_FLAG as usize, "the phase takes the bits below");
const _: () = assert!((MAX_PLANES as u16) << 8 == BIPREDICTION_FLAG - (1 << 8), "bit planes take the bits between");

fn varint(out: &mut impl Extend<u8>, mut value: usize) {
    while value >= 0x80 {
        out.extend([value.to_le_bytes()[0] | 0x80]);
        value >>= 7;
    }
    out.extend([value.to_le_bytes()[0]]);
}

/// Reads a number; `None` if the bytes end in it.
fn number(bytes: &mut &[u8]) -> Result<Option<usize>, Error> {
    let mut value = 0;
    for at in 0..MAX_VARINT {
        let Some(byte) = bytes.split_off_first() else { return Ok(None) };
        value |= usize::from(byte & 0x7F) << (7 * at);
        if *byte < 0x80 {
            return Ok(Some(value));
        }
    }
    Err(corrupt("a number of its head takes more than four bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_round_trip_and_every_prefix_asks_for_more() {
        for (flags, side, base_reference, enhancement_reference) in [
            (KEY_FLAG, 0, 0, 0),
            (KEY_FLAG, 9, 300, 301),
            (BIPREDICTION_FLAG, 0, 5, 5),
            (SWITCH_FLAG, 127, 128, 20_000),
            (0, 1, 1, 1),
            (STAYS_FLAG, 0, 0, 0),
            (STAYS_FLAG | RENEWS_FLAG, 0, 300, 301),
            (RENEWS_FLAG, 9, 300, 301),
            (BIPREDICTION_FLAG | RENEWS_FLAG, 9, 300, 301),
            (SWITCH_FLAG | RENEWS_FLAG, 9, 300, 300),
        ] {
            let head = Head {
                phase: 127,
                key: flags == KEY_FLAG,
                planes: 15,
                bipredicts: flags & BIPREDICTION_FLAG != 0,
                switches: flags & SWITCH_FLAG != 0,
                stays: flags & STAYS_FLAG != 0,
                renews: flags & RENEWS_FLAG != 0,
                side,
                base_reference,
                enhancement_reference,
            };
            let mut bytes = Vec::new();
            head.write(&mut bytes);
            assert!(bytes.len() <= MAX_HEAD);
            assert_eq!(Head::parse(&bytes), Ok(Some((head, bytes.len()))));
            assert!((0..bytes.len()).all(|cut| Head::parse(&bytes[..cut]) == Ok(None)));
            let start = bytes.len() + side;
            let public = FrameHead {
                key: head.key,
                stays: head.stays,
                renews: head.renews,
                side: start,
                base: start + base_reference,
                enhancement_reference: start + enhancement_reference,
            };
            assert_eq!(FrameHead::parse(&bytes), Ok(Some(public)));
        }
    }

    #[test]
    fn flags_that_exclude_each_other_and_long_numbers_are_refused() {
        for flags in 0..16_u8 {
            let [bipredicts, switches, stays, renews] = [1, 2, 4, 8].map(|bit| flags & bit != 0);
            for key in [false, true] {
                let kinds = [key, bipredicts, switches, stays].into_iter().filter(|is_set| *is_set).count();
                let bytes = [u8::from(key) << 7, flags << 4, 0, 0, 0];
                assert_eq!(Head::parse(&bytes).is_ok(), kinds <= 1 && !(key && renews), "{bytes:?}");
            }
        }
        assert!(Head::parse(&[0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0]).is_err());
    }
}
