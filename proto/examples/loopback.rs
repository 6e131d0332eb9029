//! A whole broadcast in one process without I/O: a sender's and a receiver's session over a link simulated in this
//! file.
//!
//! The link has a rate and a delay, and its rate falls to a third halfway. Time is a number: the run takes
//! milliseconds. It prints what a viewer would see: how much of each frame came, and how late.
//!
//! ```text
//! cargo run -p nestcast-proto --example loopback
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use nestcast_proto::{
    Bitrate, BroadcastFrame, BroadcastName, Close, Code, DecoderKind, DelayController, Frame, FrameRate, Hello, Offer,
    PackageHash, PathStats, ReceiverOutput, ReceiverSession, SenderOutput, SenderSession, VersionRange, Welcome,
};

const FRAME_COUNT: u64 = 180;
const FRAME_BYTES: usize = 40_000;
const BASE_BYTES: usize = 400;
/// The delay from sender to receiver, and back.
const ONE_WAY_DELAY: Duration = Duration::from_millis(20);
const PACKET_BYTES: usize = 1200;
/// The link's rate before and after the fall.
const LINK_RATES: [Bitrate; 2] = [Bitrate::from_bits(3_000_000), Bitrate::from_bits(1_000_000)];

/// Data that reaches an end.
enum Arrival {
    ToSender(Bytes),
    ToReceiver(Bytes),
    Opened(u64),
    Stream { number: u64, offset: u64, bytes: Bytes, is_last: bool, sent: Duration },
    Acknowledged { bytes: u64, sent: Duration },
    Closed(Code),
}

/// The stream that the sender writes: its unsent bytes.
#[derive(Default)]
struct Unsent {
    number: u64,
    offset: u64,
    bytes: VecDeque<Bytes>,
    is_finished: bool,
}

/// Both ends, and the data between them.
struct Loopback {
    now: Duration,
    sender: SenderSession,
    receiver: ReceiverSession,
    controller: DelayController,
    unsent: VecDeque<Unsent>,
    in_flight: u64,
    /// When the link has sent everything it was given.
    free_at: Duration,
    /// By their time, and by their order at one time.
    arrivals: BTreeMap<(Duration, u64), Arrival>,
    order: u64,
    streams: u64,
    /// For every shown frame: its bytes, and the time since its capture.
    shown: BTreeMap<u64, (usize, Duration)>,
    end: Option<Code>,
}

fn main() {
    let rate = FrameRate::new(30, 1).expect("a rate");
    let welcome = Welcome { model: [7; 6], package: PackageHash([7; 32]), width: 640, height: 360, rate, video: None };
    let interval = welcome.interval();
    let offer = Arc::new(Offer { welcome, package: None, sound: None });
    let hello = Hello {
        versions: VersionRange::SPOKEN,
        token: Bytes::new(),
        max_bitrate: None,
        decoder: DecoderKind::Linear,
        broadcast: BroadcastName::default(),
        start: None,
    };
    let mut run = Loopback {
        now: Duration::ZERO,
        sender: SenderSession::new(offer, 0),
        receiver: ReceiverSession::new(hello, false),
        controller: DelayController::new(PACKET_BYTES as u64, Duration::ZERO),
        unsent: VecDeque::new(),
        in_flight: 0,
        free_at: Duration::ZERO,
        arrivals: BTreeMap::new(),
        order: 0,
        streams: 0,
        shown: BTreeMap::new(),
        end: None,
    };
    for id in 0..FRAME_COUNT {
        run.until(interval * u32::try_from(id).expect("few frames"));
        let captured = u64::try_from(run.now.as_micros()).expect("a short run");
        let bytes = Bytes::from(vec![7; FRAME_BYTES]);
        let frame = Frame { id, skipped: 0, captured, since: id, base: BASE_BYTES, bytes, join: None };
        run.sender.handle_frame(run.now, &BroadcastFrame::from(frame), &run.path());
    }
    run.until(interval * u32::try_from(FRAME_COUNT).expect("few frames"));
    run.sender.handle_end(Close { code: Code::Done, why: "the broadcast ended" });
    run.until(run.now + Duration::from_secs(2));
    run.report(interval);
}

impl Loopback {
    /// Runs both ends until `moment`.
    fn until(&mut self, moment: Duration) {
        loop {
            self.drive_receiver();
            self.drive_sender();
            let timeouts = [self.sender.poll_timeout(), self.receiver.poll_timeout()].into_iter().flatten();
            let arrival = self.arrivals.first_key_value().map(|((at, _), _)| *at);
            let next = timeouts.chain(arrival).min().filter(|next| *next <= moment);
            let Some(next) = next else { break };
            self.now = self.now.max(next);
            while let Some(arrival) = self.arrivals.first_entry().filter(|arrival| arrival.key().0 <= self.now) {
                let arrival = arrival.remove();
                self.arrive(arrival);
            }
        }
        self.now = self.now.max(moment);
    }

    fn path(&self) -> PathStats {
        let unsent = self.unsent.iter().flat_map(|stream| &stream.bytes).map(|bytes| bytes.len() as u64).sum();
        PathStats { unsent, ..self.controller.path() }
    }

    fn send(&mut self, at: Duration, arrival: Arrival) {
        self.order += 1;
        self.arrivals.insert((at, self.order), arrival);
    }

    fn drive_sender(&mut self) {
        while let Some(output) = self.sender.poll(self.now) {
            match output {
                SenderOutput::Hello(_) => {
                    let clock = u64::try_from(self.now.as_micros()).expect("a short run");
                    self.sender.handle_admitted(self.now, clock, None);
                }
                SenderOutput::Say(message) => self.send(self.now + ONE_WAY_DELAY, Arrival::ToReceiver(message)),
                SenderOutput::Open(_) => {
                    let number = 4 * self.streams + 3;
                    self.streams += 1;
                    self.unsent.push_back(Unsent { number, ..Unsent::default() });
                    self.sender.handle_opened(number);
                }
                SenderOutput::Write if !self.write() => break,
                SenderOutput::Finish(number) => {
                    self.unsent
                        .iter_mut()
                        .filter(|stream| stream.number == number)
                        .for_each(|stream| stream.is_finished = true);
                }
                SenderOutput::Reset(number) => self.unsent.retain(|stream| stream.number != number),
                // Only reset streams lose data here, so every finished stream arrives.
                SenderOutput::Await(number) => self.sender.handle_settled(number),
                SenderOutput::Close(end) => self.send(self.free_at + ONE_WAY_DELAY, Arrival::Closed(end.close().code)),
                _ => {}
            }
            self.transmit();
        }
        self.transmit();
    }

    /// Writes what there is room for; returns whether there was any.
    fn write(&mut self) -> bool {
        let path = self.path();
        let room = self.sender.room(&path);
        let most = room.pending.unwrap_or(room.held).saturating_sub(path.in_flight + path.unsent);
        let mut left = usize::try_from(most).expect("a window");
        let mut written = 0;
        for mut chunk in self.sender.unwritten() {
            let chunk = chunk.split_to(left.min(chunk.len()));
            left -= chunk.len();
            written += chunk.len();
            if let Some(stream) = self.unsent.back_mut().filter(|_| !chunk.is_empty()) {
                stream.bytes.push_back(chunk);
            }
        }
        self.sender.handle_written(self.now, written, &path);
        written > 0
    }

    /// Sends packets as far as the window allows.
    fn transmit(&mut self) {
        while let Some(stream) = self.unsent.front_mut() {
            let is_empty = stream.bytes.is_empty();
            if is_empty && !stream.is_finished || self.in_flight + PACKET_BYTES as u64 > self.controller.path().window {
                return;
            }
            let mut bytes = Vec::new();
            while let Some(chunk) = stream.bytes.front_mut() {
                let taken = chunk.split_to(chunk.len().min(PACKET_BYTES - bytes.len()));
                bytes.extend_from_slice(&taken);
                if !chunk.has_remaining() {
                    stream.bytes.pop_front();
                }
                if bytes.len() == PACKET_BYTES {
                    break;
                }
            }
            let number = stream.number;
            let offset = stream.offset;
            stream.offset += bytes.len() as u64;
            let is_last = stream.is_finished && stream.bytes.is_empty();
            if is_last {
                self.unsent.pop_front();
            }
            self.packet(number, offset, bytes.into(), is_last);
        }
    }

    fn packet(&mut self, number: u64, offset: u64, bytes: Bytes, is_last: bool) {
        let length = bytes.len() as u64 + 45;
        let rate = LINK_RATES[usize::from(self.now >= Duration::from_secs(3))];
        self.in_flight += length;
        self.controller.handle_sent(self.now, length);
        self.free_at = self.free_at.max(self.now) + rate.time_for(length);
        let at = self.free_at + ONE_WAY_DELAY;
        let sent = self.now;
        if offset == 0 {
            self.send(at, Arrival::Opened(number));
        }
        self.send(at, Arrival::Stream { number, offset, bytes, is_last, sent });
    }

    fn arrive(&mut self, arrival: Arrival) {
        let now = self.now;
        match arrival {
            Arrival::ToSender(bytes) => self.sender.handle_control_bytes(now, &bytes),
            Arrival::ToReceiver(bytes) => self.receiver.handle_control_bytes(&bytes),
            Arrival::Opened(number) => self.receiver.handle_opened(number),
            Arrival::Stream { number, offset, bytes, is_last, sent } => {
                let acknowledged = Arrival::Acknowledged { bytes: bytes.len() as u64 + 45, sent };
                self.send(now + ONE_WAY_DELAY, acknowledged);
                self.receiver.handle_stream_bytes(now, number, offset, bytes);
                if is_last {
                    self.receiver.handle_stream_end(now, number);
                }
            }
            Arrival::Acknowledged { bytes, sent } => {
                self.in_flight -= bytes;
                self.controller.handle_transport(now, now - sent, 2 * ONE_WAY_DELAY);
                self.controller.handle_ack(now, sent, bytes);
                self.controller.handle_acks_end(now, self.in_flight);
            }
            Arrival::Closed(code) => {
                self.end = Some(code);
                self.receiver.handle_close();
            }
        }
    }

    fn drive_receiver(&mut self) {
        self.receiver.handle_rtt(2 * ONE_WAY_DELAY);
        while let Some(output) = self.receiver.poll(self.now) {
            match output {
                ReceiverOutput::Say(message) => {
                    self.receiver.handle_said();
                    self.send(self.now + ONE_WAY_DELAY, Arrival::ToSender(message));
                }
                ReceiverOutput::Welcome { welcome, .. } => {
                    println!("welcome: {}x{}, {} frames a second", welcome.width, welcome.height, welcome.rate);
                    self.receiver.handle_ready(self.now);
                }
                ReceiverOutput::Frame(frame) => {
                    let age = self.now.saturating_sub(Duration::from_micros(frame.header.captured));
                    self.shown.insert(frame.header.id, (frame.prefix.len(), age));
                }
                ReceiverOutput::Close(end) => println!("the receiver closes: {end}"),
                _ => {}
            }
        }
    }

    /// Prints a line for each second, and one for the whole session.
    fn report(&self, interval: Duration) {
        let frames_in = |second: u64| {
            let is_inside = move |id: u64| (interval * u32::try_from(id).unwrap_or(0)).as_secs() == second;
            self.shown.iter().filter(move |(id, _)| is_inside(**id)).map(|(_, shown)| *shown).collect::<Vec<_>>()
        };
        println!("second | link kbit/s | frames | mean bytes | oldest when shown");
        for second in 0..FRAME_COUNT / 30 {
            let frames = frames_in(second);
            let bytes: usize = frames.iter().map(|(bytes, _)| bytes).sum();
            let oldest = frames.iter().map(|(_, age)| age.as_millis()).max().unwrap_or(0);
            let rate = LINK_RATES[usize::from(second >= 3)].bits() / 1000;
            let mean = bytes.checked_div(frames.len()).unwrap_or(0);
            println!("{second:>6} | {rate:>11} | {:>6} | {mean:>10} | {oldest:>4} ms", frames.len());
        }
        let sent = self.sender.stats();
        let received = self.receiver.stats();
        println!(
            "sent: {} frames, {} bytes of {}, {} cut, bases again {} times",
            sent.frames, sent.bytes, sent.full, sent.cut, sent.again
        );
        let reasons = sent.cut_reasons.each().map(|(reason, count)| format!("{reason} {count}"));
        println!("where frames ended: {}", reasons.join(", "));
        println!(
            "received: {} frames shown, {} without their base layer, {} bytes",
            received.shown, received.missing_bases, received.bytes
        );
        println!("closed: {}", self.end.map_or("not yet".to_owned(), |code| code.to_string()));
    }
}
