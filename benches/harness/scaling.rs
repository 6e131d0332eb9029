//! A line of the table of how time and memory grow with the picture.

use serde::{Deserialize, Serialize};

/// One operation on one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Processor and cores.
    pub machine: String,
    /// Threads used.
    pub threads: usize,
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// Millions of pixels.
    pub megapixels: f64,
    /// The operation and its transform.
    pub operation: String,
    /// Length of the stream.
    pub bytes: usize,
    /// Time in milliseconds, the least of several runs.
    pub ms: f64,
    /// Peak resident set of the process in MiB, where the system reports it.
    pub peak_mib: Option<f64>,
}
