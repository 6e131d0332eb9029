//! An invented version 2 of the session: what a later version may say to ends of this version (session specification,
//! "Growth").

use nestcast_proto::{Clock, Code, Message, StreamHead, Welcome};
use quinn::{Connection, SendStream};

use crate::hostile_sender::{Ended, frame};

/// A type of messages and a kind of streams that this version does not know.
const UNKNOWN: u8 = 42;

/// Encodes a message of any type and body.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let [high, low] = u16::try_from(body.len()).expect("a short body").to_be_bytes();
    [&[kind, high | 0x40, low], body].concat()
}

/// Adds a later version's fields to a message of this version.
fn longer(message_of_today: &Message) -> Vec<u8> {
    let encoded = message_of_today.encode();
    assert!(encoded[1] < 0x40, "its length is one byte");
    message(encoded[0], &[&encoded[2..], b"\x03new\x07"].concat())
}

/// Returns a message that an end of this version does not understand.
pub fn unknown_message() -> Vec<u8> {
    message(UNKNOWN, &[0xFF; 1024])
}

/// Returns the hello of a receiver that speaks these versions, has no token and no cap, decodes in a new way, and says
/// more than receivers of this version.
pub fn hello(lowest: u8, highest: u8) -> Vec<u8> {
    message(1, &[&[lowest, highest, 0, 0, 9, 0][..], b"\x05field"].concat())
}

/// Returns the first bytes of a sender that chose this version: longer messages, and unknown ones in between.
pub(crate) fn greeting(chosen: u8, welcome: Welcome) -> Vec<u8> {
    let mut first = longer(&Message::Welcome { version: 1, welcome });
    first[3] = chosen;
    [first, unknown_message(), longer(&Message::Clock(Clock { micros: 0 })), unknown_message()].concat()
}

/// Opens a stream of an unknown kind, waits until the receiver stops it, and sends good frames and unknown messages.
/// Closes with Failed if the receiver did not stop the stream.
pub(crate) async fn broadcast(connection: &Connection, mut control: SendStream, good: &[u8]) -> Result<(), Ended> {
    let mut unknown = connection.open_uni().await?;
    unknown.write_all(&StreamHead::Unknown(UNKNOWN.into()).encode()).await?;
    unknown.write_all(&[0; 100]).await?;
    let stopped = unknown.stopped().await?;
    for id in 0..10 {
        frame(connection, id, good).await?.stopped().await?;
        control.write_all(&unknown_message()).await?;
    }
    let code = if stopped.is_some() { Code::Done } else { Code::Failed };
    connection.close(code.number().into(), b"");
    Ok(())
}
