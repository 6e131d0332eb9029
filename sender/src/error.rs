//! Errors that stop a broadcast.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use nestcast_proto::{BroadcastName, SourceError};

/// An error of a broadcast, in one line. Its [source](std::error::Error::source) says more, if it has one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address is in use, or is not this machine's, or the caller is outside a tokio runtime.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// A certificate or key cannot be used.
    #[error("{} cannot be used", file.display())]
    Certificate {
        /// The file.
        file: PathBuf,
        /// The fault in it.
        #[source]
        fault: PemFault,
    },
    /// The private key does not match the certificate.
    #[error("the certificate and the private key do not belong together")]
    KeyMismatch,
    /// TLS refuses the configuration, or the system gives no random numbers: the text is the library's.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
    /// Every receiver would refuse what a source announces: its [`welcome`](crate::FrameSource::welcome).
    #[error("every receiver would refuse what the source announces, pictures of {width}x{height} pixels: {why}")]
    Welcome {
        /// The width that it announces.
        width: u32,
        /// The height that it announces.
        height: u32,
        /// What a receiver says of it.
        why: &'static str,
    },
    /// Two sources have this name.
    #[error("two sources have the name \"{0}\": give each a name of its own")]
    SameName(BroadcastName),
    /// The source broke off or failed before its end.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A source broke off or failed before its end, and there were several.
    #[error("the broadcast {name} failed")]
    Broadcast {
        /// The name of its broadcast.
        name: BroadcastName,
        /// Why it failed.
        source: SourceError,
    },
}

/// The fault in a PEM file that should contain a certificate or a private key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PemFault {
    /// The system cannot read it.
    #[error("it cannot be read, so name a PEM file with the {what}")]
    Unreadable {
        /// What it should contain.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// It is a PEM file without that.
    #[error("no {what} is in it: name a PEM file with one")]
    Missing {
        /// What it should contain.
        what: &'static str,
    },
    /// A passphrase protects its private key.
    #[error("its private key is encrypted: write it without a passphrase, as `openssl pkey` does")]
    Encrypted,
    /// It is no PEM file, or a damaged one.
    #[error("it is no PEM file with a {what}: {reason}: write or get it again")]
    Damaged {
        /// What it should contain.
        what: &'static str,
        /// The library's text.
        reason: String,
    },
}
