//! Stored video, with one frame in memory at a time. [`Writer`] writes it. [`Reader`] reads it, and [`Frames`] reads a
//! range of frames. [`Player`] shows it as a receiver with a given rate sees it, and [`cut`] cuts it to a rate.
//! [`Recording`] writes frames that were encoded elsewhere, with their capture times, so that the file is a video at
//! any moment.
//!
//! A stored video may end anywhere: a prefix is a video of fewer frames. [`Reader::is_whole`] says whether the end is
//! missing.
//!
//! ```
//! use std::io::Cursor;
//! use nestcast_codec::{Display, Format, FrameRate, Picture, Population, Ycbcr, Size, VideoHeader, VideoRenditions, VideoModel, VideoSettings};
//! use nestcast_media::stored::{Frames, Player, Reader, Writer, cut};
//!
//! let (size, rate, model) = (Size::new(64, 48)?, FrameRate::new(30, 1)?, VideoModel::built_in());
//! let [least, most] = Population::usual_bitrates(size, rate);
//! let settings = VideoSettings { size, rate, population: Population::log_uniform(least..=most), threads: 1 };
//! let mut picture = Picture::zero(size, Format::Ycbcr420(Ycbcr::BT601));
//!
//! // Encoded once for all rates.
//! let encoder = VideoRenditions::new(&model, settings, 1)?;
//! let header = VideoHeader { size, rate, colours: Ycbcr::BT601, bits: 8, display: Display::default(), models: model.ids(), renditions: encoder.rates() };
//! let mut writer = Writer::new(encoder, &header, Vec::new());
//! for _ in 0..3 {
//!     writer.write(&picture)?;
//! }
//! let (bytes, written) = writer.finish()?;
//! assert_eq!((written.frames, written.bytes), (3, bytes.len() as u64));
//!
//! // Cut for one rate, and shown.
//! let mut shorter = Vec::new();
//! let mut frames = Frames::new(Reader::new(Cursor::new(&bytes), u64::MAX)?, 0..u64::MAX);
//! let kept = cut(&mut frames, least, &mut shorter)?;
//! assert_eq!(kept.frames, 3);
//! let frames = Frames::new(Reader::new(Cursor::new(&shorter), 64 * 48)?, 1..3);
//! let mut player = Player::new(frames, model, 1)?;
//! while let Some(shown) = player.next_into(&mut picture)? {
//!     assert!(shown.number >= 1);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod capture_order;
mod cut;
mod error;
mod frames;
mod player;
mod reader;
mod recording;
mod sound;
mod writer;

pub use capture_order::{CaptureOrder, Recorded};
pub use cut::{Kept, cut};
pub use error::Error;
pub use frames::{Frames, StoredFrame};
pub use player::{Played, Player, Shown};
pub use reader::{Position, Reader};
pub use recording::{RecordedFrame, Recording};
pub use sound::StoredSound;
#[cfg(feature = "output")]
pub(crate) use writer::MIN_RANDOM_ACCESS_FRAMES;
pub use writer::{Writer, Written};
