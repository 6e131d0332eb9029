//! Video frames: each is predicted from those before, and its embedded bitstream can be cut anywhere for every
//! receiver.

mod ages;
pub(crate) mod base_layer;
pub(crate) mod budget;
mod concealment;
pub(crate) mod container;
pub(crate) mod decoder;
mod difference;
pub(crate) mod display;
pub(crate) mod encoder;
pub(crate) mod frame;
mod frame_motion;
pub(crate) mod head;
mod lagrange_multiplier;
pub(crate) mod model;
pub(crate) mod population;
mod rate_allocation;
mod recall;
mod rendition_encoder;
pub(crate) mod rendition_rates;
pub(crate) mod renditions;
mod renewal;
pub(crate) mod residuals;
pub(crate) mod restoration;
pub(crate) mod settings;
pub(crate) mod shown;
pub(crate) mod sound_block;
mod source;
mod state;
mod strip;
pub(crate) mod switch;
#[cfg(test)]
mod tests;
