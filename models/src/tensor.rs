//! Float arrays, the ports of a network, and the errors of both.

use nestcast_codec::TransformError;

/// A float32 array: row-major, the last dimension of `shape` varying fastest.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tensor {
    /// The length of each dimension.
    pub shape: Vec<usize>,
    /// As many values as the product of `shape`.
    pub data: Vec<f32>,
}

/// A [`Tensor`] that is still ONNX Runtime's own memory.
#[derive(Debug, Clone, PartialEq)]
pub struct TensorView<'a> {
    /// The length of each dimension.
    pub shape: Vec<usize>,
    /// As many values as the product of `shape`.
    pub data: &'a [f32],
}

/// An input or output of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Its name in the model.
    pub name: String,
    /// The length of each dimension, `None` where any length will do.
    pub shape: Vec<Option<usize>>,
}

/// Why a network cannot be loaded or run. Every message is one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// The model file is at fault: ONNX Runtime does not accept it.
    #[error("ONNX Runtime refuses the model: {0}")]
    Model(String),
    /// The model file is at fault: one of its ports is not float32.
    #[error("the model's {port} is {kind}, where nestcast needs a float32 tensor")]
    NotFloat {
        /// The name of the input or output.
        port: String,
        /// Its type.
        kind: String,
    },
    /// The caller is at fault: these are not exactly the network's inputs.
    #[error("the network needs the inputs [{takes}], but nestcast passed [{given}]")]
    Inputs {
        /// The names of the network's inputs.
        takes: String,
        /// The names that the caller gave.
        given: String,
    },
    /// The caller is at fault: a tensor does not fit its input.
    #[error("the network's input {port} needs the shape {takes}, but nestcast passed {given}")]
    Shape {
        /// The name of the input.
        port: String,
        /// The shape that it needs, `?` where any length will do.
        takes: String,
        /// The shape that the caller gave.
        given: String,
    },
    /// The caller is at fault: a tensor's shape and its data disagree.
    #[error("a tensor for the network's input {port} has {given} values, but its shape is {shape}")]
    Length {
        /// The name of the input.
        port: String,
        /// The tensor's shape.
        shape: String,
        /// The number of values it has.
        given: usize,
    },
    /// The model file is at fault: its output is not what nestcast needs.
    #[error("the network returns {given}, but nestcast needs {needed}")]
    Outputs {
        /// The output that is needed.
        needed: String,
        /// The output that it has.
        given: String,
    },
    /// ONNX Runtime failed on inputs that fit: the model is wrong, or memory ran out.
    #[error("ONNX Runtime cannot run the network: {0}")]
    Run(String),
}

impl From<NetworkError> for TransformError {
    fn from(error: NetworkError) -> Self {
        Self::Network(error.to_string())
    }
}

impl Port {
    pub(crate) fn check(&self, tensor: &Tensor) -> Result<(), NetworkError> {
        let fits = |(&given, takes): (&usize, &Option<usize>)| given > 0 && takes.is_none_or(|takes| takes == given);
        if tensor.shape.len() != self.shape.len() || !tensor.shape.iter().zip(&self.shape).all(fits) {
            return Err(NetworkError::Shape {
                port: self.name.clone(),
                takes: product_sign(&self.shape),
                given: product_sign(&known(&tensor.shape)),
            });
        }
        let values = tensor.shape.iter().try_fold(1_usize, |values, &length| values.checked_mul(length));
        if values != Some(tensor.data.len()) {
            return Err(NetworkError::Length {
                port: self.name.clone(),
                shape: product_sign(&known(&tensor.shape)),
                given: tensor.data.len(),
            });
        }
        Ok(())
    }
}

/// ONNX Runtime writes -1 where any length will do.
pub(crate) fn dimension(length: i64) -> Option<usize> {
    usize::try_from(length).ok()
}

pub(crate) fn known(shape: &[usize]) -> Vec<Option<usize>> {
    shape.iter().copied().map(Some).collect()
}

/// A shape as people write it: `1x3x?x?`.
pub(crate) fn product_sign(shape: &[Option<usize>]) -> String {
    let lengths: Vec<_> =
        shape.iter().map(|length| length.map_or_else(|| "?".to_owned(), |length| length.to_string())).collect();
    if lengths.is_empty() { "scalar".to_owned() } else { lengths.join("x") }
}
