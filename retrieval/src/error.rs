//! Why an index or a code is refused, or a code does not fit an index.

/// Why an index or a code is refused, or a code does not fit an index. Every message is one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are no index.
    #[error("it is no index")]
    NotAnIndex,
    /// The index has another version than this build reads.
    #[error("it is an index of version {version}, and this build reads version {known}")]
    Version {
        /// The index's.
        version: u16,
        /// The one that is known.
        known: u16,
    },
    /// The bytes are no code file.
    #[error("it is no code file")]
    NotACode,
    /// A code file ends inside its header.
    #[error("it ends inside its header")]
    CodeHeader,
    /// A code file has another version than this build reads.
    #[error("it is a code file of version {version}, and this build reads {known}")]
    CodeVersion {
        /// The file's.
        version: u16,
        /// The one that is known.
        known: u16,
    },
    /// Bytes are missing.
    #[error("the index is cut short: it has {given} bytes of {needed}")]
    Truncated {
        /// The number of bytes found.
        given: u64,
        /// The number in its header.
        needed: u64,
    },
    /// The bytes are not those that were written.
    #[error("the index is damaged: {0}")]
    Corrupt(&'static str),
    /// A code of another length than the index's, or with bits set after its last.
    #[error("the code has {given} bytes, or bits after its last, where {bits} bits are needed")]
    Code {
        /// The code's bytes.
        given: usize,
        /// Bits of the index's codes.
        bits: usize,
    },
    /// More than an index may hold.
    #[error("{what}: {given}, more than {max}")]
    Limit {
        /// The thing that there is too much of.
        what: &'static str,
        /// The amount found.
        given: u64,
        /// The amount that is allowed.
        max: u64,
    },
}
