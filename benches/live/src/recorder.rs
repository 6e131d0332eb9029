//! A sink that keeps what comes, for it to be decoded when the broadcast is over.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::{Arrived, ReceiveStats};
use nestcast_receiver::FrameSink;

/// A frame as it came.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Its number.
    pub id: u64,
    /// When it was captured, on the sender's clock.
    pub captured: Duration,
    /// When it was handed over to be shown, on the same clock.
    pub at: Duration,
    /// As much of it as came in time.
    pub prefix: Bytes,
}

/// Keeps frames.
pub struct Recorder {
    clock: Box<dyn Fn() -> Duration + Send>,
    /// In the order in which they came.
    pub frames: Vec<Recorded>,
    /// What came by the last of them.
    pub received: ReceiveStats,
}

impl Recorder {
    /// By a clock that says the same as the sender's.
    pub fn new(clock: impl Fn() -> Duration + Send + 'static) -> Self {
        Self { clock: Box::new(clock), frames: Vec::new(), received: ReceiveStats::default() }
    }
}

impl FrameSink for Recorder {
    type Error = Infallible;

    fn handle_frame(&mut self, frame: Arrived, stats: ReceiveStats) -> Result<(), Infallible> {
        let captured = Duration::from_micros(frame.header.captured);
        self.frames.push(Recorded { id: frame.header.id, captured, at: (self.clock)(), prefix: frame.prefix });
        self.received = stats;
        Ok(())
    }
}
