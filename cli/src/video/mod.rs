//! Videos: y4m in, stored videos for all bit rates, and back.

mod clip;
mod cut;
mod decode;
mod encode;
mod eval;
mod inspect;

pub(crate) use clip::model;
pub(crate) use cut::run as cut;
pub(crate) use decode::run as decode;
pub(crate) use encode::run as encode;
pub(crate) use eval::run as eval;
pub(crate) use inspect::run as inspect;
