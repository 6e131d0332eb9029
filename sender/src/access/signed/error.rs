//! Errors of key files.

use std::io;

/// Why a file with keys cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The system cannot read or write it.
    #[error("it cannot be read or written")]
    Io(#[from] io::Error),
    /// It is no JWK Set, a JSON object with a list `keys`.
    #[error("it is no JWK Set: {0}")]
    NotAKeySet(serde_json::Error),
    /// It is longer than 64 kB, or has over 64 keys.
    #[error("it is too long: a set has at most 64 keys in 64 kB")]
    TooLong,
    /// No key in it can check tokens.
    #[error("it has no public key on P-256 (ES256) or Ed25519 (EdDSA)")]
    NoUsableKey,
    /// It has a private or secret key, which only the signer may know.
    #[error("it has a private or secret key: keep that where tokens are signed, and name a file of public keys")]
    Secret,
    /// It is no private key on Ed25519 or P-256 in PEM and PKCS #8.
    #[error("it is no private key for Ed25519 or P-256 in PEM (PKCS #8)")]
    NotAPrivateKey,
    /// The system provides no random numbers, or the library refuses to sign.
    #[error("no key or signature can be made: {0}")]
    Signing(String),
}
