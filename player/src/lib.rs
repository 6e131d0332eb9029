//! Plays a live broadcast: decodes frames, conceals or repeats missing ones, and says what to show when. It has no I/O,
//! clock or thread: a program, a browser and a test in virtual time drive the same [`Playout`].
//!
//! ```text
//! Welcome ---------> handle_welcome  --> Announcement: size, models, rate --> the caller finds a Decoding
//! Decoding --------> handle_decoding
//! frames, more ----> handle_frame, handle_more      decoded, not shown yet
//! the clock -------> handle_time     --> Present: Show | Conceal | Hold
//!                    poll_timeout    --> when to call handle_time if nothing arrives
//!                    poll_undecoded  --> the frame after which the sender must begin anew, if any
//! ```
//!
//! Only [`Playout::handle_time`] returns pictures. It returns a frame at its presentation time: the capture time plus a
//! delay that a [`PlayoutClock`] learns, the least with which fewer than one frame in a hundred is late ([`Latency`]
//! has other choices). If a frame is not there a quarter of a frame interval after that time, `handle_time` moves the
//! last picture by its own motion, or repeats it; it does so once an interval from then on.
//!
//! Times are [`Duration`](std::time::Duration)s since an origin that you choose. A frame is ready when the call after
//! [`Playout::handle_frame`] states the time, so decoding counts. If you know when a frame was captured, measure the
//! latency and report it with [`Playout::handle_shown`].
//!
//! # The loop
//!
//! ```
//! use std::time::Duration;
//! use nestcast_codec::{Format, FrameRate, Population, VideoEncoder, VideoModel, VideoSettings};
//! use nestcast_player::{Decoding, Picture, Playout, Present, Ycbcr, Size};
//! use nestcast_proto::{ReceivedFrame, FrameHeader, PackageHash, Video, Welcome};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The sender announces a video and encodes six frames. In each, a bright bar is two samples further to the right.
//! let (size, format) = (Size::new(64, 48)?, Format::Ycbcr420(Ycbcr::BT601));
//! let [key, residual] = VideoModel::built_in().ids();
//! let video = Some(Video::new(residual.0));
//! let rate = FrameRate::new(30, 1)?;
//! let welcome = Welcome { model: key.0, package: PackageHash([0; 32]), width: 64, height: 48, rate, video };
//! let population = Population::log_uniform("100k".parse()?..="1600k".parse()?);
//! let mut encoder = VideoEncoder::new(VideoModel::built_in(), VideoSettings { size, rate, population, threads: 1 });
//! let mut frames = Vec::new();
//! for id in 0..6 {
//!     let luma = |x| if (8 + 2 * id..24 + 2 * id).contains(&x) { 200 } else { 40 + x as u8 };
//!     let mut samples: Vec<u8> = (0..48).flat_map(|_| (0..64).map(luma)).collect();
//!     samples.resize(format.bytes(size), 128);
//!     let frame = encoder.encode(&Picture::new(size, format, samples)?)?;
//!     let (full, base) = (frame.bytes.len() as u64, frame.base as u64);
//!     let header = FrameHeader { id, skipped: 0, captured: 33_333 * id, full, base };
//!     // A receiver gets a prefix of each: the base, and as much more as its link carries.
//!     let length = frame.bytes.len().min(frame.base + 200);
//!     frames.push(ReceivedFrame { header, prefix: frame.bytes.slice(..length), first: Duration::ZERO, shown: Duration::ZERO });
//! }
//!
//! // The player learns what will arrive, and how to decode it.
//! let mut playout = Playout::new();
//! let announced = playout.handle_welcome(&welcome)?;
//! playout.handle_decoding(Duration::ZERO, Decoding::video(&announced, 1).ok_or("tables that this build lacks")?);
//!
//! // A frame arrives every interval, and then none does. A program waits for a frame until `poll_timeout`; here time
//! // jumps there.
//! let (mut frames, mut now, mut screen) = (frames.into_iter(), Duration::ZERO, Vec::new());
//! while screen.len() < 12 {
//!     match frames.next() {
//!         Some(frame) => {
//!             now += welcome.interval();
//!             playout.handle_frame(now, frame)?;
//!         }
//!         None => now = playout.poll_timeout().ok_or("a picture is on the screen")?,
//!     }
//!     match playout.handle_time(now)? {
//!         Some(Present::Show { id, picture, .. }) => screen.push(format!("frame {id}, {} samples", picture.samples().len())),
//!         Some(Present::Conceal { id, .. }) => screen.push(format!("concealed {id}")),
//!         Some(Present::Hold { .. }) => screen.push("repeated".to_owned()),
//!         None => {}
//!     }
//! }
//! assert_eq!(screen[5], "frame 5, 4608 samples");
//! assert_eq!(screen[6..], ["concealed 6", "concealed 7", "concealed 8", "concealed 9", "repeated", "repeated"]);
//! assert_eq!((playout.totals().shown, playout.totals().concealed, playout.totals().repeated), (6, 4, 2));
//! # Ok(())
//! # }
//! ```
//!
//! # Untrusted frames
//!
//! You may pass any bytes as a frame. Bytes that are no picture of the announced size count as corrupt and use no
//! memory; many such frames in a row end the playback with [`PlayError::Undecodable`].

mod announcement;
mod beginning;
mod clock;
mod concealment;
mod corrupt;
mod deadline;
mod decoding;
mod error;
mod frames;
mod latency;
mod playout;
mod present;
mod recording;
mod sound;
mod stats;
mod unevenness;

pub use announcement::{AnnouncedVideo, Announcement};
pub use beginning::{Beginning, MAX_FRAMES_BEFORE_BEGINNING};
pub use clock::{Latency, LatencyError, PlayoutClock, Presentation};
pub use corrupt::{CorruptFrame, FrameFault};
pub use decoding::Decoding;
pub use error::PlayError;
pub use latency::LatencyHistogram;
/// Types of the codec that the signatures here use.
pub use nestcast_codec::{
    Decoder, Display, Matrix, ModelId, Picture, Range, Restoration, Scan, Siting, Size, VideoModel, Ycbcr,
};
pub use playout::Playout;
pub use present::Present;
pub use recording::{Recording, SoundPlace};
pub use sound::{SoundBlock, SoundContent, SoundMode, SoundPlayout, SoundStats};
pub use stats::PlayStats;
pub use unevenness::Unevenness;
