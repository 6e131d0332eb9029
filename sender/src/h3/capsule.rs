//! Capsules on the stream of a WebTransport session's request: how either end closes the session.

use bytes::{BufMut as _, Bytes, BytesMut};
use nestcast_proto::Close;

use crate::h3::records::put_record;

/// The kind of the frame that carries capsules.
pub(crate) const DATA_FRAME: u64 = 0;
/// The capsule `CLOSE_WEBTRANSPORT_SESSION`.
pub(crate) const CLOSE_SESSION: u64 = 0x2843;

/// The frame that closes a session and tells the page why.
pub(crate) fn close_session(close: Close) -> Bytes {
    let mut payload = BytesMut::new();
    payload.put_u32(close.code.number());
    payload.put_slice(close.why.as_bytes());
    let (mut capsule, mut frame) = (BytesMut::new(), BytesMut::new());
    put_record(&mut capsule, CLOSE_SESSION, &payload);
    put_record(&mut frame, DATA_FRAME, &capsule);
    frame.freeze()
}
