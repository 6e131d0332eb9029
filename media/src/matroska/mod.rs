//! Reads raw pictures and sound from Matroska (RFC 9559), as `ffmpeg -f matroska -` writes it to a pipe.
//!
//! It reads from the beginning to the end, and never goes back, so a pipe will do. It takes the first track of pictures
//! and the first of sound: pictures in 4:2:0, uncompressed; samples or Opus. It skips all else.
//!
//! This is our own code because `matroska-demuxer` 0.8 needs an input that seeks, and `webm-iterable` 0.7 takes memory
//! for an element as soon as its head announces it, up to one limit for elements of all kinds. Here a picture is read into
//! the caller's memory, and no other element has more than 1 MiB.
//!
//! ```no_run
//! use nestcast_codec::Picture;
//! use nestcast_media::matroska::{Part, Reader};
//!
//! let mut reader = Reader::new(std::io::stdin(), 1 << 25)?;
//! let mut picture = Picture::zero(reader.size(), reader.format());
//! while let Some(part) = reader.next(&mut picture)? {
//!     match part {
//!         Part::Picture(at) => println!("{at:?}: a picture, in `picture`"),
//!         Part::Sound(at, bytes) => println!("{at:?}: {} bytes of sound", bytes.len()),
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod colours;
mod element;
mod error;
mod layout;
mod reader;
#[cfg(test)]
mod tests;
mod tracks;

pub use colours::WideColours;
pub use error::Error;
pub use reader::{Part, Reader};
pub use tracks::{SoundFormat, SoundTrack};

/// The beginning of every Matroska file: the id of its first element.
pub const MAGIC_BYTES: [u8; 4] = [0x1A, 0x45, 0xDF, 0xA3];
