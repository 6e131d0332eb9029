//! What a network may be before ONNX Runtime sees it: known operators alone, and bounds on memory and work.
//!
//! ONNX Runtime is a large C++ library that trusts its models. A network may come from a stranger, so its file is read
//! here first, by a reader that knows no more of ONNX than `models/train/graph.py` writes and refuses all else: other
//! operators, domains, versions and attributes, functions and subgraphs, data in other files, and every field that ONNX
//! Runtime might read another way. Then the shape of each value is worked out for the largest tile, which bounds what a run
//! takes: see [`Cost`].

mod infer;
mod proto;
mod wire;

use crate::deep::{CHANNELS, LONGEST_OUTER, SIDE};
use crate::package::Ports;

pub use infer::Cost;

/// Most bytes of a network's file: over ten times those of the shipped ones.
pub const MAX_BYTES: usize = 8 * 1024 * 1024;
/// Most nodes, and most constants.
const MAX_NODES: usize = 512;
const MAX_CONSTANTS: usize = 2048;
/// Most bytes of a name.
const MAX_NAME: usize = 128;
/// Most inputs or outputs of a node, and most integers of an attribute.
const MAX_OPERANDS: usize = 64;
/// Most dimensions of a value.
const MAX_RANK: usize = 6;
/// Most bytes of all values of a run together: five times what the shipped synthesis has.
pub const MAX_MEMORY: u64 = 512 * 1024 * 1024;
/// Most multiplications of a run: four times those of the shipped synthesis.
pub const MAX_WORK: u64 = 1 << 34;

/// Why a network is not given to ONNX Runtime. Every message is one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// The file is not ONNX, or has more of ONNX than a network of nestcast may have.
    #[error("the network's file has {0}")]
    Form(&'static str),
    /// More of something than a network may have.
    #[error("the network has {given} {what}, more than {max}")]
    Limit {
        /// What there is too much of.
        what: &'static str,
        /// How much of it.
        given: u64,
        /// How much is allowed.
        max: u64,
    },
    /// An operator that is not on the list.
    #[error("the network uses the operator {0}, which a package may not have")]
    Operator(String),
    /// A node that does not fit its operator.
    #[error("the network's node {node} has {what}")]
    Node {
        /// Its name.
        node: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Not the inputs and the output of a package's network.
    #[error("the network {0}")]
    Ports(&'static str),
}

/// Checks the bytes of an `.onnx` file; gives what a run of the network takes at most.
///
/// # Errors
/// [`GraphError`] with what a package's network may not have.
pub fn check(model: &[u8], ports: &Ports) -> Result<Cost, GraphError> {
    limit("bytes", model.len() as u64, MAX_BYTES as u64)?;
    check_signature(model, &ports.signature())
}

/// The same for any inputs and output, of a file whose length was checked.
pub(crate) fn check_signature(model: &[u8], signature: &Signature<'_>) -> Result<Cost, GraphError> {
    infer::cost(&proto::Graph::read(model)?, signature)
}

/// What a network takes and gives, all of binary32.
#[derive(Debug)]
pub(crate) struct Signature<'a> {
    pub(crate) inputs: Vec<Operand<'a>>,
    pub(crate) output: Operand<'a>,
}

/// An input or the output.
#[derive(Debug)]
pub(crate) struct Operand<'a> {
    pub(crate) name: &'a str,
    /// The shape that the file must declare; `None` where any length will do.
    pub(crate) declared: Vec<Option<i64>>,
    /// The largest shape that a run has.
    pub(crate) largest: Vec<usize>,
}

impl<'a> Operand<'a> {
    /// One that has the same shape in every run.
    pub(crate) fn fixed(name: &'a str, shape: &[u16]) -> Self {
        let declared = shape.iter().map(|&length| Some(length.into())).collect();
        Self { name, declared, largest: shape.iter().map(|&length| length.into()).collect() }
    }
}

impl Ports {
    /// Planes in and their correction out, of the largest tile, in blocks; and the cut, where the network is told it.
    fn signature(&self) -> Signature<'_> {
        let blocks = |name| Operand {
            name,
            declared: vec![Some(1), None, None, Some(CHANNELS as i64)],
            largest: vec![1, LONGEST_OUTER / SIDE, LONGEST_OUTER / SIDE, CHANNELS],
        };
        let cut = self.cut.as_deref().map(|name| Operand::fixed(name, &[1]));
        Signature { inputs: [blocks(&self.planes)].into_iter().chain(cut).collect(), output: blocks(&self.correction) }
    }
}

fn limit(what: &'static str, given: u64, max: u64) -> Result<(), GraphError> {
    if given > max { Err(GraphError::Limit { what, given, max }) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
