//! Reads figures of a broadcast from outside.

use std::sync::Arc;

use crate::figures::statistics::{Counters, Statistics};

/// Reads the figures of a broadcast that runs.
#[derive(Debug, Clone)]
pub struct Monitor(pub(crate) Arc<Counters>);

impl Monitor {
    /// The figures of now.
    #[must_use]
    pub fn read(&self) -> Statistics {
        self.0.read()
    }
}
