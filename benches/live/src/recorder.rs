//! A sink that stores frames, to decode them after the broadcast.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::{ReceiveStats, ReceivedFrame};
use nestcast_receiver::FrameSink;

/// A received frame.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Its number.
    pub id: u64,
    /// When it was captured, on the sender's clock.
    pub captured: Duration,
    /// When it was handed over to be shown, on the same clock.
    pub at: Duration,
    /// The part of it that arrived in time.
    pub prefix: Bytes,
}

/// Stores frames.
pub struct Recorder {
    clock: Box<dyn Fn() -> Duration + Send>,
    /// The frames in the order of arrival.
    pub frames: Vec<Recorded>,
    /// What was received by the last of them.
    pub received: ReceiveStats,
}

impl Recorder {
    /// Takes a clock that agrees with the sender's.
    pub fn new(clock: impl Fn() -> Duration + Send + 'static) -> Self {
        Self { clock: Box::new(clock), frames: Vec::new(), received: ReceiveStats::default() }
    }
}

impl FrameSink for Recorder {
    type Error = Infallible;

    fn handle_frame(&mut self, frame: ReceivedFrame, stats: ReceiveStats) -> Result<(), Infallible> {
        let captured = Duration::from_micros(frame.header.captured);
        self.frames.push(Recorded { id: frame.header.id, captured, at: (self.clock)(), prefix: frame.prefix });
        self.received = stats;
        Ok(())
    }
}
