//! Colour: the axes that a header carries, the search for them, and the way between samples and planes.

pub(crate) mod axes;
mod axes_search;
pub(crate) mod convert;
pub(crate) mod givens;
pub(crate) mod planes;
mod ycbcr;
