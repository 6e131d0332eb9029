//! Sources of frames, and the fan-out to all consumers.

pub(crate) mod any_source;
pub(crate) mod fanout;
mod latest_value;
mod live_sound;
pub(crate) mod live_source;
mod muxed;
pub(crate) mod paced_source;
pub(crate) mod recorded_frames;
pub(crate) mod rewind;
pub(crate) mod rewind_store;
mod running_clock;
mod schedule;
pub(crate) mod sound;
pub(crate) mod source;
pub(crate) mod source_check;
mod waiting_sound;
