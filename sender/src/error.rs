//! Errors that stop a broadcast.

use std::net::SocketAddr;
use std::path::PathBuf;

use nestcast_proto::SourceError;

/// An error of a broadcast, in one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address is in use, or is not this machine's.
    #[error("cannot listen on {address}: {reason}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        reason: std::io::Error,
    },
    /// A certificate or key cannot be used.
    #[error("{}: {reason}", file.display())]
    Certificate {
        /// The file.
        file: PathBuf,
        /// The cause, and what to do.
        reason: String,
    },
    /// The private key does not match the certificate.
    #[error("the certificate and the private key do not belong together")]
    KeyMismatch,
    /// TLS refuses the configuration.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
    /// The source broke off or failed before its end.
    #[error(transparent)]
    Source(#[from] SourceError),
}
