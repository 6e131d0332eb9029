//! Checks a network before ONNX Runtime sees it: known operators only, and bounds on memory and work.
//!
//! ONNX Runtime is a large C++ library that trusts its models. A network may come from a stranger, so this module reads
//! its file first. It knows no more of ONNX than `models/train/nestcast_train/export/graph.py` writes, and refuses all
//! else: other operators, domains, versions and attributes, functions and subgraphs, data in other files, and every
//! field that ONNX Runtime might read another way. Then it works out the shape of each value for the largest tile,
//! which bounds the cost of a run: see [`Cost`].

mod error;
mod infer;
mod limits;
mod proto;
mod signature;
mod wire;

use crate::deep::tiles::{BLOCK_CHANNELS, BLOCK_SIDE, LONGEST_OUTER, REGION_SIDE};
use crate::package::{GainPorts, Ports};

pub use error::GraphError;
pub use infer::Cost;
pub use limits::{MAX_BYTES, MAX_MEMORY, MAX_WORK};
pub(crate) use signature::{Operand, Signature};

use limits::limit;

/// Checks the bytes of an `.onnx` file; returns the most that a run of the network costs.
///
/// # Errors
/// [`GraphError`] with what a package's network must not have.
pub fn check(model: &[u8], ports: &Ports) -> Result<Cost, GraphError> {
    limit("bytes", model.len() as u64, MAX_BYTES as u64)?;
    check_signature(model, &ports.signature())
}

/// The same for a network for gains.
pub(crate) fn check_gains(model: &[u8], ports: &GainPorts) -> Result<Cost, GraphError> {
    limit("bytes", model.len() as u64, MAX_BYTES as u64)?;
    check_signature(model, &ports.signature())
}

/// The same for any inputs and output; the caller has checked the file's length.
pub(crate) fn check_signature(model: &[u8], signature: &Signature<'_>) -> Result<Cost, GraphError> {
    infer::cost(&proto::Graph::read(model)?, signature)
}

impl Ports {
    /// In: planes of the largest tile, in blocks, and the cut, where the network has that input. Out: their correction.
    fn signature(&self) -> Signature<'_> {
        let cut = self.cut.as_deref().map(|name| Operand::fixed(name, &[1]));
        Signature { inputs: [blocks(&self.planes)].into_iter().chain(cut).collect(), output: blocks(&self.correction) }
    }
}

impl GainPorts {
    /// In: planes of the largest tile, in blocks. Out: activity and weight of each region.
    fn signature(&self) -> Signature<'_> {
        let regions = LONGEST_OUTER / REGION_SIDE;
        Signature {
            inputs: vec![blocks(&self.planes)],
            output: Operand {
                name: &self.activity,
                declared: vec![Some(1), None, None, Some(2)],
                largest: vec![1, regions, regions, 2],
            },
        }
    }
}

/// Planes of the largest tile, in blocks.
fn blocks(name: &str) -> Operand<'_> {
    Operand {
        name,
        declared: vec![Some(1), None, None, Some(BLOCK_CHANNELS as i64)],
        largest: vec![1, LONGEST_OUTER / BLOCK_SIDE, LONGEST_OUTER / BLOCK_SIDE, BLOCK_CHANNELS],
    }
}

#[cfg(test)]
mod tests;
