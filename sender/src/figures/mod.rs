//! A broadcast's figures, for people: nothing here decides anything.

#[cfg(feature = "metrics")]
pub(crate) mod metrics_server;
pub(crate) mod monitor;
#[cfg(feature = "metrics")]
pub(crate) mod open_metrics;
pub(crate) mod progress_line;
#[cfg(feature = "serde")]
mod report;
pub(crate) mod statistics;
