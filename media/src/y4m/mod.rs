//! Reads and writes raw video as y4m (YUV4MPEG2).
//!
//! Samples are in limited range unless the stream says `XCOLORRANGE=FULL`. y4m has no field for the matrix, so it is that
//! of [`Matrix::usual`], or of [`Reader::with_matrix`]. Pictures are planar, as in the file: 4:2:0 of 8 bits stays
//! untouched, the colour differences of 4:2:2 and 4:4:4 are averaged to 4:2:0, and mono is grey. Samples of 9 to 16 bits
//! are rounded to 8, or kept with [`Reader::with_max_bits`]; opacity is left out. [`Reader::notes`] names what a video
//! loses. Siting, interlacing and the aspect of pixels are read and written as [`Display`]. Nothing here converts to RGB:
//! [`to_rgb`](crate::to_rgb) does that.
//!
//! [`Display`]: nestcast_codec::Display
//! [`Matrix::usual`]: nestcast_codec::Matrix::usual
//!
//! This is our own code because the crate `y4m` 0.8 multiplies a header's width and height before it checks its limit,
//! and does not distinguish a video that breaks off inside a frame from one that ends.
//!
//! ```
//! use nestcast_codec::{Format, FrameRate, Picture, Ycbcr, Size};
//! use nestcast_media::y4m::{Reader, Writer};
//!
//! let picture = Picture::new(Size::new(4, 2)?, Format::Ycbcr420(Ycbcr::BT601), vec![200; 12])?;
//! let mut writer = Writer::new(Vec::new(), FrameRate::new(30, 1)?);
//! writer.write(&picture)?;
//!
//! let bytes = writer.into_inner();
//! let mut reader = Reader::new(&bytes[..], 1_000_000)?;
//! assert_eq!(reader.rate().frames(), 30);
//! let mut read = Picture::zero(reader.size(), reader.format());
//! assert!(reader.read_into(&mut read)?); // in the same memory each time
//! assert_eq!(read, picture);
//! assert_eq!(reader.read()?, None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod frames;
mod header;
mod note;
mod planes;
mod reader;
mod samples;
mod writer;

pub use error::Error;
pub use frames::Frames;
pub use header::MAGIC_WORD;
pub use note::Note;
pub use reader::Reader;
pub use writer::Writer;
