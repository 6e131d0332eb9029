//! Errors of a relayed broadcast, one line each.

use std::error::Error as StdError;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use nestcast_proto::{Cause, ReceiverEnd};
use nestcast_relayed::Fault;

use crate::relay::MOQ_LITE_VERSIONS;

/// What went wrong, in one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refuses the socket.
    #[error("the system gives no socket for the relay")]
    Socket(#[source] io::Error),
    /// TLS refuses the trusted certificates.
    #[error(transparent)]
    Trust(#[from] nestcast_receiver::Error),
    /// The connection cannot be set up: this build or the configuration is wrong.
    #[error("the connection to a relay cannot be set up: {0}")]
    Setup(String),
    /// The system knows no address of the relay.
    #[error("{0} cannot be found: check the relay's name")]
    UnknownHost(String),
    /// The relay is not there, or not the right one.
    #[error("cannot connect to the relay at {address}: {cause}")]
    Connect {
        /// The relay's address.
        address: SocketAddr,
        /// The cause.
        cause: String,
    },
    /// The relay speaks other versions.
    #[error("the relay at {address} speaks {theirs}, and nestcast speaks {}", MOQ_LITE_VERSIONS.join(" and "))]
    Version {
        /// The relay's address.
        address: SocketAddr,
        /// The version that it speaks, or words for one that has no name.
        theirs: String,
    },
    /// The relay ended the connection, or it broke.
    #[error("the connection to the relay ended: {0}")]
    Lost(String),
    /// The relay refuses what was asked of it.
    #[error("the relay refuses {url}: {cause}")]
    Refused {
        /// The broadcast.
        url: String,
        /// The cause.
        cause: String,
    },
    /// The relay knows no such token, or lets nobody do this at this path.
    #[error("the relay does not allow this: check the path and the token in the URL")]
    Unauthorized,
    /// The relay has no such broadcast.
    #[error("the relay has no broadcast {0} at the moment")]
    NoBroadcast(String),
    /// The broadcast's catalog or tracks are not as the specification says.
    #[error("the broadcast at the relay is unusable: {0}")]
    Broadcast(#[from] Fault),
    /// The broadcast ended.
    #[error("the broadcast ended")]
    Ended,
    /// This end ended the session: the publisher or the relay broke a rule, or was too slow.
    #[error(transparent)]
    Session(#[from] ReceiverEnd),
    /// The sink cannot continue.
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

impl Error {
    pub(crate) fn sink(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Sink(Cause::new(error))
    }

    /// Returns whether another attempt may succeed.
    pub(crate) const fn may_retry(&self) -> bool {
        match self {
            Self::Connect { .. } | Self::UnknownHost(_) | Self::Lost(_) | Self::NoBroadcast(_) | Self::Ended => true,
            Self::Broadcast(fault) => matches!(fault, Fault::NoCatalog),
            Self::Session(end) => matches!(end, ReceiverEnd::Late(_)),
            _ => false,
        }
    }
}
