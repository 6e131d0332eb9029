//! What a publisher asks the transport to do.

/// What to do with the transport; see the crate's example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Open a stream; its bytes go after those of all earlier ones. Tell [`Publisher::handle_opened`](crate::Publisher::handle_opened)
    /// its number.
    Open {
        /// The frame that it carries, or belongs to.
        frame: u64,
    },
    /// Write [`Publisher::unwritten`](crate::Publisher::unwritten) to it, as far as it takes them, and tell
    /// [`Publisher::handle_written`](crate::Publisher::handle_written).
    Write,
    /// Finish it. What was not written is not part of it.
    Finish,
    /// Reset all streams that were opened so far for frames from `first` on: most of what is on the way is lost, and none of
    /// it is worth sending again. Then open one for the bases of these frames, whose bytes go before all others'.
    Again {
        /// The oldest of the frames; this stream counts as one of it.
        first: u64,
    },
}
