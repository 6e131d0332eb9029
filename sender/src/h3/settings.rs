//! Settings of an HTTP/3 connection (RFC 9114, section 7.2.4).

use bytes::{Bytes, BytesMut};
use quinn_proto::VarInt;
use quinn_proto::coding::Codec as _;

use crate::h3::error::H3Error;
use crate::h3::records::{put_record, put_varint};

/// The kind of the frame that has the settings.
pub(crate) const SETTINGS_FRAME: u64 = 4;
/// The kind of the stream that begins with the settings.
pub(crate) const CONTROL_STREAM: u64 = 0;
/// The settings that offer one WebTransport session: `ENABLE_CONNECT_PROTOCOL` (RFC 9220), `H3_DATAGRAM` (RFC 9297),
/// `WT_MAX_SESSIONS` of draft-ietf-webtrans-http3-13 and of draft 7, and `ENABLE_WEBTRANSPORT` of draft 2. Chromium and
/// Firefox check these. The dynamic table of QPACK stays off, because its default is 0 bytes.
const OUR_SETTINGS: [(u64, u64); 5] = [(0x08, 1), (0x33, 1), (0x14E9_CD29, 1), (0xC671_706A, 1), (0x2B60_3742, 1)];
/// Settings of HTTP/2, which a peer must not send (RFC 9114, section 7.2.4.1).
const OF_HTTP_2: [u64; 5] = [0, 2, 3, 4, 5];

/// Returns the beginning of this end's control stream.
pub(crate) fn control_stream() -> Bytes {
    let mut settings = BytesMut::new();
    for (id, value) in OUR_SETTINGS {
        put_varint(&mut settings, id);
        put_varint(&mut settings, value);
    }
    let mut out = BytesMut::new();
    put_varint(&mut out, CONTROL_STREAM);
    put_record(&mut out, SETTINGS_FRAME, &settings);
    out.freeze()
}

/// Fails if the payload of a peer's settings is malformed or forbidden. This end uses none of them: it sends no dynamic
/// table, no datagrams, and fields of a few bytes.
pub(crate) fn check(payload: &[u8]) -> Result<(), H3Error> {
    let mut rest = payload;
    let mut ids = Vec::new();
    while !rest.is_empty() {
        let (Ok(id), Ok(_)) = (VarInt::decode(&mut rest), VarInt::decode(&mut rest)) else {
            return Err(H3Error::malformed_frame("a setting is cut off"));
        };
        ids.push(id.into_inner());
    }
    ids.sort_unstable();
    let is_twice = ids.windows(2).any(|pair| pair[0] == pair[1]);
    if is_twice || ids.iter().any(|id| OF_HTTP_2.contains(id)) {
        return Err(H3Error::settings("a setting is there twice, or of HTTP/2"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_once_each_and_whole() {
        let ours = control_stream();
        assert_eq!(ours[..2], [0, 4]);
        assert_eq!(check(&ours[3..]), Ok(()));
        assert_eq!(check(&[6, 1, 6, 1]).expect_err("twice").code, 0x109);
        assert_eq!(check(&[4, 1]).expect_err("of HTTP/2").code, 0x109);
        assert_eq!(check(&[6]).expect_err("cut off").code, 0x106);
    }
}
