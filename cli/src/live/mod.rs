//! `nestcast send` and `nestcast receive`: a broadcast from the command line.

mod lines;
mod page;
mod process;
mod receive;
mod record;
mod send;
mod sound;
mod source;
mod to_live;
mod viewer;

#[cfg(feature = "demo")]
pub(crate) use page::Page;
pub(crate) use receive::run as receive;
pub(crate) use send::run as send;
