//! Pictures in files: PNG, JPEG and WebP in, PNG out.
//!
//! ```
//! use nestcast_codec::{Channels, Picture, Size};
//! use nestcast_media::picture::{self, Error};
//!
//! let picture = Picture::new(Size::new(4, 2)?, Channels::Rgb, vec![200; 24])?;
//! let bytes = picture::encode_png(&picture)?;
//! assert_eq!(picture::decode(&bytes, 8)?.picture, picture);
//! assert!(matches!(picture::decode(&bytes, 7), Err(Error::Pixels { given: 8, max: 7 })));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod colour;
mod decode;
mod encode;
mod error;
mod exif;
mod folder;
mod formats;
mod jpeg;
mod opaque;
mod partial;
mod png;
mod read;
mod webp;

pub use decode::{Decoded, MAGIC_BYTES, check_magic, decode, decode_as, max_file_bytes, size};
pub use encode::encode_png;
pub use error::{Cost, Error, Note};
pub use folder::{below, in_folder};
pub use opaque::Samples;
#[cfg(feature = "image-types")]
pub(crate) use opaque::whole;
pub use read::{read, read_as, read_size};
