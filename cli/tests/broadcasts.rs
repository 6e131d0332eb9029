//! Broadcasts of the program: `send` and `receive`.

mod harness;
mod live;
mod live_access;
mod live_clocks;
mod live_matroska;
mod live_progress;
mod live_recording;
mod live_records;
mod live_refusals;
mod live_relay;
mod live_rewinding;
mod live_secrets;
mod live_several;
mod live_sound;
mod live_sources;
mod live_waiting;
