//! Errors, grouped by who must act.

/// The first six bytes of the SHA-256 of a model's tables; every stream contains it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModelId(pub [u8; 6]);

impl std::fmt::Display for ModelId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The reason why a picture, stream or model was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes break the specification: the sender must send them again.
    #[error("corrupt {what}: {why}")]
    Corrupt {
        /// What was read: "stream", "frame", "video", "model" or "post-filter".
        what: &'static str,
        /// The clause that the bytes break.
        why: &'static str,
    },
    /// This build does not know this version of the format: get a nestcast that does.
    #[error("unsupported {what} version {version}; this build reads version {known}: update nestcast")]
    Version {
        /// What was read: "stream", "video" or "model".
        what: &'static str,
        /// The version that the bytes name.
        version: u8,
        /// The version that this build reads.
        known: u8,
    },
    /// The stream or the coefficients belong to another model: use that one.
    #[error("unsupported model {needed}: the stream needs it, but {given} was given")]
    Model {
        /// The model that the stream or the coefficients name.
        needed: ModelId,
        /// The model at hand.
        given: ModelId,
    },
    /// The input is larger than this process agreed to handle: raise the limit or make the input smaller.
    #[error("{what} is {given}, over the limit of {max}")]
    Limit {
        /// The quantity that is too large.
        what: &'static str,
        /// Its value.
        given: u64,
        /// The limit.
        max: u64,
    },
    /// The caller passed arguments that do not fit together.
    #[error("invalid argument: {0}")]
    Argument(&'static str),
}
