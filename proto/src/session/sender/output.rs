//! What a sender's session asks of its driver.

use bytes::Bytes;

use crate::wire::close::Close;
use crate::wire::message::Hello;

/// Whose bytes go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// After those of all streams that were opened before.
    InTurn,
    /// Before those of all other streams.
    First,
}

/// What a driver must do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SenderOutput {
    /// A receiver that may come in said hello. Call [`SenderSession::handle_admitted`](crate::SenderSession::handle_admitted) if there is a place for it, or close the
    /// connection with [`Code::Full`](crate::Code::Full).
    Hello(Hello),
    /// Write all of these bytes to the control stream.
    Say(Bytes),
    /// Finish this end of the control stream.
    FinishControl,
    /// Open a unidirectional stream, and tell [`SenderSession::handle_opened`](crate::SenderSession::handle_opened) its number.
    Open(Urgency),
    /// Write [`SenderSession::unwritten`](crate::SenderSession::unwritten) to the stream that was opened last, as far as [`SenderSession::room`](crate::SenderSession::room) lets and the
    /// transport takes it, and tell [`SenderSession::handle_written`](crate::SenderSession::handle_written). Repeated until something is written or another input changes
    /// it, so a driver waits for either.
    Write,
    /// Finish this stream. Bytes of it that are lost go before what is newer. Keep it until [`SenderOutput::Release`].
    Finish(u64),
    /// Reset this stream: nothing of it is sent any more, or again.
    Reset(u64),
    /// All streams whose bytes are on the way were reset: nothing that is in flight now is sent again. A congestion controller
    /// that counts unsent bytes counts from zero.
    FlightReset,
    /// This stream is not spoken of any more.
    Release(u64),
    /// Let this many packets go beyond the congestion window, from now on: they carry bases.
    AllowBeyond(u64),
    /// Tell [`SenderSession::handle_settled`](crate::SenderSession::handle_settled) when all of this stream has arrived: a close would overtake it.
    Await(u64),
    /// Close the connection with [`SenderEnd::close`]. Nothing follows.
    Close(SenderEnd),
}

/// Why a sender ends a receiver's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SenderEnd {
    /// There are no more frames.
    #[error(transparent)]
    Over(Close),
    /// The receiver is not let in, or broke a rule.
    #[error(transparent)]
    Refused(Close),
}

impl SenderEnd {
    /// What the receiver is told.
    #[must_use]
    pub const fn close(&self) -> Close {
        match self {
            Self::Over(close) | Self::Refused(close) => *close,
        }
    }
}
