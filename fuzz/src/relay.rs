//! The browser viewer's network under any bytes of a relay.

use std::collections::BTreeSet;

use arbitrary::{Arbitrary, Unstructured};
use bytes::{BufMut as _, Bytes, BytesMut};
use nestcast_proto::{
    BroadcastName, FrameHeader, FrameRate, Message, PackageHash, StreamHead, Video, Welcome, put_bytes, put_varint,
};
use nestcast_relayed::catalog::{Entry, TRACK_PACKAGING};
use nestcast_relayed::{Track, Version, wire};
use nestcast_web::{Mail, Network, Record, Step};

use crate::bounded;

const NOW: f64 = 1_795_000_000_000.0;
/// Width and height of the pictures.
const SIDES: [u32; 2] = [64, 32];
/// The most actions that one input asks for.
const MOST_STEPS: usize = 1000;

#[derive(Debug, Arbitrary)]
enum Event<'a> {
    /// A stream with a group of a subscription: heads of frames with a base layer of 9 bytes, or any objects.
    Group {
        track: u8,
        number: u8,
        frames: u8,
        object: &'a [u8],
    },
    /// Any bytes of a new stream, or of one of the last.
    Opened(&'a [u8]),
    Bytes {
        which: u8,
        bytes: &'a [u8],
    },
    Fill {
        which: u8,
        count: u16,
    },
    End {
        which: u8,
        is_whole: bool,
    },
    RequestEnd(u8),
    WantsSound(bool),
    Wait(u16),
}

/// Runs the viewer's network with any streams of a relay: it stops only streams that are open, hands frames over in order,
/// and keeps little.
///
/// # Panics
/// If a promise is broken.
pub fn relay(input: &[u8]) {
    let mut input = Unstructured::new(input);
    let Ok(events) = Vec::<Event<'_>>::arbitrary(&mut input) else { return };
    // 64 frames of 256 KiB wait at most, and the session keeps as many.
    bounded::within(64 << 20, "a relayed broadcast", || {
        let mut viewer = Viewer::connected();
        events.into_iter().for_each(|event| viewer.handle(event));
    });
}

struct Viewer {
    network: Network,
    now: f64,
    requests: Vec<(Track, u64)>,
    streams: Vec<u64>,
    open: BTreeSet<u64>,
    shown: Option<u64>,
    has_ended: bool,
}

impl Viewer {
    fn connected() -> Self {
        let mut network = Network::new(NOW, Network::hello(b"", 0, BroadcastName::default()));
        network.handle_relay(Version::Six, "garden".to_owned());
        let mut viewer = Self {
            network,
            now: NOW,
            requests: Vec::new(),
            streams: Vec::new(),
            open: BTreeSet::new(),
            shown: None,
            has_ended: false,
        };
        viewer.drive();
        let [width, height] = SIDES;
        let welcome = Welcome {
            model: [1; 6],
            package: PackageHash([0; 32]),
            width,
            height,
            rate: FrameRate::new(30, 1).expect("a rate"),
            video: Some(Video::new([2; 6])),
        };
        let entry = |track: Track, init_data| Entry {
            name: track.name().to_owned(),
            packaging: TRACK_PACKAGING.to_owned(),
            init_data,
        };
        let entries = [
            entry(Track::Base, Message::Welcome { version: 1, welcome }.encode()),
            entry(Track::More, Bytes::new()),
            entry(Track::Join, Bytes::new()),
        ];
        assert_eq!(viewer.network.handle_catalog(NOW, 40.0, Some((1, &entries))), None);
        viewer.drive();
        viewer.network.handle_ready(NOW);
        viewer.drive();
        viewer
    }

    fn handle(&mut self, event: Event<'_>) {
        match event {
            Event::Group { track, number, frames, object } => {
                let track = Track::ALL[usize::from(track) % Track::ALL.len()];
                let request = self.requests.iter().find(|(read, _)| *read == track).map_or(0, |(_, number)| *number);
                let bytes = group(request, number.into(), frames % 8, object);
                self.open(&bytes);
            }
            Event::Opened(bytes) => self.open(bytes),
            Event::Bytes { which, bytes } => self.bytes(which, bytes),
            Event::Fill { which, count } => self.bytes(which, &vec![7; count.into()]),
            Event::End { which, is_whole } => {
                if let Some(stream) = self.stream(which) {
                    self.open.remove(&stream);
                    self.network.handle_stream_end(self.now, stream, is_whole);
                }
            }
            Event::RequestEnd(number) => self.network.handle_request_end(number.into()),
            Event::WantsSound(wanted) => self.network.handle_sound_wanted(self.now, wanted),
            Event::Wait(millis) => self.now += f64::from(millis),
        }
        self.drive();
    }

    fn open(&mut self, bytes: &[u8]) {
        let stream = self.network.handle_opened();
        self.streams.push(stream);
        self.open.insert(stream);
        self.network.handle_stream_bytes(self.now, stream, Bytes::copy_from_slice(bytes));
    }

    fn stream(&self, which: u8) -> Option<u64> {
        self.streams.iter().rev().nth(which.into()).copied()
    }

    fn bytes(&mut self, which: u8, bytes: &[u8]) {
        if let Some(stream) = self.stream(which) {
            self.network.handle_stream_bytes(self.now, stream, Bytes::copy_from_slice(bytes));
        }
    }

    fn drive(&mut self) {
        for count in 0.. {
            let Some(step) = self.network.poll(self.now) else { break };
            assert!(count < MOST_STEPS, "it goes round in a circle");
            assert!(!self.has_ended, "nothing follows the end: {step:?}");
            match step {
                Step::Stop(stream) => assert!(self.open.remove(&stream), "stream {stream} is not open"),
                Step::Request(number, bytes) => {
                    let (track, _) = wire::subscription(&bytes).flatten().expect("a subscription");
                    self.requests.push((track, number));
                }
                Step::Leave(number) => self.requests.retain(|(_, request)| *request != number),
                Step::Close { .. } | Step::Unusable { .. } => self.has_ended = true,
                Step::Say(_) => panic!("nobody hears a message"),
                _ => {}
            }
        }
        for record in Mail::open(self.network.take_mail()).expect("mail") {
            if let Record::Frame(frame) = record {
                assert!(self.shown.is_none_or(|shown| frame.header.id > shown), "frames are shown once, in order");
                self.shown = Some(frame.header.id);
            }
        }
    }
}

/// Returns the stream of a group.
fn group(request: u64, number: u64, frames: u8, object: &[u8]) -> Bytes {
    let (mut head, mut stream) = (BytesMut::new(), BytesMut::new());
    [request, number, 0].into_iter().for_each(|value| put_varint(&mut head, value));
    stream.put_u8(0);
    put_bytes(&mut stream, &head);
    for id in 0..u64::from(frames) {
        let header = FrameHeader { id: number + id, skipped: 0, captured: 0, full: 3000, base: 9 };
        put_varint(&mut stream, 0);
        put_bytes(&mut stream, &[&StreamHead::Frame(header).encode()[..], &[1; 9]].concat());
    }
    if !object.is_empty() {
        put_varint(&mut stream, 0);
        put_bytes(&mut stream, object);
    }
    stream.freeze()
}
