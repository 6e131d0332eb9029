//! `nestcast send` and `nestcast receive`: a broadcast from the command line.

mod lines;
mod process;
mod receive;
mod record;
mod send;
mod sound;
mod source;
mod viewer;

pub(crate) use receive::run as receive;
pub(crate) use send::run as send;
