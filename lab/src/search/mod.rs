//! Pictures found by ordered binary codes: [`Coder`] makes codes of files, [`index`] gathers those of many, and
//! [`Report`] shows what a search found, for people, for programs and drawn.

mod coder;
mod index;
mod report;

pub use coder::{Coder, Query};
pub use index::{Summary, index, pictures_below};
pub use report::Report;
