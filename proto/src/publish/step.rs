//! The actions that a publisher asks of the transport.

/// An action for the transport; see the crate's example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Open a stream; its bytes go after those of all earlier ones. Tell
    /// [`Publisher::handle_opened`](crate::Publisher::handle_opened) its number.
    Open {
        /// The frame that it carries, or belongs to.
        frame: u64,
    },
    /// Write [`Publisher::unwritten`](crate::Publisher::unwritten) to it, as far as it accepts the bytes, and call
    /// [`Publisher::handle_written`](crate::Publisher::handle_written).
    Write,
    /// Finish it. Unwritten bytes are not part of it.
    Finish,
    /// Reset all streams opened so far for frames from `first` on: most bytes in flight are lost, and none is worth
    /// sending again. Then open a stream for the base layers of these frames, whose bytes go before all others.
    BaseRetransmission {
        /// The oldest of the frames; this stream counts as that frame's.
        first: u64,
    },
}
