//! What a receiver's session asks its driver to do.

use std::time::Duration;

use bytes::Bytes;

use crate::subscribe::late::More;
use crate::subscribe::subscriber::ReceivedFrame;
use crate::wire::close::{Close, Code};
use crate::wire::message::{PackageHash, Welcome};
use crate::wire::sound::{Sound, SoundPacket};
use crate::wire::start::Start;

/// An action for the driver, or data for it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReceiverOutput {
    /// Write these bytes to the control stream. Call
    /// [`ReceiverSession::handle_said`](crate::ReceiverSession::handle_said) when the transport has accepted all of
    /// them.
    Say(Bytes),
    /// The broadcast that the next [`ReceiverOutput::Welcome`] announces has this sound. If you play it, call
    /// [`ReceiverSession::handle_sound_wanted`](crate::ReceiverSession::handle_sound_wanted).
    SoundAnnounced(Sound),
    /// The hello asked for a start: the receiver begins here, or where all others are if this is `None`.
    Start(Option<Start>),
    /// The sender announced its broadcast. Answer with
    /// [`ReceiverSession::handle_ready`](crate::ReceiverSession::handle_ready) or
    /// [`ReceiverSession::handle_package_missing`](crate::ReceiverSession::handle_package_missing). Until then read no
    /// stream: the session ignores frames that begin earlier.
    Welcome {
        /// The announcement.
        welcome: Welcome,
        /// The time on the sender's clock now, since 1970-01-01 UTC, accurate to half of the path's round trip. Frames
        /// state their capture times by that clock.
        sender_clock: Duration,
    },
    /// The model package that the session asked for, unchecked. Call
    /// [`ReceiverSession::handle_package_taken`](crate::ReceiverSession::handle_package_taken) if it is the right one.
    Package(Bytes),
    /// Show this frame.
    Frame(ReceivedFrame),
    /// Play this packet of sound. Packets come as they arrive: in any order, and each at most once.
    Sound(SoundPacket),
    /// Add these bytes to the picture that was shown last.
    More(More),
    /// From now on bytes of this stream are useful in any order, because parity can fill the gaps before them. A
    /// transport that can only read in order may ignore this.
    ReadUnordered(u64),
    /// Stop reading this stream (RFC 9000, section 3.5): the rest of it is useless.
    Stop(u64),
    /// Close the connection with [`ReceiverEnd::close`]. Nothing follows.
    Close(ReceiverEnd),
}

/// Why a receiver ends a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiverEnd {
    /// The sender broke a rule, or announced something that this receiver does not know.
    #[error("{}", broken(.0))]
    Violation(Close),
    /// The sender did not do this in time.
    #[error("the sender is too slow: {0} in time")]
    Late(&'static str),
    /// The receiver lacks this model package and may not ask for it.
    #[error("the sender's model package {0} is not here")]
    PackageMissing(PackageHash),
}

fn broken(close: &Close) -> String {
    match close.code {
        Code::Violation => format!("the sender breaks the session's rules: {close}"),
        _ => close.to_string(),
    }
}

impl ReceiverEnd {
    /// Returns the close that the sender gets.
    #[must_use]
    pub const fn close(&self) -> Close {
        match self {
            Self::Violation(close) => *close,
            Self::Late(why) => Close { code: Code::Slow, why },
            Self::PackageMissing(_) => Close { code: Code::Model, why: "the receiver cannot show this" },
        }
    }
}
