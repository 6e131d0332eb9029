//! Packages of binary codes (Rippel, Gelbart, Adams 2014, sections 4.3 and 5): a network from a picture of 32x32 pixels
//! to ordered bits, and for some a network back from any number of the first bits.

mod coder;
mod package;
mod shrink;
mod uncropped;

pub use coder::{CodeDecoder, CodeEncoder};
pub use package::{CodeManifest, CodePackage};
pub use shrink::SIDE_PIXELS;
