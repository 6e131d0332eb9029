//! The control stream: turns bytes into messages, as they arrive.

use bytes::{Buf as _, BytesMut};

use crate::wire::close::Close;
use crate::wire::limits::MAX_MESSAGE;
use crate::wire::message::Message;
use crate::wire::varint::Reader;

/// Reassembles the control stream's messages, and skips those of types that this build does not know.
#[derive(Debug, Default)]
pub struct Control {
    buffer: BytesMut,
    /// Whether the first message came. It states versions, and its type is known in all of them.
    begun: bool,
}

impl Control {
    /// Adds bytes of the stream, in order. Poll until `None` before the next bytes: the buffer then holds less than one
    /// message.
    pub fn handle_bytes(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the number of buffered bytes: of incomplete messages, or of messages not yet polled.
    pub(crate) fn held_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Returns the next complete message of a known type.
    ///
    /// # Errors
    /// If the bytes are no message, one that is too long, or a first one of an unknown type: close the connection then.
    pub fn poll(&mut self) -> Result<Option<Message>, Close> {
        while let Some((message, length)) = self.held()? {
            self.buffer.advance(length);
            if message.is_some() {
                self.begun = true;
                return Ok(message);
            }
            if !self.begun {
                return Err(Close::violation("the first message is of an unknown type"));
            }
        }
        Ok(None)
    }

    /// Returns the first buffered message, if its type is known, and its length in bytes; `None` while it is
    /// incomplete.
    fn held(&self) -> Result<Option<(Option<Message>, usize)>, Close> {
        let mut reader = Reader::new(&self.buffer);
        let (Some(kind), Some(length)) = (reader.varint(), reader.varint()) else { return Ok(None) };
        let length = usize::try_from(length).ok().filter(|length| *length <= MAX_MESSAGE);
        let length = length.ok_or(Close::violation("a control message is too long"))?;
        let Some(body) = reader.take(length) else { return Ok(None) };
        Ok(Some((Message::decode(kind, body)?, self.buffer.len() - reader.left())))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use proptest::prelude::*;

    use super::*;
    use crate::{
        Bitrate, BroadcastName, Clock, Code, DecoderKind, FrameRate, Hello, MAX_TOKEN, ModelRequest, PackageHash,
        RandomAccessRequest, Sound, SoundRequest, Start, VersionRange, Video, Welcome,
    };

    /// Encodes a message of any type and body, as later versions may define.
    fn raw(kind: u8, body: &[u8]) -> Vec<u8> {
        let [high, low] = u16::try_from(body.len()).expect("short").to_be_bytes();
        [&[kind, high | 0x40, low], body].concat()
    }

    /// Returns the messages in a stream, or the code with which it is refused.
    fn read(bytes: &[u8]) -> Result<Vec<Message>, Code> {
        let mut control = Control::default();
        control.handle_bytes(bytes);
        std::iter::from_fn(|| control.poll().map_err(|close| close.code).transpose()).collect()
    }

    fn welcome(sides: [u32; 2], video: Option<Video>) -> Message {
        let ([width, height], package) = (sides, PackageHash([0; 32]));
        let welcome =
            Welcome { model: [0; 6], package, width, height, rate: FrameRate::new(30, 1).expect("a rate"), video };
        Message::Welcome { version: 1, welcome }
    }

    fn body(message: &Message) -> Vec<u8> {
        let encoded = message.encode();
        let mut reader = Reader::new(&encoded);
        reader.varint().expect("a type");
        reader.bytes().expect("a body").to_vec()
    }

    fn messages() -> impl Strategy<Value = Message> {
        let hash = any::<[u8; 32]>().prop_map(PackageHash);
        let token = proptest::collection::vec(any::<u8>(), 0..=MAX_TOKEN).prop_map(Bytes::from);
        prop_oneof![
            (token, 0..1_u64 << 40, 0..4_usize, 1..9_u64).prop_map(|(token, cap, decoder, highest)| {
                let decoder = [DecoderKind::Linear, DecoderKind::Deep].into_iter().nth(decoder);
                let max_bitrate = (cap > 0).then_some(Bitrate::from_bits(cap));
                let versions = VersionRange::new(1, highest).expect("a range");
                Message::Hello(Hello {
                    versions,
                    token,
                    max_bitrate,
                    decoder: decoder.unwrap_or(DecoderKind::Other(cap + 2)),
                    broadcast: if cap % 2 == 0 { BroadcastName::default() } else { "cam1".parse().expect("a name") },
                    start: start(cap),
                })
            }),
            (any::<[u8; 6]>(), hash.clone(), [1..10_000_u32, 1..10_000_u32], (1..1000_u32, 1..1002_u32), video())
                .prop_map(|(model, package, [width, height], (frames, seconds), video)| {
                    let rate = FrameRate::new(frames, seconds).expect("at most 1000 a second");
                    let welcome = Welcome { model, package, width, height, rate, video };
                    Message::Welcome { version: 1, welcome }
                }),
            hash.prop_map(|package| Message::ModelRequest(ModelRequest { package })),
            (0..1_u64 << 62).prop_map(|lost| Message::RandomAccessRequest(RandomAccessRequest { lost })),
            (0..1_u64 << 62).prop_map(|micros| Message::Clock(Clock { micros })),
            (1..3_usize).prop_map(|channels| Message::Sound(Sound::with_channels(channels).expect("one or two"))),
            any::<bool>().prop_map(|wanted| Message::SoundRequest(SoundRequest { wanted })),
            (0..1_u64 << 40).prop_map(|time| Message::Start(start(time))),
        ]
    }

    /// Returns no start, or one of this time.
    fn start(time: u64) -> Option<Start> {
        let micros = Duration::from_micros(time);
        [None, Some(Start::AfterBeginning(micros)), Some(Start::BeforeNow(micros))]
            [usize::try_from(time % 3).expect("small")]
    }

    fn video() -> impl Strategy<Value = Option<Video>> {
        let video = |(residual, signal, square, aspect, bits): (_, u8, _, _, _)| {
            // Bit 7 and one siting are reserved; bit 6 says that pixels are not square.
            let signal = if signal & 0xC == 0xC { signal & 0x33 } else { signal & 0x3F };
            if square {
                Video { signal, bits, ..Video::new(residual) }
            } else {
                Video { residual, signal: signal | 0x40, aspect, bits }
            }
        };
        let sides = [1..=u16::MAX, 1..=u16::MAX];
        proptest::option::of((any::<[u8; 6]>(), any::<u8>(), any::<bool>(), sides, 8..=16_u8).prop_map(video))
    }

    proptest! {
        #[test]
        fn messages_round_trip_however_their_bytes_arrive(
            sent in proptest::collection::vec(messages(), 1..5),
            chunk in 1..50_usize,
        ) {
            let bytes: Vec<u8> = sent.iter().flat_map(|message| message.encode().to_vec()).collect();
            let mut control = Control::default();
            let mut received = Vec::new();
            for chunk in bytes.chunks(chunk) {
                control.handle_bytes(chunk);
                while let Some(message) = control.poll().expect("valid messages") {
                    received.push(message);
                }
            }
            prop_assert_eq!(received, sent);
        }

        #[test]
        fn any_bytes_are_messages_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut control = Control::default();
            control.handle_bytes(&bytes);
            while let Ok(Some(message)) = control.poll() {
                let mut again = Control::default();
                again.handle_bytes(&message.encode());
                prop_assert_eq!(again.poll(), Ok(Some(message)));
            }
        }

        #[test]
        fn a_message_with_one_byte_less_is_refused_and_more_than_its_fields_is_skipped(
            message in messages(), more in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let kind = message.encode()[0];
            let body = body(&message);
            // The bits of samples are a field that need not be there.
            let without_bits = match &message {
                Message::Welcome { version, welcome } if welcome.video.is_some_and(|video| video.bits > 8) => {
                    let video = welcome.video.map(|video| Video { bits: 8, ..video });
                    Ok(vec![Message::Welcome { version: *version, welcome: Welcome { video, ..*welcome } }])
                }
                _ => Err(Code::Violation),
            };
            prop_assert_eq!(read(&raw(kind, &body[..body.len() - 1])), without_bits);
            // A hello and a welcome may have one field more.
            let none = match &message {
                Message::Hello(Hello { start: None, .. }) => &[0][..],
                Message::Welcome { welcome: Welcome { video: Some(Video { bits: 8, .. }), .. }, .. } => &[8],
                _ => &[],
            };
            prop_assert_eq!(read(&raw(kind, &[&body[..], none, &more].concat())), Ok(vec![message]));
        }

        #[test]
        fn messages_of_unknown_types_are_skipped_wherever_they_come_after_the_first(
            sent in proptest::collection::vec(messages(), 1..5),
            kinds in proptest::collection::vec(9..64_u8, 5),
            unknown in proptest::collection::vec(any::<u8>(), 0..=MAX_MESSAGE),
        ) {
            let both = |(message, kind): (&Message, &u8)| [&message.encode()[..], &raw(*kind, &unknown)].concat();
            let bytes: Vec<u8> = sent.iter().zip(&kinds).flat_map(both).collect();
            prop_assert_eq!(read(&bytes), Ok(sent));
            prop_assert_eq!(read(&raw(kinds[0], &unknown)), Err(Code::Violation), "it is the first");
        }
    }

    #[test]
    fn unknown_messages_without_end_are_held_in_little_memory() {
        let mut control = Control::default();
        control.handle_bytes(&welcome([1, 1], None).encode());
        assert!(control.poll().is_ok_and(|message| message.is_some()));
        let unknown = [raw(63, &[7; MAX_MESSAGE]), raw(9, &[])].concat().repeat(16);
        for _ in 0..1000 {
            control.handle_bytes(&unknown);
            assert_eq!(control.poll(), Ok(None));
            assert!(control.buffer.is_empty() && control.buffer.capacity() <= 4 * unknown.len());
        }
    }

    #[test]
    fn what_a_receiver_cannot_show_is_unsupported_and_no_violation() {
        let video = Video::new([1; 6]);
        let pictures = body(&welcome([1, 1], None));
        let video = body(&welcome([1, 1], Some(video)));
        for (mut body, unknown) in [(pictures, 2), (video, 0xC)] {
            *body.last_mut().expect("a field") = unknown;
            assert_eq!(read(&raw(2, &body)), Err(Code::Unsupported));
        }
    }

    #[test]
    fn a_model_and_its_package_have_names_of_one_length() {
        let request = |length: u8| [&[3, length + 1, length][..], &vec![7; length.into()]].concat();
        let welcome = |model: u8, package: u8| {
            let fields =
                [&[1, model][..], &vec![1; model.into()], &[package], &vec![2; package.into()], &[9, 9, 9, 9, 0]]
                    .concat();
            [&[2, u8::try_from(fields.len()).expect("short")][..], &fields].concat()
        };
        let taken = |bytes: Vec<u8>| {
            let mut control = Control::default();
            control.handle_bytes(&bytes);
            control.poll().map(|message| message.is_some()).map_err(|close| close.code)
        };
        assert_eq!([taken(request(32)), taken(welcome(6, 32))], [Ok(true), Ok(true)]);
        for bytes in [request(31), request(33), request(6), welcome(5, 32), welcome(6, 6), welcome(6, 0)] {
            assert_eq!(taken(bytes), Err(Code::Violation));
        }
    }

    #[test]
    fn pictures_that_no_stream_can_have_are_refused() {
        for (sides, fits) in
            [([16_384, 1], true), ([1, 16_384], true), ([16_385, 1], false), ([1, 16_385], false), ([0, 9], false)]
        {
            let taken = read(&welcome(sides, None).encode()).map(|messages| messages.len() == 1);
            assert_eq!(taken, if fits { Ok(true) } else { Err(Code::Violation) }, "{sides:?}");
        }
    }

    #[test]
    fn other_versions_are_named_and_long_messages_refused_before_they_are_held() {
        for (lowest, highest, code) in
            [(0, 0, Code::Version), (2, 3, Code::Version), (2, 63, Code::Version), (2, 1, Code::Violation)]
        {
            assert_eq!(read(&raw(1, &[lowest, highest])), Err(code), "{lowest} to {highest}");
        }
        for version in [0, 2, 63] {
            assert_eq!(read(&raw(2, &[version])), Err(Code::Violation), "a sender chose version {version}");
        }
        for kind in [1, 63] {
            let first = welcome([1, 1], None).encode();
            assert_eq!(read(&[&first[..], &[kind, 0x80, 0, 0x10, 0]].concat()), Err(Code::Violation), "too long");
        }
    }
}
