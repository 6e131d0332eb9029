//! The residual bitstream of a video frame (spec, "Frames: residual bitstream"): it codes the prediction's error, and
//! every prefix of it decodes. Residuals are computed in integers alone, because later frames are predicted from them.

pub(crate) mod analysis;
pub(crate) mod decoder;
pub(crate) mod encoder;
#[cfg(test)]
mod naive;
pub(crate) mod planes;
pub(crate) mod synthesis;
#[cfg(test)]
mod tests;
