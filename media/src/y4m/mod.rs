//! Raw video as y4m (YUV4MPEG2), in and out.
//!
//! 8 bits a sample, 4:2:0, 4:2:2, 4:4:4 or mono; BT.601, limited range unless the stream says `XCOLORRANGE=FULL`.
//!
//! Written here because the crate `y4m` 0.8 multiplies a header's width and height unchecked before its limit, and does
//! not tell a video that breaks off inside a frame from one that ends.
//!
//! ```
//! use nestcast_codec::{Channels, Picture, Size};
//! use nestcast_media::y4m::{Rate, Reader, Writer};
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
