//! Raw video as y4m, in and out, and its colours.
//!
//! 8 bits a sample, 4:2:0, 4:4:4 or mono; BT.601, limited range unless the stream says `XCOLORRANGE=FULL`.
//!
//! ```
//! use nestcast_codec::{Channels, Picture, Size};
//! use nestcast_video::{Rate, Reader, Writer};
//!
//! let picture = Picture::new(Size::new(4, 2)?, Channels::Rgb, vec![200; 24])?;
//! let mut writer = Writer::new(Vec::new(), Rate::new(30, 1)?);
//! writer.write(&picture)?;
//!
//! let bytes = writer.into_inner();
//! let mut reader = Reader::new(&bytes[..], 1_000_000)?;
//! assert_eq!(reader.rate().frames(), 30);
//! assert_eq!(reader.read()?, Some(picture));
//! assert_eq!(reader.read()?, None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod colour;
mod error;
mod header;
mod rate;
mod reader;
mod writer;

pub use error::Error;
pub use rate::Rate;
pub use reader::Reader;
pub use writer::Writer;
