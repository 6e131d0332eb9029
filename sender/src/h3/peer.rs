//! Checks what a peer sends on its HTTP/3 streams, and in which order.

use bytes::BytesMut;
use quinn_proto::VarInt;
use quinn_proto::coding::Codec as _;

use crate::h3::capsule::{CLOSE_SESSION, DATA_FRAME};
use crate::h3::error::H3Error;
use crate::h3::records::{Record, Records};
use crate::h3::request::{HEADERS_FRAME, Request};
use crate::h3::settings::{self, CONTROL_STREAM, SETTINGS_FRAME};

/// The kinds of unidirectional streams (RFC 9114, section 6.2; RFC 9204, section 4.2).
const PUSH_STREAM: u64 = 1;
const ENCODER_STREAM: u64 = 2;
const DECODER_STREAM: u64 = 3;
/// The kinds of frames that a client must not send: PUSH_PROMISE, and those that only HTTP/2 has.
const FORBIDDEN_FRAMES: [u64; 5] = [2, 5, 6, 8, 9];
/// The kinds of frames that only the control stream may have: CANCEL_PUSH, SETTINGS, GOAWAY and MAX_PUSH_ID.
const OF_CONTROL: [u64; 4] = [3, SETTINGS_FRAME, 7, 13];

/// The streams that a peer has opened, of the kinds that it may open once: control, encoder and decoder.
#[derive(Debug, Default)]
pub(crate) struct Opened(Vec<u64>);

impl Opened {
    fn open(&mut self, kind: u64) -> Result<(), H3Error> {
        if self.0.contains(&kind) {
            return Err(H3Error::stream_creation("a stream is there twice"));
        }
        self.0.push(kind);
        Ok(())
    }
}

/// A unidirectional stream of the peer.
#[derive(Debug)]
pub(crate) enum PeerStream {
    /// The peer has not sent the kind yet.
    New(BytesMut),
    Control {
        frames: Records,
        has_settings: bool,
    },
    /// Instructions for a dynamic table. Nothing in them matters, because the table has 0 bytes.
    Qpack,
    /// A stream or frame of a kind that this end does not know.
    Other,
}

impl Default for PeerStream {
    fn default() -> Self {
        Self::New(BytesMut::new())
    }
}

impl PeerStream {
    /// Returns whether this end ignores the rest of the stream.
    pub(crate) const fn is_unwanted(&self) -> bool {
        matches!(self, Self::Other)
    }

    /// Reads the next bytes.
    pub(crate) fn handle_bytes(&mut self, opened: &mut Opened, bytes: &[u8]) -> Result<(), H3Error> {
        match self {
            Self::New(head) => {
                head.extend_from_slice(bytes);
                let mut rest = &head[..];
                let Ok(kind) = VarInt::decode(&mut rest) else { return Ok(()) };
                let rest = rest.to_vec();
                *self = Self::of_kind(kind.into_inner(), opened)?;
                self.handle_bytes(opened, &rest)
            }
            Self::Control { frames, has_settings } => {
                frames.handle_bytes(bytes);
                while let Some(record) = frames.poll()? {
                    handle_control(&record, has_settings)?;
                }
                Ok(())
            }
            Self::Qpack | Self::Other => Ok(()),
        }
    }

    /// Handles the end of the stream, or its reset.
    pub(crate) fn handle_end(&self) -> Result<(), H3Error> {
        match self {
            Self::Control { .. } | Self::Qpack => Err(H3Error::closed_critical_stream("a stream ended that must not")),
            Self::New(_) | Self::Other => Ok(()),
        }
    }

    fn of_kind(kind: u64, opened: &mut Opened) -> Result<Self, H3Error> {
        match kind {
            PUSH_STREAM => Err(H3Error::stream_creation("a client pushes nothing")),
            CONTROL_STREAM => {
                opened.open(kind)?;
                Ok(Self::Control { frames: Records::new(&[SETTINGS_FRAME]), has_settings: false })
            }
            ENCODER_STREAM | DECODER_STREAM => {
                opened.open(kind)?;
                Ok(Self::Qpack)
            }
            _ => Ok(Self::Other),
        }
    }
}

fn handle_control(record: &Record, has_settings: &mut bool) -> Result<(), H3Error> {
    match record {
        Record::Whole { .. } if *has_settings => Err(H3Error::unexpected_frame("settings are there twice")),
        Record::Whole { payload, .. } => {
            *has_settings = true;
            settings::check(payload)
        }
        Record::Part { .. } if !*has_settings => Err(H3Error::missing_settings("the first frame has no settings")),
        Record::Part { kind, .. } if [DATA_FRAME, HEADERS_FRAME].contains(kind) || FORBIDDEN_FRAMES.contains(kind) => {
            Err(H3Error::unexpected_frame("a frame is none of a control stream"))
        }
        Record::Part { .. } => Ok(()),
    }
}

/// What the peer said on the stream of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Request(Request),
    /// The page closed the session.
    Close,
}

/// The stream of a peer's request.
#[derive(Debug)]
pub(crate) struct RequestStream {
    frames: Records,
    capsules: Records,
    has_request: bool,
}

impl Default for RequestStream {
    fn default() -> Self {
        Self { frames: Records::new(&[HEADERS_FRAME]), capsules: Records::new(&[CLOSE_SESSION]), has_request: false }
    }
}

impl RequestStream {
    /// Adds the next bytes.
    pub(crate) fn handle_bytes(&mut self, bytes: &[u8]) {
        self.frames.handle_bytes(bytes);
    }

    /// Returns what the bytes so far say; `None` until more bytes arrive.
    pub(crate) fn poll(&mut self) -> Result<Option<Said>, H3Error> {
        loop {
            if let Some(Record::Whole { .. }) = self.poll_capsule()? {
                return Ok(Some(Said::Close));
            }
            let Some(record) = self.frames.poll()? else { return Ok(None) };
            match record {
                Record::Whole { .. } if self.has_request => {
                    return Err(H3Error::unexpected_frame("a stream has two requests"));
                }
                Record::Whole { payload, .. } => {
                    self.has_request = true;
                    return Ok(Some(Said::Request(Request::parse(&payload)?)));
                }
                Record::Part { kind: DATA_FRAME, payload } if self.has_request => self.capsules.handle_bytes(&payload),
                Record::Part { kind, .. }
                    if kind == DATA_FRAME || OF_CONTROL.contains(&kind) || FORBIDDEN_FRAMES.contains(&kind) =>
                {
                    return Err(H3Error::unexpected_frame("a frame is none of a request"));
                }
                Record::Part { .. } => {}
            }
        }
    }

    /// Handles the end of the stream.
    pub(crate) fn handle_end(&self) -> Result<Said, H3Error> {
        if self.has_request && self.frames.is_between() {
            return Ok(Said::Close);
        }
        Err(H3Error::malformed_message("a request ended before its end"))
    }

    /// Returns the next capsule that matters.
    fn poll_capsule(&mut self) -> Result<Option<Record>, H3Error> {
        while let Some(record) = self.capsules.poll()? {
            if matches!(record, Record::Whole { .. }) {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use nestcast_proto::{Close, Code};

    use super::*;
    use crate::h3::capsule::close_session;
    use crate::h3::records::put_record;
    use crate::h3::request::answer;

    fn frame(kind: u64, payload: &[u8]) -> BytesMut {
        let mut out = BytesMut::new();
        put_record(&mut out, kind, payload);
        out
    }

    fn stream(kind: u8, frames: &[BytesMut]) -> Vec<u8> {
        std::iter::once(kind).chain(frames.iter().flatten().copied()).collect()
    }

    /// Returns the code with which this end refuses the streams, one after the other.
    fn refused(streams: &[Vec<u8>]) -> Option<u32> {
        let mut opened = Opened::default();
        let mut read = |bytes: &Vec<u8>| {
            let mut stream = PeerStream::default();
            // Byte by byte: a stream may arrive in pieces of any length.
            bytes.iter().try_for_each(|byte| stream.handle_bytes(&mut opened, &[*byte]))
        };
        streams.iter().find_map(|bytes| read(bytes).err()).map(|error| error.code)
    }

    fn request(fields: &[(&str, &str)]) -> BytesMut {
        let mut payload = BytesMut::new();
        let fields = fields.iter().map(|(name, value)| qpack::HeaderField::new(*name, *value));
        qpack::encode_stateless(&mut payload, fields).expect("fields");
        frame(1, &payload)
    }

    fn said(bytes: &[u8]) -> Result<Option<Said>, H3Error> {
        let mut stream = RequestStream::default();
        for byte in bytes {
            stream.handle_bytes(&[*byte]);
            if let Some(said) = stream.poll()? {
                return Ok(Some(said));
            }
        }
        Ok(None)
    }

    const CONNECT: [(&str, &str); 6] = [
        (":method", "CONNECT"),
        (":protocol", "webtransport"),
        (":scheme", "https"),
        (":authority", "127.0.0.1:4433"),
        (":path", "/"),
        ("origin", "http://localhost:8080"),
    ];

    #[test]
    fn streams_out_of_order_are_refused() {
        let settings = || frame(4, &[0x33, 1]);
        assert_eq!(refused(&[stream(0, &[settings(), frame(13, &[1]), frame(0x21, &[0; 99])]), stream(2, &[])]), None);
        let cases: [(&[Vec<u8>], u32); 8] = [
            (&[stream(0, &[settings(), settings()])], 0x105),
            (&[stream(0, &[frame(13, &[1])])], 0x10A),
            (&[stream(0, &[settings(), frame(0, &[1])])], 0x105),
            (&[stream(0, &[settings(), frame(9, &[1])])], 0x105),
            (&[stream(0, &[settings()]), stream(0, &[settings()])], 0x103),
            (&[stream(2, &[]), stream(2, &[])], 0x103),
            (&[stream(1, &[])], 0x103),
            (&[stream(0, &[frame(4, &[6, 0, 6, 0])])], 0x109),
        ];
        for (streams, code) in cases {
            assert_eq!(refused(streams), Some(code), "{streams:?}");
        }
        // Too long settings are refused by their length.
        assert_eq!(refused(&[vec![0, 4, 0x80, 0xFF, 0xFF, 0xFF]]), Some(0x107));
    }

    #[test]
    fn a_stream_that_must_stay_does_not_end() {
        let mut stream = PeerStream::default();
        assert_eq!(stream.handle_end(), Ok(()));
        stream.handle_bytes(&mut Opened::default(), &[3]).expect("a stream");
        assert_eq!(stream.handle_end().expect_err("it ended").code, 0x104);
    }

    #[test]
    fn a_request_is_answered_by_what_it_asks_for() {
        let status = |change: (&'static str, &'static str), origins: &[&str]| {
            let fields = CONNECT.map(|field| if field.0 == change.0 { change } else { field });
            let origins: Vec<String> = origins.iter().map(|origin| (*origin).to_owned()).collect();
            match said(&request(&fields)) {
                Ok(Some(Said::Request(request))) => request.status(&origins),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(status(("", ""), &[]), 200);
        assert_eq!(status((":protocol", "webtransport-h3"), &[]), 200);
        assert_eq!(status((":method", "GET"), &[]), 405);
        assert_eq!(status((":protocol", "websocket"), &[]), 501);
        assert_eq!(status((":scheme", "http"), &[]), 501);
        assert_eq!(status((":path", "/admin"), &[]), 404);
        assert_eq!(status(("", ""), &["http://localhost:8080"]), 200);
        assert_eq!(status(("origin", "https://other.example"), &["http://localhost:8080"]), 403);
        assert_eq!(status(("origin", ""), &["http://localhost:8080"]), 403);
    }

    #[test]
    fn frames_out_of_order_are_refused_on_a_requests_stream() {
        let code = |bytes: &[u8]| said(bytes).expect_err("refused").code;
        assert_eq!(code(&frame(0, b"data")), 0x105);
        assert_eq!(code(&frame(4, &[])), 0x105);
        assert_eq!(code(&frame(1, &[0, 0])), 0x10E, "no field");
        assert_eq!(code(&frame(1, &[0, 0, 0x80])), 0x200, "a field of the dynamic table");
        assert_eq!(code(&request(&[CONNECT, CONNECT].concat())), 0x10E, "each twice");
        let long = "a".repeat(8000);
        let many: Vec<_> = [&CONNECT[..], &[("x", &*long); 3]].concat();
        assert_eq!(code(&request(&many)), 0x107);
        let mut stream = RequestStream::default();
        stream.handle_bytes(&[&request(&CONNECT)[..], &request(&CONNECT)].concat());
        assert!(matches!(stream.poll(), Ok(Some(Said::Request(_)))));
        assert_eq!(stream.poll().expect_err("a second request").code, 0x105);
    }

    #[test]
    fn a_page_closes_by_a_capsule_or_the_end() {
        let mut stream = RequestStream::default();
        assert!(stream.handle_end().is_err(), "there was no request");
        stream.handle_bytes(&request(&CONNECT));
        assert!(matches!(stream.poll(), Ok(Some(Said::Request(_)))));
        assert_eq!(stream.poll(), Ok(None));
        assert_eq!(stream.handle_end(), Ok(Said::Close));
        stream.handle_bytes(&frame(0, &frame(0x78AE, b"drain")));
        assert_eq!(stream.poll(), Ok(None));
        stream.handle_bytes(&close_session(Close { code: Code::Done, why: "enough" }));
        assert_eq!(stream.poll(), Ok(Some(Said::Close)));
    }

    #[test]
    fn no_bytes_make_a_reader_panic() {
        let mut state = 1_u64;
        for _ in 0..20_000 {
            let mut random = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            };
            let length = random() % 64;
            let payload: Vec<u8> = (0..length).map(|_| random()).collect();
            let _ = said(&frame(1, &payload));
            let _ = refused(&[payload]);
        }
        assert!(answer(200).len() < 16);
    }
}
