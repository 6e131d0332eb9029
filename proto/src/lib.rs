//! The session of a live broadcast as state machines: no I/O, no clock, no codec.
//!
//! A sender has one [`SenderSession`] for each receiver, and a receiver has one [`ReceiverSession`]. A driver moves
//! bytes between a session and a transport, and does what [`SenderSession::poll`] and [`ReceiverSession::poll`] return.
//! Frames are opaque: any prefix of a frame is useful, and its first `base` bytes (the base layer) are the most useful.
//! `spec/session.md` defines every byte that crosses the network.
//!
//! Times are [`Duration`](std::time::Duration)s since an origin that the driver chooses, one for each session.
//!
//! # The loop of a sender
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use bytes::Bytes;
//! use nestcast_proto::*;
//!
//! # let welcome = Welcome { model: [0; 6], package: PackageHash([0; 32]), width: 16, height: 16, rate: FrameRate::new(30, 1).expect("a rate"), video: None };
//! # let hello = Hello { versions: VersionRange::SPOKEN, token: Bytes::new(), max_bitrate: None, decoder: DecoderKind::Linear, broadcast: BroadcastName::default(), start: None };
//! # let hello = Message::Hello(hello).encode();
//! # let frame = Frame { id: 0, skipped: 0, captured: 0, since: 0, base: 20, bytes: Bytes::from(vec![1; 9000]), join: None };
//! let offer = Arc::new(Offer { welcome, package: None, sound: None }); // shared by all receivers
//! let mut session = SenderSession::new(offer, 0);
//! let (now, path) = (Duration::ZERO, PathStats::default()); // the time, and what the congestion controller knows
//! let mut streams: Vec<(u64, Vec<u8>)> = Vec::new(); // in place of a transport: every stream's bytes
//!
//! session.handle_control_bytes(now, &hello); // bytes of the control stream, as they come
//! let mut frames = [BroadcastFrame::from(frame)].into_iter();
//! loop {
//!     while let Some(output) = session.poll(now) {
//!         match output {
//!             SenderOutput::Hello(_) => session.handle_admitted(now, 0, None), // if it may watch, and there is a place
//!             SenderOutput::Say(_message) => {}                          // write it to the control stream
//!             SenderOutput::FinishControl => {}
//!             SenderOutput::Open(_urgency) => {
//!                 let number = 3 + 4 * streams.len() as u64;
//!                 streams.push((number, Vec::new()));
//!                 session.handle_opened(number);
//!             }
//!             SenderOutput::Write => {
//!                 // As much as `session.room(&path)` lets and the transport takes. A driver that must wait for room waits for
//!                 // frames and messages too, and polls again after either.
//!                 let chunks = session.unwritten();
//!                 let stream = &mut streams.last_mut().expect("it was opened").1;
//!                 chunks.iter().for_each(|chunk| stream.extend_from_slice(chunk));
//!                 session.handle_written(now, chunks.iter().map(Bytes::len).sum(), &path);
//!             }
//!             SenderOutput::Finish(_stream) | SenderOutput::Reset(_stream) | SenderOutput::Release(_stream) => {}
//!             SenderOutput::Sound(_bytes) => {} // if there is sound: open a stream for it, write and finish it
//!             SenderOutput::AllowBeyond(_packets) => {} // tell the congestion controller
//!             SenderOutput::FlightReset => {}           // tell the congestion controller
//!             SenderOutput::Await(stream) => session.handle_settled(stream), // once all of it has arrived
//!             SenderOutput::Close(end) => {
//!                 assert_eq!(end.close().code, Code::Done);
//!                 assert!(streams.len() == 1 && streams[0].1.len() > 9000, "the frame and its head");
//!                 return; // close the connection
//!             }
//!             _ => {}
//!         }
//!     }
//!     // Wait for what comes first: a frame, bytes of the control stream, or `session.poll_timeout()`.
//!     match frames.next() {
//!         Some(frame) => session.handle_frame(now, &frame, &path),
//!         None => session.handle_end(Close { code: Code::Done, why: "the broadcast ended" }),
//!     }
//! }
//! ```
//!
//! # The loop of a receiver
//!
//! ```
//! use std::time::Duration;
//! use bytes::Bytes;
//! use nestcast_proto::*;
//!
//! # let welcome = Welcome { model: [0; 6], package: PackageHash([0; 32]), width: 16, height: 16, rate: FrameRate::new(30, 1).expect("a rate"), video: None };
//! # let said = [Message::Welcome { version: 1, welcome }.encode(), Message::Clock(Clock { micros: 0 }).encode()].concat();
//! # let header = FrameHeader { id: 0, skipped: 0, captured: 0, full: 9000, base: 20 };
//! # let stream = [&StreamHead::Frame(header).encode()[..], &[7; 500]].concat();
//! let hello = Hello { versions: VersionRange::SPOKEN, token: Bytes::new(), max_bitrate: None, decoder: DecoderKind::Linear, broadcast: BroadcastName::default(), start: None };
//! let mut session = ReceiverSession::new(hello, false);
//! let now = Duration::ZERO;
//! let mut shown = Vec::new();
//!
//! // What a transport brings, one after the other: the control stream's bytes, then a stream of 500 bytes of a frame.
//! for step in 0..4 {
//!     match step {
//!         0 => session.handle_control_bytes(&said),
//!         1 => session.handle_opened(3),
//!         2 => session.handle_stream_bytes(now, 3, 0, Bytes::from(stream.clone())),
//!         _ => session.handle_stream_end(now, 3),
//!     }
//!     // Tell the path's round trip by `session.handle_rtt`, then do all that the session asks for.
//!     while let Some(output) = session.poll(now) {
//!         match output {
//!             ReceiverOutput::Say(_message) => session.handle_said(), // once the control stream has taken it
//!             ReceiverOutput::Welcome { .. } => session.handle_ready(now), // or `handle_package_missing`
//!             ReceiverOutput::Package(_) => session.handle_package_taken(now), // if it is the right one
//!             ReceiverOutput::Frame(frame) => shown.push((frame.header.id, frame.prefix.len())),
//!             ReceiverOutput::More(_) => {}          // more of the picture that was shown last
//!             ReceiverOutput::ReadUnordered(_) => {} // a transport that reads in order ignores it
//!             ReceiverOutput::Stop(_stream) => {}    // read no more of this stream
//!             ReceiverOutput::Close(end) => panic!("{end}"), // close the connection
//!             _ => {}
//!         }
//!     }
//!     // Wait for what comes next, or until `session.poll_timeout()`.
//! }
//! assert_eq!(shown, [(0, 500)]);
//! ```
//!
//! `examples/loopback.rs` connects both over a link of limited rate. [`Publisher`] and [`Subscriber`] are the parts of
//! the sessions that cut frames and reassemble them. [`DelayController`] is the congestion control that the session
//! expects of a transport.

mod cause;
mod demand;
mod path;
mod publish;
mod session;
mod source;
mod subscribe;
mod wire;

pub use cause::Cause;
pub use demand::{Demand, DemandEntry, ReceiverDemand};
pub use nestcast_units::{Bitrate, BitrateError, FrameRate, FrameRateError, TimeSpan, TimeSpanError};
pub use path::delay_controller::DelayController;
pub use path::limits::{INITIAL_WINDOW, QUEUE_TARGET};
pub use path::stats::PathStats;
pub use publish::publisher::Publisher;
pub use publish::rendition::{BroadcastFrame, Followed, Rendition, RenditionFollower};
pub use publish::room::Room;
pub use publish::stats::{CutCounts, SendStats, SoundSendStats};
pub use publish::step::Step;
pub use session::receiver::ReceiverSession;
pub use session::receiver::output::{ReceiverEnd, ReceiverOutput};
pub use session::sender::output::{SenderEnd, SenderOutput, Urgency};
pub use session::sender::{Offer, SenderSession};
pub use source::{
    Archive, Captured, FrameEncoder, FrameStream, MuxedPart, MuxedStream, NextPart, OpenedArchive, PictureStream,
    SoundSource, SourceError, StreamPicture, TimedSound,
};
pub use subscribe::late::More;
pub use subscribe::repair::Repair;
pub use subscribe::subscriber::{ReceiveStats, ReceivedFrame, Subscriber};
pub use wire::bases::Bases;
pub use wire::broadcast_name::{BroadcastName, BroadcastNameError};
pub use wire::close::{Close, Code};
pub use wire::control::Control;
pub use wire::frame::{Frame, FrameHeader, RandomAccessFrame};
pub use wire::limits::{
    MAX_FRAME, MAX_HEAD_BYTES, MAX_MESSAGE, MAX_MODEL, MAX_OPEN_FRAMES, MAX_OPEN_VIDEO_FRAMES, MAX_SOUND_PACKET,
    MAX_STREAMS, MAX_TOKEN, SESSION_ALPN,
};
pub use wire::message::{
    Clock, DecoderKind, Hello, Message, ModelRequest, PackageHash, RandomAccessRequest, SoundRequest, Video, Welcome,
};
pub use wire::parity::ParityHeader;
pub use wire::sound::{Sound, SoundHeader, SoundPacket};
pub use wire::start::Start;
pub use wire::stream::{LateHeader, ModelHeader, StreamHead};
pub use wire::varint::{Reader as WireReader, put_bytes, put_varint};
pub use wire::version::VersionRange;
