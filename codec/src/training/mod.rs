//! For those who train models: statistics of coding, and tables from them.

mod counts;
pub(crate) mod post_filter;
pub(crate) mod symbols;
pub(crate) mod tally;
pub(crate) mod video;
