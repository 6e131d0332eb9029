//! For those who train models: what coding meets, and tables from it.

mod counts;
pub(crate) mod post_filter;
pub(crate) mod symbols;
pub(crate) mod tally;
pub(crate) mod video;
