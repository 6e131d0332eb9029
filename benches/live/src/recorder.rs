//! A sink that keeps what comes, for it to be decoded when the broadcast is over.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use nestcast_lab::bottleneck::Bottleneck;
use nestcast_proto::{Arrived, ReceiveStats};
use nestcast_receiver::FrameSink;

/// A frame as it came.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    /// Its number.
    pub(crate) id: u64,
    /// When it was captured, on the link's clock.
    pub(crate) captured: Duration,
    /// When it was handed over to be shown, on the link's clock.
    pub(crate) at: Duration,
    /// As much of it as came in time.
    pub(crate) prefix: Bytes,
}

/// Keeps frames.
#[derive(Debug)]
pub(crate) struct Recorder {
    network: Bottleneck,
    /// In the order in which they came.
    pub(crate) frames: Vec<Recorded>,
}

impl Recorder {
    /// Of a broadcast over this network.
    #[must_use]
    pub(crate) fn new(network: &Bottleneck) -> Self {
        Self { network: network.clone(), frames: Vec::new() }
    }
}

impl FrameSink for Recorder {
    type Error = Infallible;

    fn handle_frame(&mut self, frame: Arrived, _stats: ReceiveStats) -> Result<(), Infallible> {
        let captured = Duration::from_micros(frame.header.captured);
        self.frames.push(Recorded { id: frame.header.id, captured, at: self.network.now(), prefix: frame.prefix });
        Ok(())
    }
}
