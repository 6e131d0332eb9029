//! A broadcast from picture to picture, with the crates that need nothing of a host: encode, proto, player and codec.
//! It succeeds or panics, which traps in WebAssembly.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use nestcast_codec::{Format, FrameRate, Picture, Size, Ycbcr};
use nestcast_encode::{PictureFormat, Pictures, RenditionLimit, VideoEncoding};
use nestcast_player::{Decoding, Latency, Playout, Present};
use nestcast_proto::{
    BroadcastFrame, BroadcastName, Captured, Close, Code, DecoderKind, Demand, FrameEncoder as _, Hello, Offer,
    PathStats, PictureStream as _, ReceiverOutput, ReceiverSession, SenderOutput, SenderSession, VersionRange,
};

const FRAMES: u64 = 5;

/// Both ends of a session, and the streams between them.
struct Ends {
    now: Duration,
    sender: SenderSession,
    receiver: ReceiverSession,
    playout: Playout,
    /// The numbers of the opened streams, and their bytes so far.
    streams: Vec<(u64, u64)>,
    shown: u64,
}

fn main() {
    let size = Size::new(64, 48).expect("a valid size");
    let samples = Format::Ycbcr420(Ycbcr::BT601);
    let format = PictureFormat::new(size, samples, FrameRate::new(30, 1).expect("a rate"));
    let mut bright = 0;
    let mut pictures = Pictures::from_fn(format, move |spent| {
        bright += 9;
        let mut picture = spent.unwrap_or_else(|| Picture::zero(size, samples));
        picture = Picture::new(size, samples, vec![bright; picture.samples().len()]).expect("all samples");
        Ok(Some(picture))
    });
    let mut encoding = VideoEncoding::new(pictures.format(), 1, RenditionLimit::AsNeeded).expect("a format of video");
    let demand = Demand::default();
    let entry = demand.register();
    let welcome = encoding.welcome();
    let interval = welcome.interval();
    let hello = Hello {
        versions: VersionRange::SPOKEN,
        token: Bytes::new(),
        max_bitrate: None,
        decoder: DecoderKind::Linear,
        broadcast: BroadcastName::default(),
        start: None,
    };
    let offer = Arc::new(Offer { welcome, package: None, sound: None });
    let mut ends = Ends {
        now: Duration::ZERO,
        sender: SenderSession::new(offer, entry.receiver()),
        receiver: ReceiverSession::new(hello, false),
        playout: Playout::new(),
        streams: Vec::new(),
        shown: 0,
    };
    ends.playout.set_latency(Latency::Min);
    ends.drive();
    for id in 0..FRAMES {
        entry.set(ends.sender.demand(&PathStats::default()));
        let picture = pictures.next(None).expect("it does not break off").expect("it does not end").picture;
        let captured = Captured { id, at: id * 33_333, picture };
        let (frame, _) = encoding.encode(captured, 0, &demand).expect("it can be encoded");
        ends.frame(&frame);
        ends.now += interval;
    }
    ends.sender.handle_end(Close { code: Code::Done, why: "the broadcast ended" });
    ends.drive();
    assert_eq!(ends.shown, FRAMES, "every frame is shown");
}

impl Ends {
    fn frame(&mut self, frame: &BroadcastFrame) {
        self.sender.handle_frame(self.now, frame, &PathStats::default());
        self.drive();
    }

    /// Lets both ends act until neither has anything to do.
    fn drive(&mut self) {
        while self.drive_receiver() || self.drive_sender() {}
        if let Some(Present::Show { .. }) = self.playout.handle_time(self.now).expect("pictures") {
            self.shown += 1;
        }
    }

    fn drive_sender(&mut self) -> bool {
        let Some(output) = self.sender.poll(self.now) else { return false };
        match output {
            SenderOutput::Hello(_) => self.sender.handle_admitted(self.now, 0, None),
            SenderOutput::Say(message) => self.receiver.handle_control_bytes(&message),
            SenderOutput::Open(_) => {
                let number = 4 * self.streams.len() as u64 + 3;
                self.streams.push((number, 0));
                self.sender.handle_opened(number);
                self.receiver.handle_opened(number);
            }
            SenderOutput::Write => self.write(),
            SenderOutput::Finish(number) => self.receiver.handle_stream_end(self.now, number),
            SenderOutput::Await(number) => self.sender.handle_settled(number),
            SenderOutput::Close(end) => {
                assert_eq!(end.close().code, Code::Done, "{end}");
                self.receiver.handle_close();
            }
            _ => {}
        }
        true
    }

    fn write(&mut self) {
        let (number, offset) = self.streams.last_mut().expect("a stream is open");
        let bytes: Bytes = self.sender.unwritten().concat().into();
        let count = bytes.len();
        self.receiver.handle_stream_bytes(self.now, *number, *offset, bytes);
        *offset += count as u64;
        self.sender.handle_written(self.now, count, &PathStats::default());
    }

    fn drive_receiver(&mut self) -> bool {
        let Some(output) = self.receiver.poll(self.now) else { return false };
        match output {
            ReceiverOutput::Say(message) => {
                self.receiver.handle_said();
                self.sender.handle_control_bytes(self.now, &message);
            }
            ReceiverOutput::Welcome { welcome, .. } => {
                let announced = self.playout.handle_welcome(&welcome).expect("a video");
                let decoding = Decoding::video(&announced, 1).expect("tables of this build");
                self.playout.handle_decoding(self.now, decoding);
                self.receiver.handle_ready(self.now);
            }
            ReceiverOutput::Frame(frame) => self.playout.handle_frame(self.now, frame).expect("a frame"),
            ReceiverOutput::Close(end) => panic!("{end}"),
            _ => {}
        }
        true
    }
}
