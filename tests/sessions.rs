//! Broadcasts in virtual time, or without a network.

mod fanout;
mod growth;
mod join_storm;
mod late_bytes;
mod live_video;
mod network;
mod playout;
mod recording;
mod return_storm;
mod returns;
mod sound;
mod starts;
