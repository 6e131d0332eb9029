//! The stream: its header, the interleaved slices, and whole encodes and decodes.

pub(crate) mod decoder;
pub(crate) mod encoded;
pub(crate) mod encoder;
mod extras;
pub(crate) mod header;
pub(crate) mod interleave;
mod slice_coder;
pub(crate) mod slice_decoder;
pub(crate) mod slice_encoder;
