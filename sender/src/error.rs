//! Why a broadcast could not begin or go on.

use std::net::SocketAddr;
use std::path::PathBuf;

use nestcast_media::y4m;

/// What went wrong, in one line that says who must act.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address is taken, or not this machine's.
    #[error("cannot listen on {address}: {reason}: choose another address with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        reason: String,
    },
    /// A certificate or key cannot be used.
    #[error("{}: {reason}", file.display())]
    Certificate {
        /// The file.
        file: PathBuf,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// TLS refuses the configuration.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
    /// A video cannot be read, or goes on in the wrong place.
    #[error("{name}: {error}")]
    Video {
        /// The video's.
        name: String,
        /// What is wrong.
        error: y4m::Error,
    },
    /// The source broke off, or a picture of it cannot be used.
    #[error("{0}")]
    Source(String),
    /// A picture cannot be encoded.
    #[error("a picture cannot be encoded: {0}")]
    Encode(#[from] nestcast_codec::EncodeError),
}
