//! The control stream: bytes as they arrive, to messages.

use bytes::{Buf as _, BytesMut};

use crate::wire::close::Close;
use crate::wire::limits::MAX_MESSAGE;
use crate::wire::message::Message;
use crate::wire::varint::Reader;

/// Puts the control stream's messages together.
#[derive(Debug, Default)]
pub struct Control {
    buffer: BytesMut,
}

impl Control {
    /// Takes bytes of the stream, in order. Poll until nothing comes before the next bytes: what is held is then
    /// less than one message.
    pub fn handle_bytes(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole message.
    ///
    /// # Errors
    /// If the bytes are no message, or one that is too long: then the connection must be closed.
    pub fn poll(&mut self) -> Result<Option<Message>, Close> {
        let mut reader = Reader::new(&self.buffer);
        let (Some(kind), Some(length)) = (reader.varint(), reader.varint()) else { return Ok(None) };
        let length = usize::try_from(length).ok().filter(|length| *length <= MAX_MESSAGE);
        let length = length.ok_or(Close::violation("a control message is too long"))?;
        let Some(body) = reader.take(length) else { return Ok(None) };
        let message = Message::decode(kind, body)?;
        let left = reader.left();
        self.buffer.advance(self.buffer.len() - left);
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proptest::prelude::*;

    use super::*;
    use crate::{
        Bitrate, Clock, Code, DecoderKind, Hello, JoinRequest, MAX_TOKEN, ModelRequest, PackageHash, Video, Welcome,
    };

    fn messages() -> impl Strategy<Value = Message> {
        let hash = any::<[u8; 32]>().prop_map(PackageHash);
        let token = proptest::collection::vec(any::<u8>(), 0..=MAX_TOKEN).prop_map(Bytes::from);
        prop_oneof![
            (token, 0..1_u64 << 40, any::<bool>()).prop_map(|(token, cap, deep)| {
                let decoder = if deep { DecoderKind::Deep } else { DecoderKind::Linear };
                let max_bitrate = (cap > 0).then_some(Bitrate::from_bits(cap));
                Message::Hello(Hello { token, max_bitrate, decoder })
            }),
            (any::<[u8; 6]>(), hash.clone(), [1..10_000_u32, 1..10_000_u32], (1..1000_u32, 1..1002_u32), video())
                .prop_map(|(model, package, [width, height], rate, video)| {
                    Message::Welcome(Welcome { model, package, width, height, rate, video })
                }),
            hash.prop_map(|package| Message::ModelRequest(ModelRequest { package })),
            (0..1_u64 << 62).prop_map(|lost| Message::JoinRequest(JoinRequest { lost })),
            (0..1_u64 << 62).prop_map(|micros| Message::Clock(Clock { micros })),
        ]
    }

    fn video() -> impl Strategy<Value = Option<Video>> {
        let video = |(residual, full_range)| Video { residual, full_range };
        proptest::option::of(any::<([u8; 6], bool)>().prop_map(video))
    }

    proptest! {
        #[test]
        fn messages_round_trip_however_their_bytes_arrive(
            sent in proptest::collection::vec(messages(), 1..5),
            chunk in 1..50_usize,
        ) {
            let bytes: Vec<u8> = sent.iter().flat_map(|message| message.encode().to_vec()).collect();
            let (mut control, mut received) = (Control::default(), Vec::new());
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
        fn a_message_with_one_byte_more_or_less_is_refused(message in messages()) {
            let encoded = message.encode();
            // The length's varint is the second byte on; rebuild the message around a longer and a shorter body.
            let mut reader = Reader::new(&encoded);
            let kind = reader.varint().expect("a type");
            let body = reader.bytes().expect("a body");
            prop_assert!(Message::decode(kind, &body[..body.len() - 1]).is_err());
            prop_assert!(Message::decode(kind, &[body, &[0]].concat()).is_err());
        }
    }

    #[test]
    fn a_model_and_its_package_have_names_of_one_length() {
        let request = |length: u8| [&[3, length + 1, length][..], &vec![7; length.into()]].concat();
        let welcome = |model: u8, package: u8| {
            let version = u8::try_from(crate::wire::limits::VERSION).expect("small");
            let fields =
                [&[version, model][..], &vec![1; model.into()], &[package], &vec![2; package.into()], &[9, 9, 9, 9, 0]]
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
            let [width, height] = sides;
            let package = PackageHash([0; 32]);
            let welcome = Welcome { model: [0; 6], package, width, height, rate: (30, 1), video: None };
            let mut control = Control::default();
            control.handle_bytes(&Message::Welcome(welcome).encode());
            let taken = control.poll().map(|message| message.is_some()).map_err(|close| close.code);
            assert_eq!(taken, if fits { Ok(true) } else { Err(Code::Violation) }, "{sides:?}");
        }
    }

    #[test]
    fn other_versions_are_named_and_long_messages_refused_before_they_are_held() {
        for version in [0, 1, 2, 8, 10] {
            let mut control = Control::default();
            control.handle_bytes(&[1, 4, version, 0, 0, 0]);
            assert_eq!(control.poll().expect_err("another version").code, Code::Version);
        }
        let mut control = Control::default();
        control.handle_bytes(&[1, 0x80, 0, 0x10, 0]);
        assert_eq!(control.poll().expect_err("too long").code, Code::Violation);
    }
}
