//! Errors that stop a receiver.

use std::error::Error as StdError;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use nestcast_proto::{Cause, Code, MAX_TOKEN, ReceiverEnd};

use crate::address::Address;

/// What went wrong, in one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refuses the socket.
    #[error("the system gives no socket to receive with")]
    Socket(#[source] io::Error),
    /// TLS or QUIC refuses the configuration: this build or the configuration is wrong, and the text is the library's.
    #[error("receiving cannot be set up: {0}")]
    Setup(String),
    /// [`ReceiverConfig::token`](crate::ReceiverConfig::token) has this many bytes.
    #[error("the token is too long: it has {0} bytes, and a token has at most {MAX_TOKEN}")]
    TokenTooLong(usize),
    /// The file of trusted authorities cannot be used.
    #[error("{} cannot be used", file.display())]
    Authorities {
        /// The file.
        file: PathBuf,
        /// The fault in it.
        #[source]
        fault: AuthoritiesFault,
    },
    /// The system knows no address of the sender's host.
    #[error("{0} cannot be found: check the host's name")]
    UnknownHost(Address),
    /// The sender is not there or not the right one.
    #[error("cannot connect to {address}: {cause}")]
    Connect {
        /// The sender's address.
        address: SocketAddr,
        /// The cause.
        cause: ConnectionFault,
    },
    /// The sender does not show the trusted certificate.
    #[error("the receiver does not trust the sender at {address}: {fault}")]
    Untrusted {
        /// The sender's address.
        address: SocketAddr,
        /// The problem with its certificate.
        fault: CertificateFault,
    },
    /// The sender closed the connection with this code.
    #[error("{0}")]
    Closed(Code),
    /// The receiver gave no name, but the sender has no broadcast without one.
    #[error("the sender's broadcasts have names, and the address needs one")]
    NameNeeded,
    /// This end ended the session: the sender broke a rule, was too slow, or has a model that is missing here.
    #[error(transparent)]
    Session(#[from] ReceiverEnd),
    /// The connection broke.
    #[error("the connection to {address} broke: {cause}")]
    Lost {
        /// The sender's address.
        address: SocketAddr,
        /// The cause.
        cause: ConnectionFault,
    },
    /// The sink refuses the announced broadcast, or its model package.
    #[error(transparent)]
    Refused(Cause),
    /// The sink cannot continue: its output is closed, or too many frames in a row cannot be decoded.
    #[error(transparent)]
    Sink(Cause),
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

/// The cause why there is no connection, or none any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionFault {
    /// Nothing answers.
    #[error("no answer: is a sender there?")]
    NoAnswer,
    /// The other end speaks no QUIC of version 1.
    #[error("the other end speaks no QUIC of version 1")]
    Version,
    /// The other end broke the rules of QUIC.
    #[error("the other end broke the rules of QUIC")]
    Violation,
    /// The other end refused the connection.
    #[error("the other end refused it")]
    Refused,
    /// The other end closed the connection.
    #[error("the other end closed it")]
    Closed,
    /// The sender no longer knows the connection.
    #[error("the sender does not know the connection any more: it was started again, or heard nothing for too long")]
    Reset,
    /// Nothing arrived for longer than a connection may be silent.
    #[error("nothing came for too long")]
    TimedOut,
    /// This end closed the connection.
    #[error("this end closed it")]
    ClosedHere,
    /// No connection ID is left.
    #[error("there are no connection IDs left")]
    NoConnectionId,
}

/// The problem with a sender's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateFault {
    /// Its fingerprint is not the expected one.
    #[error("its certificate has another fingerprint; a sender that was started again may have a new one")]
    Fingerprint,
    /// It has expired.
    #[error("its certificate has expired, or a clock is wrong: check the time here and there")]
    Expired,
    /// It is not valid yet.
    #[error("its certificate is not valid yet, or a clock is wrong: check the time here and there")]
    NotYetValid,
    /// None of the trusted authorities certifies it.
    #[error("no trusted authority certifies it")]
    UnknownAuthority,
    /// It is an authority's own certificate.
    #[error("its certificate is an authority's own: the sender needs one that it certifies")]
    OfAuthority,
    /// It is for another name than the host's.
    #[error("its certificate is for another name than the host's")]
    Name,
    /// It is invalid in another way.
    #[error("its certificate is not valid for a sender")]
    Invalid,
}

/// The fault in a file of trusted authorities.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuthoritiesFault {
    /// The system cannot read it.
    #[error("it cannot be read, so name a PEM file with certificates")]
    Unreadable(#[source] io::Error),
    /// It has no certificate.
    #[error("no certificate is in it: name a PEM file with one")]
    Empty,
    /// It is no PEM file, or a certificate in it is damaged; the text is the library's.
    #[error("it is no PEM file with certificates: {0}: get it again")]
    Damaged(String),
}

impl Error {
    /// Makes an error of a sink that cannot continue.
    pub(crate) fn sink(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Sink(Cause::new(error))
    }

    /// Makes an error of a sink that refuses the broadcast.
    pub(crate) fn refused(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Refused(Cause::new(error))
    }

    /// Returns whether the sender said nothing: it may be absent, or there is no path to it.
    pub(crate) const fn is_silence(&self) -> bool {
        matches!(
            self,
            Self::UnknownHost(_)
                | Self::Connect { cause: ConnectionFault::NoAnswer, .. }
                | Self::Lost { cause: ConnectionFault::TimedOut, .. }
        )
    }

    /// Returns whether a receiver that waits for broadcasts goes on. Another broadcast may begin where one ended or broke
    /// off, or where there is none yet. A token that expired may be replaced in its file.
    pub(crate) const fn may_wait(&self, has_token_file: bool) -> bool {
        match self {
            Self::Closed(Code::Done | Code::Source | Code::NoBroadcast) | Self::NameNeeded => true,
            Self::Closed(Code::Expired) => has_token_file,
            error => error.may_retry(),
        }
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

    #[test]
    fn a_receiver_that_waits_goes_on_where_a_broadcast_may_begin_or_a_token_may_be_replaced() {
        for code in [Code::Done, Code::Source, Code::NoBroadcast, Code::Full] {
            assert!(Error::Closed(code).may_wait(false), "{code}");
        }
        for code in [Code::Token, Code::Used, Code::Audience, Code::Denied, Code::Model, Code::Version] {
            assert!(!Error::Closed(code).may_wait(true), "{code}");
        }
        assert!(Error::Closed(Code::Expired).may_wait(true) && !Error::Closed(Code::Expired).may_wait(false));
    }
}
