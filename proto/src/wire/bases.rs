//! Base retransmission: base layers that may have been lost are sent again, those of several frames on one stream.

use bytes::{Buf as _, Bytes, BytesMut};

use crate::wire::close::Close;
use crate::wire::frame::{Frame, FrameHeader};
use crate::wire::limits::{MAX_BASE_AGAIN, MAX_OPEN_FRAMES};
use crate::wire::stream::StreamHead;
use crate::wire::varint::Reader;

/// Encodes a stream with the base layers of `frames`, its head first.
pub(crate) fn encode<'a>(frames: impl Iterator<Item = &'a Frame>) -> Bytes {
    let mut out = BytesMut::from(&StreamHead::Bases.encode()[..]);
    for frame in frames {
        let header = frame.header();
        header.write(&mut out);
        out.extend_from_slice(&frame.bytes[..frame.base.min(frame.bytes.len())]);
    }
    out.freeze()
}

/// Reads what follows the head of a stream of base layers.
#[derive(Debug, Default)]
pub struct Bases {
    bytes: BytesMut,
    count: usize,
}

impl Bases {
    /// Adds bytes of the stream.
    pub fn handle_bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next frame's header with its base layer; `None` until more bytes come.
    ///
    /// # Errors
    /// If a header or a base layer exceeds a limit, or there are too many.
    pub fn poll(&mut self) -> Result<Option<(FrameHeader, Bytes)>, Close> {
        let mut reader = Reader::new(&self.bytes);
        let Some(header) = FrameHeader::read(&mut reader)? else { return Ok(None) };
        let base = usize::try_from(header.base).ok().filter(|&base| base <= MAX_BASE_AGAIN);
        let base = base.ok_or(Close::violation("a base that comes again is too long"))?;
        if self.count == MAX_OPEN_FRAMES {
            return Err(Close::violation("too many bases come again on one stream"));
        }
        if reader.left() < base {
            return Ok(None);
        }
        self.bytes.advance(self.bytes.len() - reader.left());
        self.count += 1;
        Ok(Some((header, self.bytes.split_to(base).freeze())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(id: u64, base: usize) -> Frame {
        Frame { id, skipped: 0, captured: 7, since: id, base, bytes: vec![3; base + 100].into(), join: None }
    }

    #[test]
    fn bases_come_out_one_by_one_however_the_stream_is_cut() {
        let frames = [frame(3, 400), frame(4, 0), frame(6, 20)];
        let stream = encode(frames.iter());
        assert!(matches!(StreamHead::parse(&stream), Ok(Some((StreamHead::Bases, 1)))));
        for step in [1, 7, stream.len()] {
            let mut bases = Bases::default();
            let mut came = Vec::new();
            for piece in stream[1..].chunks(step) {
                bases.handle_bytes(piece);
                while let Some((header, base)) = bases.poll().expect("it keeps the rules") {
                    came.push((header.id, base.len()));
                }
            }
            assert_eq!(came, [(3, 400), (4, 0), (6, 20)], "in pieces of {step}");
        }
    }

    #[test]
    fn too_many_and_too_long_ones_are_refused() {
        let read = |frames: &[Frame]| {
            let mut bases = Bases::default();
            bases.handle_bytes(&encode(frames.iter())[1..]);
            while bases.poll()?.is_some() {}
            Ok::<_, Close>(())
        };
        let many: Vec<_> = (0..=MAX_OPEN_FRAMES as u64).map(|id| frame(id, 10)).collect();
        assert!(read(&many[1..]).is_ok());
        assert!(read(&many).is_err());
        assert!(read(&[frame(1, MAX_BASE_AGAIN)]).is_ok());
        assert!(read(&[frame(1, MAX_BASE_AGAIN + 1)]).is_err());
    }
}
