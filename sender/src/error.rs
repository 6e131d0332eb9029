//! Why a broadcast could not begin or go on.

use std::net::SocketAddr;
use std::path::PathBuf;

use nestcast_proto::SourceError;

/// What went wrong, in one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address is taken, or not this machine's.
    #[error("cannot listen on {address}: {reason}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        reason: std::io::Error,
    },
    /// A certificate or key cannot be used.
    #[error("{}: {reason}", file.display())]
    Certificate {
        /// The file.
        file: PathBuf,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The private key is not that of the certificate.
    #[error("the certificate and the private key do not belong together")]
    KeyMismatch,
    /// TLS refuses the configuration.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
    /// The source has no more frames, though it did not come to its end.
    #[error(transparent)]
    Source(#[from] SourceError),
}
