//! The request that begins a WebTransport session (RFC 9220), and its answer.

use bytes::{Bytes, BytesMut};

use crate::h3::error::H3Error;
use crate::h3::records::put_record;

/// The kind of the frame that has the fields of a request or an answer.
pub(crate) const HEADERS_FRAME: u64 = 1;
/// The path that a page must request.
pub(crate) const SESSION_PATH: &str = "/";
/// The most bytes of a request's fields. Each field counts 32 bytes more (RFC 9114, section 4.2.2).
const MAX_FIELD_BYTES: u64 = 16 * 1024;
/// The names of WebTransport: in drafts up to 13, and from draft 14 on.
const WEBTRANSPORT_NAMES: [&[u8]; 2] = [b"webtransport", b"webtransport-h3"];

/// What a request asks for, as far as it matters here.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    method: Option<Vec<u8>>,
    protocol: Option<Vec<u8>>,
    scheme: Option<Vec<u8>>,
    authority: Option<Vec<u8>>,
    path: Option<Vec<u8>>,
    /// The origin of the page; browsers always send it.
    origin: Option<Vec<u8>>,
}

impl Request {
    /// Reads the fields of a request.
    pub(crate) fn parse(mut payload: &[u8]) -> Result<Self, H3Error> {
        let decoded = qpack::decode_stateless(&mut payload, MAX_FIELD_BYTES).map_err(|error| match error {
            qpack::DecoderError::HeaderTooLong(_) => H3Error::excessive_load("a request has too many fields"),
            _ => H3Error::decompression_failed("the fields of a request cannot be read"),
        })?;
        let mut request = Self::default();
        for field in decoded.fields {
            let place = match &field.name[..] {
                b":method" => &mut request.method,
                b":protocol" => &mut request.protocol,
                b":scheme" => &mut request.scheme,
                b":authority" => &mut request.authority,
                b":path" => &mut request.path,
                b"origin" => &mut request.origin,
                _ => continue,
            };
            if place.replace(field.value.to_vec()).is_some() {
                return Err(H3Error::malformed_message("a field of a request is there twice"));
            }
        }
        match &request {
            Self { method: Some(_), scheme: Some(_), path: Some(_), .. } => Ok(request),
            _ => Err(H3Error::malformed_message("a request lacks a field")),
        }
    }

    /// Returns the status of the answer: 200 if a session begins. If `origins` is empty, pages of any origin may ask.
    pub(crate) fn status(&self, origins: &[String]) -> u16 {
        let is = |field: &Option<Vec<u8>>, value: &[u8]| field.as_deref() == Some(value);
        if !is(&self.method, b"CONNECT") {
            return 405;
        }
        if !WEBTRANSPORT_NAMES.into_iter().any(|name| is(&self.protocol, name)) || !is(&self.scheme, b"https") {
            return 501;
        }
        if !is(&self.path, SESSION_PATH.as_bytes()) {
            return 404;
        }
        if !origins.is_empty() && !origins.iter().any(|origin| is(&self.origin, origin.as_bytes())) {
            return 403;
        }
        200
    }
}

/// Returns the frame that answers a request.
pub(crate) fn answer(status: u16) -> Bytes {
    let mut fields = BytesMut::new();
    // Encoding a short name with a short value cannot fail.
    let _ = qpack::encode_stateless(&mut fields, [qpack::HeaderField::new(":status", status.to_string())]);
    let mut frame = BytesMut::new();
    put_record(&mut frame, HEADERS_FRAME, &fields);
    frame.freeze()
}
