//! The limits of a network.

use super::error::GraphError;

/// Most bytes of a network's file: over ten times those of the shipped ones.
pub const MAX_BYTES: usize = 8 * 1024 * 1024;
/// Most nodes, and most constants.
pub(super) const MAX_NODES: usize = 512;
pub(super) const MAX_CONSTANTS: usize = 2048;
/// Most bytes of a name.
pub(super) const MAX_NAME: usize = 128;
/// Most inputs or outputs of a node, and most integers of an attribute.
pub(super) const MAX_OPERANDS: usize = 64;
/// Most dimensions of a value.
pub(super) const MAX_RANK: usize = 6;
/// Most bytes of all values of a run together: five times those of the shipped synthesis.
pub const MAX_MEMORY: u64 = 512 * 1024 * 1024;
/// Most multiplications of a run: four times those of the shipped synthesis.
pub const MAX_WORK: u64 = 1 << 34;

/// Refuses more than `max` of `what`.
pub(super) fn limit(what: &'static str, given: u64, max: u64) -> Result<(), GraphError> {
    if given > max { Err(GraphError::Limit { what, given, max }) } else { Ok(()) }
}
