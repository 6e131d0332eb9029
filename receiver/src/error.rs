//! Errors that stop a receiver.

use std::error::Error as StdError;
use std::net::SocketAddr;
use std::time::Duration;

use nestcast_proto::{Code, ReceiverEnd};

use crate::address::Address;

/// What went wrong, in one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// TLS refuses the configuration, or the system refuses the socket.
    #[error("receiving cannot be set up: {0}")]
    Setup(String),
    /// The system knows no address of the sender's host.
    #[error("{0} cannot be found: check the host's name")]
    UnknownHost(Address),
    /// The sender is not there or not the right one.
    #[error("cannot connect to {address}: {reason}")]
    Connect {
        /// The sender's address.
        address: SocketAddr,
        /// The cause.
        reason: String,
    },
    /// The sender does not show the trusted certificate.
    #[error("the receiver does not trust the sender at {address}: {reason}")]
    Untrusted {
        /// The sender's address.
        address: SocketAddr,
        /// The problem with its certificate.
        reason: String,
    },
    /// The sender closed the connection with this code.
    #[error("{0}")]
    Closed(Code),
    /// This end ended the session: the sender broke a rule, was too slow, or has a model that is missing here.
    #[error(transparent)]
    Session(#[from] ReceiverEnd),
    /// The connection broke.
    #[error("the connection to {address} broke: {reason}")]
    Lost {
        /// The sender's address.
        address: SocketAddr,
        /// The cause.
        reason: String,
    },
    /// The sink refuses the announced broadcast, or its model package.
    #[error(transparent)]
    Refused(Box<dyn StdError + Send + Sync>),
    /// The sink cannot continue: its output is closed, or too many frames in a row cannot be decoded.
    #[error(transparent)]
    Sink(Box<dyn StdError + Send + Sync>),
    /// All attempts to connect failed.
    #[error("{last}; gave up after {attempts} attempts in {} s", .time.as_secs())]
    GaveUp {
        /// The error of the last attempt.
        last: Box<Self>,
        /// The number of attempts since pictures last arrived.
        attempts: u32,
        /// The time since then.
        time: Duration,
    },
}

impl Error {
    /// Makes an error of a sink that cannot continue.
    pub(crate) fn sink(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Sink(error.into())
    }

    /// Makes an error of a sink that refuses the broadcast.
    pub(crate) fn refused(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Refused(error.into())
    }

    /// Returns whether a new connection may help although nobody changes anything.
    pub(crate) const fn may_retry(&self) -> bool {
        match self {
            Self::UnknownHost(_) | Self::Connect { .. } | Self::Lost { .. } | Self::Session(ReceiverEnd::Late(_)) => {
                true
            }
            Self::Closed(code) => code.may_retry(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use nestcast_proto::Close;

    use super::*;

    #[test]
    fn a_sender_that_is_late_is_tried_again_and_said_to_be_slow_but_not_one_that_breaks_rules() {
        let ends = |end| Error::Session(end);
        let late = ends(ReceiverEnd::Late("no welcome came"));
        let rude =
            ends(ReceiverEnd::Violation(Close { code: Code::Violation, why: "the first message is no welcome" }));
        assert!(late.may_retry() && !rude.may_retry());
        assert_eq!(late.to_string(), "the sender is too slow: no welcome came in time");
        assert!(rude.to_string().contains("breaks the session's rules"));
        let why = "the sender announces frames of a kind that this receiver does not know";
        let other = ends(ReceiverEnd::Violation(Close { code: Code::Unsupported, why }));
        assert!(!other.to_string().contains("breaks"), "{other}");
        assert!(Error::Closed(Code::Failed).may_retry() && !Error::Closed(Code::Done).may_retry());
    }
}
