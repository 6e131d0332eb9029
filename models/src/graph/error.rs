//! Why a network is refused.

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
        /// The thing that there is too much of.
        what: &'static str,
        /// The amount found.
        given: u64,
        /// The amount that is allowed.
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
        /// The fault.
        what: &'static str,
    },
    /// Not the inputs and the output of a package's network.
    #[error("the network {0}")]
    Ports(&'static str),
}
