//! Files of one code: its first bits, cut at any bit.

use crate::error::Error;

/// The first bytes of a code file.
pub const CODE_MAGIC: [u8; 8] = *b"NSTBCODE";
const FILE_VERSION: u16 = 1;
const HEADER_BYTES: usize = 18;
/// The places of the version, the number of bits and the model.
const VERSION_AT: usize = 8;
const BITS_AT: usize = 10;
const MODEL_AT: usize = 12;

/// The first bits of a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeFile {
    /// The first bytes of the model's [`CodeModelId`](crate::CodeModelId).
    pub model: [u8; Self::MODEL_BYTES],
    /// The number of known bits.
    pub bits: usize,
    /// Bit 0 is the highest of the first byte; bits after the last are 0.
    pub code: Vec<u8>,
}

impl CodeFile {
    /// Bytes of a model's id in a code file.
    pub const MODEL_BYTES: usize = 6;

    /// Reads a code file or a prefix of one, which holds as many bits as its bytes after the header do.
    ///
    /// # Errors
    /// [`Error::NotACode`], [`Error::CodeVersion`], and [`Error::CodeHeader`] where it ends inside its header.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let (header, code) = bytes.split_at_checked(HEADER_BYTES).ok_or(Error::CodeHeader)?;
        if !header.starts_with(&CODE_MAGIC) {
            return Err(Error::NotACode);
        }
        let number = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
        let version = number(VERSION_AT);
        if version != FILE_VERSION {
            return Err(Error::CodeVersion { version, known: FILE_VERSION });
        }
        let model = std::array::from_fn(|at| header[MODEL_AT + at]);
        let file = Self { model, bits: 8 * code.len(), code: code.to_vec() };
        Ok(file.first(number(BITS_AT).into()))
    }

    /// Its first `bits` bits, or all if it has fewer.
    #[must_use]
    pub fn first(mut self, bits: usize) -> Self {
        self.bits = bits.min(self.bits);
        self.code.truncate(self.bits.div_ceil(8));
        if let (Some(last), used @ 1..) = (self.code.last_mut(), self.bits % 8) {
            *last &= u8::MAX << (8 - used);
        }
        self
    }

    /// The file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let bits = u16::try_from(self.bits).unwrap_or(u16::MAX);
        [&CODE_MAGIC[..], &FILE_VERSION.to_le_bytes(), &bits.to_le_bytes(), &self.model, &self.code].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_cut_at_any_bit_and_any_byte() {
        let whole = CodeFile { model: *b"modeli", bits: 40, code: vec![0b1011_0111; 5] };
        let bytes = whole.to_bytes();
        for bits in 0..=45 {
            let cut =
                CodeFile::parse(&CodeFile::parse(&bytes).expect("a file").first(bits).to_bytes()).expect("a file");
            assert_eq!((cut.bits, cut.code.len(), cut.model), (bits.min(40), bits.min(40).div_ceil(8), *b"modeli"));
            let bit = |code: &[u8], at: usize| code[at / 8] >> (7 - at % 8) & 1;
            assert!(
                (0..8 * cut.code.len()).all(|at| bit(&cut.code, at) == u8::from(at < cut.bits) * bit(&whole.code, at))
            );
        }
        for length in 0..=bytes.len() {
            let known = CodeFile::parse(&bytes[..length]).ok().map(|file| file.bits);
            assert_eq!(known, length.checked_sub(HEADER_BYTES).map(|bytes| 8 * bytes), "{length} bytes");
        }
        let altered = |at: usize| bytes.iter().enumerate().map(|(place, &byte)| byte ^ u8::from(place == at)).collect();
        let refusal = |bytes: Vec<u8>| CodeFile::parse(&bytes).expect_err("no code file");
        assert_eq!(refusal(altered(0)), Error::NotACode);
        assert_eq!(refusal(altered(VERSION_AT)), Error::CodeVersion { version: 0, known: 1 });
    }
}
