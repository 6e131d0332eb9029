//! The path to a receiver: its rate and delay, and how many bytes may be in flight on it.

mod ack_delay;
mod backlog;
mod competitive_mode;
pub(crate) mod delay_controller;
mod delivery_rate_sampler;
pub(crate) mod limits;
mod loss;
mod policer;
mod rate_drop;
pub(crate) mod round;
mod round_trip_probe;
mod route_change;
mod shortest;
pub(crate) mod stats;
mod target;
