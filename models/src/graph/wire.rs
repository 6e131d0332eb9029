//! The parts of protocol buffers that a network needs: integers and byte strings, each read in one way or refused.

use super::error::GraphError;
use super::limits::{MAX_NAME, limit};

/// A field's number and its value.
pub(super) type Field<'a> = (u64, Value<'a>);

/// A field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Integer(u64),
    Bytes(&'a [u8]),
}

const CUT_FIELD: GraphError = GraphError::Form("a field that ends early: it is cut or no ONNX file");
const WRONG_KIND: GraphError = GraphError::Form("a field of another kind than a package's networks have");

/// The fields of a message, in order. Nothing is copied.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, GraphError>;

    fn next(&mut self) -> Option<Self::Item> {
        (!self.0.is_empty()).then(|| self.field())
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Result<Field<'a>, GraphError> {
        let key = self.integer()?;
        let value = match key & 7 {
            0 => Value::Integer(self.integer()?),
            2 => {
                let length = usize::try_from(self.integer()?).map_err(|_| CUT_FIELD)?;
                let (bytes, rest) = self.0.split_at_checked(length).ok_or(CUT_FIELD)?;
                self.0 = rest;
                Value::Bytes(bytes)
            }
            _ => return Err(WRONG_KIND),
        };
        Ok((key >> 3, value))
    }

    /// Seven bits a byte, least first; at most 64 bits, because readers cut off the rest in different ways.
    fn integer(&mut self) -> Result<u64, GraphError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or(CUT_FIELD)?;
            self.0 = rest;
            if shift == 63 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(GraphError::Form("an integer of more than 64 bits"))
    }
}

impl<'a> Value<'a> {
    /// A signed integer of 64 bits.
    pub(super) fn integer(self) -> Result<i64, GraphError> {
        match self {
            Value::Integer(value) => Ok(value.cast_signed()),
            Value::Bytes(_) => Err(WRONG_KIND),
        }
    }

    pub(super) fn bytes(self) -> Result<&'a [u8], GraphError> {
        match self {
            Value::Bytes(bytes) => Ok(bytes),
            Value::Integer(_) => Err(WRONG_KIND),
        }
    }

    /// The fields of a message within a message.
    pub(super) fn fields(self) -> Result<Fields<'a>, GraphError> {
        self.bytes().map(Fields)
    }

    /// A name that can be shown on one line.
    pub(super) fn name(self) -> Result<&'a str, GraphError> {
        let bytes = self.bytes()?;
        limit("bytes in a name", bytes.len() as u64, MAX_NAME as u64)?;
        let shown = bytes.iter().all(|byte| matches!(byte, b' '..=b'~'));
        let name = std::str::from_utf8(bytes).ok().filter(|_| shown);
        name.ok_or(GraphError::Form("a name that is not plain ASCII"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_one_meaning_or_none() {
        let integer = |bytes: &[u8]| Fields(bytes).integer();
        assert_eq!(integer(&[0xAC, 0x02]), Ok(300));
        assert_eq!(integer(&[0xFF; 9]), Err(CUT_FIELD));
        let most = [&[0xFF; 9][..], &[1]].concat();
        assert_eq!(integer(&most), Ok(u64::MAX));
        for last in [2, 0x81] {
            let more = [&[0xFF; 9][..], &[last, 0]].concat();
            assert!(matches!(integer(&more), Err(GraphError::Form(_))), "{last}");
        }
    }

    #[test]
    fn lengths_beyond_the_end_and_other_kinds_are_refused() {
        let fields = |bytes: &'static [u8]| Fields(bytes).collect::<Result<Vec<_>, _>>();
        assert_eq!(fields(&[0x08, 5, 0x12, 1, b'x']), Ok(vec![(1, Value::Integer(5)), (2, Value::Bytes(b"x"))]));
        assert_eq!(fields(&[0x12, 2, b'x']), Err(CUT_FIELD));
        assert_eq!(fields(&[0x12, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]), Err(CUT_FIELD));
        for kind in [1, 3, 4, 5, 6, 7] {
            assert_eq!(Fields(&[8 | kind, 0, 0, 0, 0, 0, 0, 0, 0]).next(), Some(Err(WRONG_KIND)), "{kind}");
        }
    }
}
