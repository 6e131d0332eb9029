//! The residual string of a video frame (spec, "Frames: residual string"): what prediction left, as one string of bytes of
//! which every prefix decodes. What a prefix gives is made of integers alone, since later frames are predicted from it.

mod analysis;
pub(crate) mod decoder;
pub(crate) mod encoder;
#[cfg(test)]
mod naive;
pub(crate) mod planes;
mod synthesis;
#[cfg(test)]
mod tests;
