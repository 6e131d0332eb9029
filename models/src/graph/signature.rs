//! The inputs and the output that a network must have.

/// The inputs and the output of a network, all binary32.
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
