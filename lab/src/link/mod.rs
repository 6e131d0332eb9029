//! A link on one machine, without privileges: a relay between clients and a server on loopback. It queues UDP packets,
//! lets them through at a given rate, and delays them.
//!
//! ```text
//! client <- delay <- rate <- queue <- server
//!        -> delay ------------------>
//! ```
//!
//! Both sides use real sockets and real time, so any QUIC runs over it. It is as exact as the timer of the machine: a
//! packet may be late by a millisecond. The rate holds because each packet's departure is computed from the one before
//! it, not from the time at which the relay woke.

mod relay;
mod schedule;
pub mod trace;

pub use relay::{Relay, Traffic};
pub use schedule::{Link, Policer, Schedule};
