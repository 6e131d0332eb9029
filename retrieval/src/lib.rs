//! Ordered binary retrieval (Rippel, Gelbart, Adams 2014, section 5.1): codes are near if they share their first bits.
//!
//! A code is a picture's bits, the most useful first. The *b-truncated Hamming neighbourhood* of a query is the set of
//! all codes that share its first b bits (Equation 15). Retrieval narrows it bit by bit and ends before fewer than R,
//! the *terminal cardinality*, would be left. Time grows with the logarithm of the number of codes and not with their
//! length.
//!
//! ```
//! use std::num::NonZeroUsize;
//! use nestcast_retrieval::{Builder, Index, CodeModelId};
//!
//! let model = CodeModelId([7; 32]);
//! let mut builder = Builder::new(model, 16)?;
//! builder.push(&[0b0000_0000, 0], b"night")?;
//! builder.push(&[0b1100_0000, 0], b"sunset")?;
//! builder.push(&[0b1101_0000, 0], b"sunrise")?;
//! let mut index = Index::open(builder.to_bytes()?)?;
//!
//! let found = index.neighbourhood(&[0b1111_0000, 0], NonZeroUsize::new(2).unwrap())?;
//! assert_eq!((found.depth(), found.len()), (2, 2)); // the third bit would leave no code
//! assert!(found.iter().map(|entry| entry.name).eq([b"sunset".as_slice(), b"sunrise"]));
//!
//! index.insert(&[0b1111_1111, 0], b"noon")?;
//! index.remove(&[0b1100_0000, 0], b"sunset")?;
//! assert_eq!(index.len(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Index`] searches the bytes of an index in place: a vector, or a file's memory map. [`CodeFile`] is a file of one
//! code. The crate does no input and output. `spec/codes.md` defines the bytes.

mod builder;
mod code;
mod code_file;
mod error;
mod format;
mod index;
mod keys;
mod names;
mod nearest;
mod neighbourhood;
mod sorted;

pub use builder::Builder;
pub use code::{hamming_distance, shared_bits};
pub use code_file::{CODE_MAGIC, CodeFile};
pub use error::Error;
pub use format::{CodeModelId, MAGIC_BYTES, MAX_BITS};
pub use index::Index;
pub use nearest::{Nearest, nearest_of};
pub use neighbourhood::{Entry, Neighbourhood};
