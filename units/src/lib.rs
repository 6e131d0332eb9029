//! Units that the crates of nestcast share: [`FrameRate`], [`Bitrate`] and [`TimeSpan`].
//!
//! ```
//! use nestcast_units::{Bitrate, FrameRate};
//!
//! let rate: FrameRate = "30000/1001".parse()?;
//! let bitrate: Bitrate = "300k".parse()?;
//! assert_eq!(bitrate.bytes_per_frame(rate), 1251);
//! assert!(FrameRate::new(0, 1).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bitrate;
mod frame_rate;
mod time_span;

pub use bitrate::{Bitrate, BitrateError};
pub use frame_rate::{FrameRate, FrameRateError};
pub use time_span::{TimeSpan, TimeSpanError};
