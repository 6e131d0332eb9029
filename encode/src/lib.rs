//! Encodes live pictures for a broadcast: video in renditions for the current receivers, or independent pictures.
//! [`Replay`] broadcasts a stored video, and encodes nothing.
//!
//! ```text
//! PictureSource -> Pictures (checked) -> VideoEncoding or PictureEncoding -> BroadcastFrame
//!                                        Demand (what receivers want) -^
//! ```
//!
//! Nothing here has a clock or a thread: a driver reads the pictures, notes when they were captured, and measures
//! encoding time. `nestcast-sender` has such a driver, `LiveSource`; your own loop is as short as this:
//!
//! ```
//! use nestcast_codec::{Format, FrameRate, Picture, Ycbcr, Size};
//! use nestcast_encode::{PictureFormat, Pictures, RenditionLimit, VideoEncoding};
//! use nestcast_proto::{Captured, Demand, FrameEncoder as _, PictureStream as _};
//!
//! // A source is whatever implements `PictureSource`; here it is a function.
//! let (size, samples) = (Size::new(64, 48)?, Format::Ycbcr420(Ycbcr::BT601));
//! let format = PictureFormat::new(size, samples, FrameRate::new(30, 1)?);
//! let mut pictures = Pictures::from_fn(format, move |spent| {
//!     Ok(Some(spent.unwrap_or_else(|| Picture::zero(size, samples)))) // draw into it
//! });
//!
//! let mut encoding = VideoEncoding::new(pictures.format(), 1, RenditionLimit::AsNeeded)?;
//! let demand = Demand::default(); // receivers register with it
//! let mut spent = None;
//! for id in 0..3 {
//!     let Some(next) = pictures.next(spent.take())? else { break };
//!     let captured = Captured { id, at: next.captured.unwrap_or(1_000_000 + id * 33_333), picture: next.picture };
//!     let (frame, free) = encoding.encode(captured, 0, &demand)?;
//!     assert_eq!(frame.frame.id, id); // hand it to all receivers
//!     spent = free;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod base_rate;
mod demand_rate;
mod effort;
mod error;
mod format;
mod muxed;
mod pace;
mod pictures;
mod random_access_budget;
mod raw;
mod renditions;
mod repeated;
mod replay;
mod slides;
mod slot;
mod source;
mod video;
mod y4m;

pub use error::PictureError;
pub use format::{PictureFormat, PictureRate, Samples};
pub use muxed::Muxed;
pub use nestcast_proto::StreamPicture;
pub use pace::{Pace, Shortfall};
pub use pictures::PictureEncoding;
pub use raw::{RawError, RawPicture};
pub use renditions::RenditionLimit;
pub use replay::Replay;
pub use replay::archive::StoredArchive;
pub use slot::{Offered, PictureSlot};
pub use source::{PictureSource, Pictures};
pub use video::VideoEncoding;
