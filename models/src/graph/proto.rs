//! The part of `onnx.proto` that a package's networks have; every other field is refused, and every field given twice.

use super::error::GraphError;
use super::limits::{MAX_CONSTANTS, MAX_NODES, MAX_OPERANDS, MAX_RANK, limit};
use super::wire::{Fields, Value};

/// The versions that `models/train/nestcast_train/export/graph.py` writes: of ONNX's files, and of both sets of
/// operators.
const IR_VERSION: i64 = 8;
pub(super) const STANDARD_DOMAIN: &str = "";
pub(super) const RUNTIME_DOMAIN: &str = "com.microsoft";
const OPSET_VERSIONS: [(&str, i64); 2] = [(STANDARD_DOMAIN, 17), (RUNTIME_DOMAIN, 1)];

const UNKNOWN_FIELD: GraphError = GraphError::Form("a field that a package's networks do not have");
const REPEATED_FIELD: GraphError = GraphError::Form("a field twice that may be there once");
const MISSING_FIELD: GraphError = GraphError::Form("less than a network needs");

/// The type of a value's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    Float,
    U8,
    I8,
    I32,
    I64,
}

impl Element {
    /// By its number in `TensorProto.DataType`.
    pub(super) fn of(number: i64) -> Result<Self, GraphError> {
        match number {
            1 => Ok(Self::Float),
            2 => Ok(Self::U8),
            3 => Ok(Self::I8),
            6 => Ok(Self::I32),
            7 => Ok(Self::I64),
            _ => Err(GraphError::Form("a type of elements that a package's networks do not have")),
        }
    }

    pub(super) const fn bytes(self) -> u64 {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::Float | Self::I32 => 4,
            Self::I64 => 8,
        }
    }
}

/// A network.
#[derive(Debug)]
pub(super) struct Graph<'a> {
    pub(super) nodes: Vec<Node<'a>>,
    pub(super) constants: Vec<Constant<'a>>,
    pub(super) inputs: Vec<Port<'a>>,
    pub(super) outputs: Vec<Port<'a>>,
}

/// An operator at work.
#[derive(Debug, Default)]
pub(super) struct Node<'a> {
    pub(super) name: &'a str,
    pub(super) domain: &'a str,
    pub(super) operator: &'a str,
    pub(super) inputs: Vec<&'a str>,
    pub(super) outputs: Vec<&'a str>,
    pub(super) attributes: Vec<Attribute<'a>>,
}

/// An integer, or a list of them.
#[derive(Debug)]
pub(super) struct Attribute<'a> {
    pub(super) name: &'a str,
    pub(super) integers: Vec<i64>,
    pub(super) list: bool,
}

/// A value that the file holds.
#[derive(Debug)]
pub(super) struct Constant<'a> {
    pub(super) name: &'a str,
    pub(super) element: Element,
    pub(super) shape: Vec<usize>,
    pub(super) data: &'a [u8],
}

/// An input or output of the network; `None` where any length will do.
#[derive(Debug)]
pub(super) struct Port<'a> {
    pub(super) name: &'a str,
    pub(super) element: Element,
    pub(super) shape: Vec<Option<i64>>,
}

/// A field that may occur once.
fn once<T>(place: &mut Option<T>, value: T) -> Result<(), GraphError> {
    if place.replace(value).is_some() { Err(REPEATED_FIELD) } else { Ok(()) }
}

/// Adds one to a list of at most `max`.
fn more<T>(list: &mut Vec<T>, what: &'static str, max: usize, item: T) -> Result<(), GraphError> {
    limit(what, list.len() as u64 + 1, max as u64)?;
    list.push(item);
    Ok(())
}

impl<'a> Graph<'a> {
    /// Reads a `ModelProto`.
    pub(super) fn read(model: &'a [u8]) -> Result<Self, GraphError> {
        let mut version = None;
        let mut producer = None;
        let mut graph = None;
        let mut opsets = Vec::new();
        for field in Fields(model) {
            match field? {
                (1, value) => once(&mut version, value.integer()?)?,
                (2, value) => once(&mut producer, value.name()?)?,
                (7, value) => once(&mut graph, value)?,
                (8, value) => more(&mut opsets, "sets of operators", OPSET_VERSIONS.len(), opset(value)?)?,
                _ => return Err(UNKNOWN_FIELD),
            }
        }
        let known =
            opsets == OPSET_VERSIONS || opsets.iter().rev().eq(&OPSET_VERSIONS) || opsets == OPSET_VERSIONS[..1];
        if version != Some(IR_VERSION) || !known {
            return Err(GraphError::Form("another version of ONNX, or of its operators, than this build takes"));
        }
        let graph = Self::of(graph.ok_or(MISSING_FIELD)?)?;
        // A file that uses none of ONNX Runtime's own set may leave it out.
        if opsets.len() < OPSET_VERSIONS.len() && graph.nodes.iter().any(|node| node.domain == RUNTIME_DOMAIN) {
            return Err(GraphError::Form("an operator of ONNX Runtime's set and does not name that set"));
        }
        Ok(graph)
    }

    /// Reads a `GraphProto`.
    fn of(graph: Value<'a>) -> Result<Self, GraphError> {
        let mut nodes = Vec::new();
        let mut constants = Vec::new();
        let mut inputs = Vec::new();
        let mut outputs = Vec::new();
        let mut name = None;
        for field in graph.fields()? {
            match field? {
                (1, value) => more(&mut nodes, "nodes", MAX_NODES, Node::read(value)?)?,
                (2, value) => once(&mut name, value.name()?)?,
                (5, value) => more(&mut constants, "constants", MAX_CONSTANTS, Constant::read(value)?)?,
                (11, value) => more(&mut inputs, "inputs", 2, Port::read(value)?)?,
                (12, value) => more(&mut outputs, "outputs", 1, Port::read(value)?)?,
                _ => return Err(UNKNOWN_FIELD),
            }
        }
        Ok(Self { nodes, constants, inputs, outputs })
    }
}

/// Reads an `OperatorSetIdProto`.
fn opset(value: Value<'_>) -> Result<(&str, i64), GraphError> {
    let mut domain = None;
    let mut version = None;
    for field in value.fields()? {
        match field? {
            (1, value) => once(&mut domain, value.name()?)?,
            (2, value) => once(&mut version, value.integer()?)?,
            _ => return Err(UNKNOWN_FIELD),
        }
    }
    Ok((domain.unwrap_or_default(), version.ok_or(MISSING_FIELD)?))
}

impl<'a> Node<'a> {
    /// Reads a `NodeProto`.
    fn read(value: Value<'a>) -> Result<Self, GraphError> {
        let mut node = Self::default();
        let mut name = None;
        let mut operator = None;
        let mut domain = None;
        for field in value.fields()? {
            match field? {
                (1, value) => more(&mut node.inputs, "inputs of a node", MAX_OPERANDS, value.name()?)?,
                (2, value) => more(&mut node.outputs, "outputs of a node", MAX_OPERANDS, value.name()?)?,
                (3, value) => once(&mut name, value.name()?)?,
                (4, value) => once(&mut operator, value.name()?)?,
                (5, value) => more(&mut node.attributes, "attributes of a node", 4, Attribute::read(value)?)?,
                (7, value) => once(&mut domain, value.name()?)?,
                _ => return Err(UNKNOWN_FIELD),
            }
        }
        (node.name, node.domain) = (name.unwrap_or_default(), domain.unwrap_or_default());
        node.operator = operator.ok_or(MISSING_FIELD)?;
        Ok(node)
    }
}

impl<'a> Attribute<'a> {
    /// Reads an `AttributeProto` of the type INT or INTS.
    fn read(value: Value<'a>) -> Result<Self, GraphError> {
        const INT_TYPE: i64 = 2;
        const INTS_TYPE: i64 = 7;
        let mut name = None;
        let mut kind = None;
        let mut single = None;
        let mut integers = Vec::new();
        for field in value.fields()? {
            match field? {
                (1, value) => once(&mut name, value.name()?)?,
                (3, value) => once(&mut single, value.integer()?)?,
                (8, value) => more(&mut integers, "integers of an attribute", MAX_OPERANDS, value.integer()?)?,
                (20, value) => once(&mut kind, value.integer()?)?,
                _ => return Err(UNKNOWN_FIELD),
            }
        }
        let name = name.ok_or(MISSING_FIELD)?;
        match (kind, single) {
            (Some(INT_TYPE), Some(single)) if integers.is_empty() => {
                Ok(Self { name, integers: vec![single], list: false })
            }
            (Some(INTS_TYPE), None) => Ok(Self { name, integers, list: true }),
            _ => Err(GraphError::Form("an attribute that is neither an integer nor a list of them")),
        }
    }
}

impl<'a> Constant<'a> {
    /// Reads a `TensorProto` whose data are in the field of raw bytes.
    fn read(value: Value<'a>) -> Result<Self, GraphError> {
        let mut name = None;
        let mut element = None;
        let mut data = None;
        let mut shape = Vec::new();
        for field in value.fields()? {
            match field? {
                (1, value) => {
                    let length = usize::try_from(value.integer()?);
                    let length = length.map_err(|_| GraphError::Form("a constant of a negative length"))?;
                    more(&mut shape, "dimensions of a value", MAX_RANK, length)?;
                }
                (2, value) => once(&mut element, Element::of(value.integer()?)?)?,
                (8, value) => once(&mut name, value.name()?)?,
                (9, value) => once(&mut data, value.bytes()?)?,
                _ => return Err(UNKNOWN_FIELD),
            }
        }
        let name = name.ok_or(MISSING_FIELD)?;
        let element = element.ok_or(MISSING_FIELD)?;
        let data = data.unwrap_or_default();
        let bytes = elements(&shape).and_then(|elements| elements.checked_mul(element.bytes()));
        if bytes != Some(data.len() as u64) {
            return Err(GraphError::Form("a constant whose data do not fill its shape"));
        }
        Ok(Self { name, element, shape, data })
    }

    /// The integers of a vector of them, if it is one.
    pub(super) fn integers(&self) -> Option<Vec<i64>> {
        let vector = self.element == Element::I64 && self.shape.len() <= 1 && self.data.len() <= 8 * MAX_OPERANDS;
        vector.then(|| self.data.as_chunks().0.iter().map(|&bytes| i64::from_le_bytes(bytes)).collect())
    }
}

/// The number of elements of a value of this shape.
pub(super) fn elements(shape: &[usize]) -> Option<u64> {
    shape.iter().try_fold(1_u64, |elements, &length| elements.checked_mul(length as u64))
}

impl<'a> Port<'a> {
    /// Reads a `ValueInfoProto` of a tensor.
    fn read(value: Value<'a>) -> Result<Self, GraphError> {
        let mut name = None;
        let mut kind = None;
        for field in value.fields()? {
            match field? {
                (1, value) => once(&mut name, value.name()?)?,
                (2, value) => once(&mut kind, value)?,
                _ => return Err(UNKNOWN_FIELD),
            }
        }
        let tensor = only_field(kind.ok_or(MISSING_FIELD)?, 1)?;
        let mut element = None;
        let mut shape = None;
        for field in tensor.fields()? {
            match field? {
                (1, value) => once(&mut element, Element::of(value.integer()?)?)?,
                (2, value) => once(&mut shape, value)?,
                _ => return Err(UNKNOWN_FIELD),
            }
        }
        let mut lengths = Vec::new();
        for field in shape.ok_or(MISSING_FIELD)?.fields()? {
            match field? {
                (1, value) => more(&mut lengths, "dimensions of a value", MAX_RANK, length(value)?)?,
                _ => return Err(UNKNOWN_FIELD),
            }
        }
        Ok(Self { name: name.ok_or(MISSING_FIELD)?, element: element.ok_or(MISSING_FIELD)?, shape: lengths })
    }
}

/// The one field of a message that has this one alone.
fn only_field(value: Value<'_>, number: u64) -> Result<Value<'_>, GraphError> {
    let mut fields = value.fields()?;
    match (fields.next().transpose()?, fields.next()) {
        (Some((given, value)), None) if given == number => Ok(value),
        _ => Err(UNKNOWN_FIELD),
    }
}

/// Reads a `TensorShapeProto.Dimension`: a length, or the name of any length.
fn length(value: Value<'_>) -> Result<Option<i64>, GraphError> {
    let mut fields = value.fields()?;
    match (fields.next().transpose()?, fields.next()) {
        (Some((1, value)), None) => value.integer().map(Some),
        (Some((2, value)), None) => value.name().map(|_| None),
        _ => Err(UNKNOWN_FIELD),
    }
}
