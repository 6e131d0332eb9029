//! Colour: the axes in a header, the search for them, and the conversion between samples and planes.

pub(crate) mod axes;
mod axes_search;
pub(crate) mod convert;
pub(crate) mod givens;
pub(crate) mod planes;
mod ycbcr;
