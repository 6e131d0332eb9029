//! The browser viewer's network under any bytes of a sender.

use std::collections::BTreeSet;

use arbitrary::{Arbitrary, Unstructured};
use bytes::Bytes;
use nestcast_proto::{
    BroadcastName, Clock, FrameHeader, FrameRate, LateHeader, Message, PackageHash, Sound, SoundHeader, StreamHead,
    Video, Welcome,
};
use nestcast_web::{Mail, Network, Record, Step};

use crate::bounded;

const NOW: f64 = 1_795_000_000_000.0;
/// Width and height of the pictures.
const SIDES: [u32; 2] = [64, 32];
/// The most actions that one input asks for.
const MOST_STEPS: usize = 1000;
/// The session keeps 32 frames of 74 kB at most, the mail as many, and streams that wait for their heads.
const MOST_HELD: usize = 8 << 20;

#[derive(Debug, Arbitrary)]
enum Event<'a> {
    Control(&'a [u8]),
    Sound(bool),
    /// A stream with a frame that has a base layer of so many bytes.
    Frame {
        id: u8,
        full: u16,
        base: u8,
        bytes: &'a [u8],
    },
    Late {
        id: u8,
        offset: u16,
        full: u16,
        bytes: &'a [u8],
    },
    Packet {
        number: u8,
        bytes: &'a [u8],
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
    Undecoded(u8),
    WantsSound(bool),
    /// The screen is busy from now on, or no longer.
    Busy(bool),
    Wait(u16),
    /// The connection ends, and the page makes another.
    Again,
}

/// Runs the viewer's network with any streams of a sender: it stops only streams that are open, nothing follows a close,
/// frames are handed over once and in order, more of a picture follows that picture, and little is kept.
///
/// # Panics
/// If a promise is broken.
pub fn viewer(input: &[u8]) {
    let mut input = Unstructured::new(input);
    let Ok((is_video, events)) = <(bool, Vec<Event<'_>>)>::arbitrary(&mut input) else { return };
    bounded::within(MOST_HELD, "a broadcast in the viewer", || {
        let mut viewer = Viewer::connected(is_video);
        events.into_iter().for_each(|event| viewer.handle(event));
    });
}

struct Viewer {
    network: Network,
    is_video: bool,
    now: f64,
    streams: Vec<u64>,
    open: BTreeSet<u64>,
    shown: Option<u64>,
    is_busy: bool,
    has_ended: bool,
}

impl Viewer {
    fn connected(is_video: bool) -> Self {
        let mut viewer = Self {
            network: Network::new(NOW, Network::hello(b"", 0, BroadcastName::default())),
            is_video,
            now: NOW,
            streams: Vec::new(),
            open: BTreeSet::new(),
            shown: None,
            is_busy: false,
            has_ended: false,
        };
        viewer.welcome();
        viewer
    }

    /// Lets the sender say who it is, and the screen that it can show that.
    fn welcome(&mut self) {
        self.drive();
        let [width, height] = SIDES;
        let welcome = Welcome {
            model: [1; 6],
            package: PackageHash([0; 32]),
            width,
            height,
            rate: FrameRate::new(30, 1).expect("a rate"),
            video: self.is_video.then_some(Video::new([2; 6])),
        };
        self.network.handle_control_bytes(&Message::Welcome { version: 1, welcome }.encode());
        self.network.handle_control_bytes(&Message::Clock(Clock { micros: 1_795_000_000_000_000 }).encode());
        self.drive();
        self.network.handle_ready(self.now);
        self.drive();
    }

    fn handle(&mut self, event: Event<'_>) {
        match event {
            Event::Control(bytes) => self.network.handle_control_bytes(bytes),
            Event::Sound(is_stereo) => {
                let sound = if is_stereo { Sound::Stereo } else { Sound::Mono };
                self.network.handle_control_bytes(&Message::Sound(sound).encode());
            }
            Event::Frame { id, full, base, bytes } => {
                let header =
                    FrameHeader { id: id.into(), skipped: 0, captured: 0, full: full.into(), base: base.into() };
                self.open(&StreamHead::Frame(header), bytes);
            }
            Event::Late { id, offset, full, bytes } => {
                let header = LateHeader { id: id.into(), offset: offset.into(), full: full.into() };
                self.open(&StreamHead::Late(header), bytes);
            }
            Event::Packet { number, bytes } => {
                let header = SoundHeader { number: number.into(), captured: 0, length: bytes.len() as u64 };
                self.open(&StreamHead::Sound(header), bytes);
            }
            Event::Opened(bytes) => self.open_any(bytes),
            Event::Bytes { which, bytes } => self.bytes(which, bytes),
            Event::Fill { which, count } => self.bytes(which, &vec![7; count.into()]),
            Event::End { which, is_whole } => {
                if let Some(stream) = self.stream(which) {
                    self.open.remove(&stream);
                    self.network.handle_stream_end(self.now, stream, is_whole);
                }
            }
            Event::Undecoded(frame) => self.network.handle_undecoded(frame.into()),
            Event::WantsSound(wanted) => self.network.handle_sound_wanted(self.now, wanted),
            Event::Busy(is_busy) => self.is_busy = is_busy,
            Event::Wait(millis) => self.now += f64::from(millis),
            Event::Again => self.connect_again(),
        }
        self.drive();
    }

    fn connect_again(&mut self) {
        if !self.has_ended {
            self.network.handle_close();
            self.drive();
        }
        (self.shown, self.has_ended) = (None, false);
        self.streams.clear();
        self.open.clear();
        self.network.handle_connection(self.now, Network::hello(b"", 0, BroadcastName::default()));
        self.welcome();
    }

    fn open(&mut self, head: &StreamHead, bytes: &[u8]) {
        self.open_any(&[&head.encode()[..], bytes].concat());
    }

    fn open_any(&mut self, bytes: &[u8]) {
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
                Step::Say(_) => self.network.handle_said(),
                Step::Stop(stream) => assert!(self.open.remove(&stream), "stream {stream} is not open"),
                Step::Close { .. } => self.has_ended = true,
                Step::Welcome(_) | Step::Start(_) | Step::Sound(_) => {}
                other => panic!("{other:?} is for a relay"),
            }
        }
        if !self.is_busy {
            self.read_mail();
        }
    }

    fn read_mail(&mut self) {
        for record in Mail::open(self.network.take_mail()).expect("mail") {
            match record {
                Record::Welcome(_) => self.shown = None,
                Record::Frame(frame) => {
                    assert!(self.shown.is_none_or(|shown| frame.header.id > shown), "frames are shown once, in order");
                    self.shown = Some(frame.header.id);
                }
                Record::More(more) => assert_eq!(Some(more.frame), self.shown, "more of another picture"),
                Record::SoundAnnounced(_) | Record::Sound(_) => {}
            }
        }
    }
}
