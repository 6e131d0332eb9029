//! The control stream's messages, and the heads of a sender's streams.

use bytes::Bytes;
use nestcast_proto::{Bases, Close, Code, Control, FrameHeader, MAX_MESSAGE, MAX_OPEN_FRAMES, Message, StreamHead};

use crate::bounded;
use crate::stream::chunks;

/// The most bytes of a stream's head (session specification, "Limits").
const MAX_HEAD: usize = 64;

/// Checks that any bytes of the control stream are the same messages in any pieces, up to the same broken rule, and
/// that any bytes of a stream are one head. A message or head that was read is written in a form that is no longer than
/// the one that came, and reads as the same.
///
/// The input: the pieces in which it arrives, then the stream.
pub fn messages(data: &[u8]) {
    let Some((&by, bytes)) = data.split_first() else { return };
    bounded::within(8 * MAX_MESSAGE + 128 * bytes.len(), "reading messages", || {
        let whole = read(std::iter::once(bytes));
        assert_eq!(whole, read(chunks(bytes, by)), "at once and in pieces");
        for message in &whole.0 {
            let written = message.encode();
            assert_eq!(read(std::iter::once(&written[..])), (vec![message.clone()], None));
            let longer = longer(&written);
            assert_eq!(read(std::iter::once(&longer[..])), (vec![message.clone()], None), "with more fields");
        }
        head(bytes);
        assert_eq!(bases(std::iter::once(bytes)), bases(chunks(bytes, by)), "bases at once and in pieces");
    });
    code(bytes);
}

/// Returns a message with one field more, as a later version may have, and a message of an unknown type after it.
fn longer(message: &[u8]) -> Vec<u8> {
    let body = if message[1] < 0x40 { &message[2..] } else { &message[3..] };
    let [high, low] = u16::try_from(body.len() + 1).expect("a short message").to_be_bytes();
    [&[message[0], high | 0x40, low], body, &[7], &[63, 2, 1, 2]].concat()
}

/// Returns the messages in a stream that arrives in these pieces, and the rule that it breaks.
fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Message>, Option<Close>) {
    let (mut control, mut messages) = (Control::default(), Vec::new());
    for piece in pieces {
        control.handle_bytes(piece);
        loop {
            match control.poll() {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(close) => return (messages, Some(close)),
            }
        }
    }
    (messages, None)
}

/// Returns the bases that come again in a stream that arrives in these pieces, and the rule that it breaks.
fn bases<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<(FrameHeader, Bytes)>, Option<Close>) {
    let (mut reader, mut bases) = (Bases::default(), Vec::new());
    for piece in pieces {
        reader.handle_bytes(piece);
        loop {
            match reader.poll() {
                Ok(Some(base)) => bases.push(base),
                Ok(None) => break,
                Err(close) => return (bases, Some(close)),
            }
        }
    }
    assert!(bases.len() <= MAX_OPEN_FRAMES, "{} bases on one stream", bases.len());
    (bases, None)
}

fn head(bytes: &[u8]) {
    match StreamHead::parse(bytes) {
        Ok(Some((head, length))) => {
            assert!(length <= bytes.len().min(MAX_HEAD), "a head of {length} bytes");
            for cut in 0..length {
                assert_eq!(StreamHead::parse(&bytes[..cut]), Ok(None), "the first {cut} bytes of a head");
            }
            let written = head.encode();
            assert!(written.len() <= length, "written it is {} bytes, read it was {length}", written.len());
            assert_eq!(StreamHead::parse(&written), Ok(Some((head, written.len()))));
        }
        Ok(None) => assert!(bytes.len() < MAX_HEAD, "more than a head's bytes are waited for"),
        Err(close) => assert_eq!(close.code, Code::Violation),
    }
}

/// A peer closes with any number.
fn code(bytes: &[u8]) {
    let Some((&number, _)) = bytes.split_first_chunk() else { return };
    let number = u64::from_le_bytes(number);
    let code = Code::from_number(number);
    assert_eq!(u64::from(code.number()), number.min(u32::MAX.into()), "a code keeps its number");
    assert!(!code.to_string().contains('\n') && !code.name().is_empty());
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_committed_inputs_hold_every_message_that_has_a_version() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/messages");
        let inputs = fs::read_dir(folder).expect("a folder").map(|entry| fs::read(entry.expect("an entry").path()));
        let read = |input: std::io::Result<Vec<u8>>| read(std::iter::once(&input.expect("a file")[1..])).0;
        let messages: Vec<Message> = inputs.flat_map(read).collect();
        assert!(messages.iter().any(|message| matches!(message, Message::Hello(_))));
        assert!(
            messages
                .iter()
                .any(|message| matches!(message, Message::Welcome { welcome, .. } if welcome.video.is_some()))
        );
        assert!(
            messages
                .iter()
                .any(|message| matches!(message, Message::Welcome { welcome, .. } if welcome.video.is_none()))
        );
    }
}
