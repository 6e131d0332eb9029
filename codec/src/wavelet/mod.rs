//! The wavelet: lifting along rows and columns, a picture's rows at a time.

pub(crate) mod analysis;
mod bounds;
pub(crate) mod integer;
pub(crate) mod lift;
mod line;
#[cfg(test)]
pub(crate) mod naive;
mod narrow;
mod norms;
mod rows;
pub(crate) mod strips;
pub(crate) mod synthesis;
pub(crate) mod whole;

pub(crate) use norms::norms;
