//! The ordered, embedded picture codec of nestcast: no I/O, no clock, no network.
//!
//! A picture is encoded once into one byte stream. Any prefix of it, cut at any byte behind the header,
//! decodes to a full picture, and every further byte makes that picture better.

mod contexts;
mod decoder;
mod encoder;
mod error;
mod header;
mod layout;
mod linear;
mod model;
mod parallel;
mod picture;
mod pieces;
mod probability;
mod quantise;
mod range;
mod segments;
mod stripe;
mod transform;

pub use decoder::{DEFAULT_MAX_PIXELS, DecodeError, Decoder, Progress};
pub use encoder::{Embedded, EncodeError, Encoder};
pub use error::Error;
pub use header::{Header, MAX_HEADER, Parsed};
pub use layout::{Band, LEVELS, UNITS, Unit};
pub use linear::{Linear, Planes};
pub use model::{Model, ModelId};
pub use picture::{Channels, MAX_SIDE, Picture, Size};
pub use transform::{Analysis, Coefficients, Cut, Synthesis, TransformError};
