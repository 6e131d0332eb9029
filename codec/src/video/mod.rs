//! Frames of video: each predicted from those before, as one embedded string that every receiver may cut anywhere.

mod allotment;
pub(crate) mod budget;
pub(crate) mod container;
pub(crate) mod decoder;
pub(crate) mod encoder;
pub(crate) mod head;
pub(crate) mod model;
pub(crate) mod population;
mod state;
#[cfg(test)]
mod tests;
