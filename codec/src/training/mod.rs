//! For those who train models: what coding meets, and tables from it.

mod counts;
pub(crate) mod tally;
pub(crate) mod video;
