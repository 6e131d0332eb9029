//! What a sender's session asks its driver to do.

use bytes::Bytes;

use crate::wire::close::Close;
use crate::wire::message::Hello;

/// The order of a stream's bytes among all streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// After those of all streams that were opened before.
    InTurn,
    /// Before those of all streams but sound.
    First,
    /// Before those of all other streams: a packet of sound.
    Sound,
}

/// An action for the driver.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SenderOutput {
    /// A receiver said hello. Decide whether its token admits it and whether there is a slot for it. Then call
    /// [`SenderSession::handle_admitted`](crate::SenderSession::handle_admitted), or close the connection with the
    /// reason, such as [`Code::Token`](crate::Code::Token) or [`Code::Full`](crate::Code::Full). Until then the
    /// session sends nothing.
    Hello(Hello),
    /// Write all of these bytes to the control stream.
    Say(Bytes),
    /// Finish this end of the control stream.
    FinishControl,
    /// Open a unidirectional stream, and tell [`SenderSession::handle_opened`](crate::SenderSession::handle_opened) its
    /// number.
    Open(Urgency),
    /// Open a unidirectional stream with [`Urgency::Sound`], write all of these bytes to it and finish it. The session
    /// does not name the stream. Tell [`SenderSession::handle_sound`](crate::SenderSession::handle_sound) how many of
    /// these streams are not known to have arrived, and let them arrive before a close.
    Sound(Bytes),
    /// Write [`SenderSession::unwritten`](crate::SenderSession::unwritten) to the stream opened last, as far as
    /// [`SenderSession::room`](crate::SenderSession::room) and the transport allow. Then call
    /// [`SenderSession::handle_written`](crate::SenderSession::handle_written). The session repeats this until
    /// something is written or another input changes it, so a driver waits for either.
    Write,
    /// Finish this stream. Its lost bytes go before newer streams. Keep it until [`SenderOutput::Release`].
    Finish(u64),
    /// Reset this stream: send and resend nothing of it.
    Reset(u64),
    /// All streams with bytes in flight were reset: nothing in flight now is sent again. A congestion controller that
    /// counts unsent bytes restarts from zero.
    FlightReset,
    /// The session does not refer to this stream any more.
    Release(u64),
    /// From now on let this many packets exceed the congestion window: they carry base layers.
    AllowBeyond(u64),
    /// Call [`SenderSession::handle_settled`](crate::SenderSession::handle_settled) when all of this stream has
    /// arrived: a close would overtake it.
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
    /// The receiver was refused, or broke a rule.
    #[error(transparent)]
    Refused(Close),
}

impl SenderEnd {
    /// Returns the close that the receiver gets.
    #[must_use]
    pub const fn close(&self) -> Close {
        match self {
            Self::Over(close) | Self::Refused(close) => *close,
        }
    }
}
