//! Why receiving could not begin or go on.

use std::net::SocketAddr;

use nestcast_proto::Code;

/// What went wrong, in one line that says who must act.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// TLS refuses the configuration, or the system the socket.
    #[error("receiving cannot be set up: {0}")]
    Setup(String),
    /// The sender is not there or not the right one.
    #[error("cannot connect to {address}: {reason}")]
    Connect {
        /// Where it should be.
        address: SocketAddr,
        /// What happened.
        reason: String,
    },
    /// The sender does not show the certificate that is trusted.
    #[error("the sender at {address} is not who it should be: {reason}; check --fingerprint or --ca")]
    Untrusted {
        /// Where it is.
        address: SocketAddr,
        /// What is wrong with its certificate.
        reason: String,
    },
    /// The sender ended the connection, and said why.
    #[error("{0}")]
    Closed(Code),
    /// The sender broke the rules.
    #[error("the sender breaks the session's rules: {0}")]
    Violation(#[from] nestcast_proto::Close),
    /// The connection broke.
    #[error("the connection to {address} broke: {reason}")]
    Lost {
        /// Where it led.
        address: SocketAddr,
        /// What happened.
        reason: String,
    },
    /// The viewer cannot go on: its output is closed, or the model is not to be had.
    #[error("{0}")]
    View(String),
}

impl Error {
    /// Whether connecting anew may help without anyone changing anything.
    pub(crate) const fn may_retry(&self) -> bool {
        match self {
            Self::Connect { .. } | Self::Lost { .. } => true,
            // A sender that is starved, not one that breaks rules.
            Self::Violation(close) => matches!(close.code, Code::Slow),
            Self::Closed(code) => code.may_retry() && !matches!(code, Code::Done),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use nestcast_proto::Close;

    use super::*;

    #[test]
    fn a_sender_that_is_late_is_tried_again_but_not_one_that_breaks_rules() {
        let late = Error::from(Close { code: Code::Slow, why: "no welcome came in time" });
        let rude = Error::from(Close { code: Code::Violation, why: "the first message is no welcome" });
        assert!(late.may_retry() && !rude.may_retry());
        assert!(Error::Closed(Code::Failed).may_retry() && !Error::Closed(Code::Done).may_retry());
    }
}
