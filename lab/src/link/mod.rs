//! A link on one machine, without privileges: a relay between clients and a server on loopback that lets UDP packets
//! through at a given rate, behind a queue, after a delay.
//!
//! ```text
//! client <- delay <- rate <- queue <- server
//!        -> delay ------------------>
//! ```
//!
//! Real sockets and real time on both sides, so any QUIC runs over it. It is as exact as the timer of the machine: a
//! packet may be late by a millisecond, but the rate holds, because each packet's departure is computed from the one
//! before it and not from when the relay woke.

mod relay;
mod schedule;
pub mod trace;

pub use relay::{Relay, Traffic};
pub use schedule::{Link, Policer, Schedule};
