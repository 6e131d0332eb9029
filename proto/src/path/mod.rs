//! The path to a receiver: its rate and delay, and how many bytes may be in flight on it.

mod busy;
mod competition;
pub(crate) mod delay_controller;
mod drain;
mod held;
pub(crate) mod limits;
mod loss;
mod policer;
mod rate_drop;
pub(crate) mod round;
mod route_change;
mod shortest;
pub(crate) mod stats;
mod target;
