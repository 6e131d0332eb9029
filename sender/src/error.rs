//! Errors that stop a broadcast.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use nestcast_proto::SourceError;

/// An error of a broadcast, in one line.
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
    /// The source broke off or failed before its end.
    #[error(transparent)]
    Source(#[from] SourceError),
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
