//! Reads a broadcast's figures from outside.

use std::sync::Arc;

use crate::figures::statistics::{Counters, Statistics};

/// Reads the figures of a broadcast, during it and after it.
#[derive(Debug, Clone)]
pub struct Monitor(pub(crate) Arc<Counters>);

impl Monitor {
    /// Returns the current figures.
    #[must_use]
    pub fn read(&self) -> Statistics {
        self.0.read()
    }
}
