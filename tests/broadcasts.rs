//! Broadcasts in real time, over loopback.

mod live;
mod peers;
