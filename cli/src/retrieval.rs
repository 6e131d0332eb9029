//! Ordered binary codes of pictures: `nestcast index` and `search`, and files of one code.

mod code_file;
mod index;
mod search;

pub(crate) use code_file::{cut, decode, encode, inspect, is_code};
pub(crate) use index::run as index;
pub(crate) use search::run as search;
