//! A network's file, before ONNX Runtime sees it.

use std::sync::LazyLock;

use arbitrary::{Arbitrary, Unstructured};
use nestcast_models::graph::{self, MAX_MEMORY, MAX_WORK};
use nestcast_models::{Networks, Package};

use crate::bounded;

/// The inputs and outputs that `photo` names.
static PORTS: LazyLock<Networks> =
    LazyLock::new(|| Package::builtin("photo").expect("a package of this build").manifest().networks.clone());

/// Any bytes in place of a network are refused in one line, or take no more memory and work than a network may; the
/// check itself holds memory for the bytes of the file and no more.
///
/// The input: which network and how the file is made: the bytes as they are, or a graph of known operators.
pub fn network(data: &[u8]) {
    let Some((&how, rest)) = data.split_first() else { return };
    let file = if how & 2 == 0 { rest.to_vec() } else { built(&mut Unstructured::new(rest)).unwrap_or_default() };
    let ports = if how & 1 == 0 { &PORTS.analysis } else { &PORTS.synthesis };
    bounded::within(64 * 1024 + 64 * file.len(), "checking a network", || match graph::check(&file, ports) {
        Ok(cost) => assert!(cost.memory <= MAX_MEMORY && cost.work <= MAX_WORK, "{cost:?}"),
        Err(error) => {
            let line = error.to_string();
            assert!(!line.contains(|c: char| c.is_control()), "no line for a terminal: {line:?}");
        }
    });
}

/// Names of values: the ports of both networks, and a few others.
const VALUES: [&str; 8] = ["planes", "cut", "correction", "a", "b", "c", "d", "e"];
/// Operators that a network may use, and one that none may.
const OPERATORS: [(&str, &str); 18] = [
    ("", "Add"),
    ("", "Cast"),
    ("", "DequantizeLinear"),
    ("", "Div"),
    ("", "Exp"),
    ("", "Gemm"),
    ("", "Mul"),
    ("com.microsoft", "QLinearAdd"),
    ("com.microsoft", "QLinearConv"),
    ("", "QuantizeLinear"),
    ("", "Relu"),
    ("", "Reshape"),
    ("", "Round"),
    ("", "Shape"),
    ("", "Split"),
    ("", "Sub"),
    ("", "Transpose"),
    ("", "Loop"),
];
/// Attributes of these operators.
const ATTRIBUTES: [&str; 7] = ["to", "channels_last", "kernel_shape", "pads", "strides", "axis", "perm"];

#[derive(Debug, Arbitrary)]
struct Node {
    operator: u8,
    /// How many inputs, of which those behind the first three follow from these.
    count: u8,
    inputs: [u8; 3],
    outputs: [u8; 2],
    attributes: u8,
    numbers: [i8; 4],
}

#[derive(Debug, Arbitrary)]
struct Constant {
    name: u8,
    element: u8,
    rank: u8,
    dims: [u8; 3],
    value: u8,
}

/// A message of protocol buffers as it grows.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }

    fn int(mut self, field: u64, value: i64) -> Self {
        self.varint(field << 3);
        self.varint(value.cast_unsigned());
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    fn names<'a>(self, field: u64, mut names: impl Iterator<Item = &'a str>) -> Self {
        names.by_ref().fold(self, |message, name| message.bytes(field, name.as_bytes()))
    }
}

/// A file whose messages are whole, with any nodes and constants.
fn built(input: &mut Unstructured<'_>) -> arbitrary::Result<Vec<u8>> {
    let (count, cut) = input.arbitrary::<(u8, bool)>()?;
    let nodes = (0..count % 6).map(|_| Ok(node(&input.arbitrary()?))).collect::<arbitrary::Result<Vec<_>>>()?;
    let mut constants = Vec::new();
    while !input.is_empty() {
        constants.push(constant(&input.arbitrary()?));
    }
    Ok(file(&nodes, &constants, cut))
}

/// A network that a package may have, with one node: the correction is the planes times nothing.
pub(crate) fn smallest(cut: bool) -> Vec<u8> {
    let multiply = Node { operator: 6, count: 2, inputs: [0, 3, 0], outputs: [2, 0], attributes: 0, numbers: [0; 4] };
    let nothing = Constant { name: 3, element: 0, rank: 0, dims: [0; 3], value: 0 };
    file(&[node(&multiply)], &[constant(&nothing)], cut)
}

fn file(nodes: &[Vec<u8>], constants: &[Vec<u8>], cut: bool) -> Vec<u8> {
    let graph = nodes.iter().fold(Message::default().bytes(2, b"g"), |graph, node| graph.bytes(1, node));
    let graph = constants.iter().fold(graph, |graph, constant| graph.bytes(5, constant));
    let planes = [Some(1), None, None, Some(48)];
    let graph = graph.bytes(11, &port("planes", &planes)).bytes(12, &port("correction", &planes));
    let graph = if cut { graph.bytes(11, &port("cut", &[Some(1)])) } else { graph };
    let opset = |domain: &str, version| Message::default().bytes(1, domain.as_bytes()).int(2, version).0;
    let model = Message::default().int(1, 8).bytes(7, &graph.0).bytes(8, &opset("", 17));
    model.bytes(8, &opset("com.microsoft", 1)).0
}

fn value(number: u8) -> &'static str {
    VALUES[usize::from(number) % VALUES.len()]
}

fn node(node: &Node) -> Vec<u8> {
    let (domain, operator) = OPERATORS[usize::from(node.operator) % OPERATORS.len()];
    let [first, second, third] = node.inputs;
    let inputs = (0..node.count % 10).map(|at| [first, second, third][usize::from(at) % 3].wrapping_add(at / 3));
    let outputs = node.outputs.iter().take(if node.outputs[1] & 0x80 == 0 { 1 } else { 2 });
    let message = Message::default()
        .names(1, inputs.map(value))
        .names(2, outputs.map(|&output| value(output)))
        .bytes(3, b"n")
        .bytes(4, operator.as_bytes())
        .bytes(7, domain.as_bytes());
    let given = ATTRIBUTES.iter().enumerate().filter(|(at, _)| node.attributes >> at & 1 == 1);
    let lists = node.attributes & 0x80 != 0;
    let message = given.fold(message, |message, (_, name)| {
        let attribute = Message::default().bytes(1, name.as_bytes());
        let attribute = match *name {
            "kernel_shape" | "pads" | "strides" | "perm" if !lists => {
                let count = if *name == "pads" || *name == "perm" { 4 } else { 2 };
                node.numbers.iter().take(count).fold(attribute, |all, &number| all.int(8, number.into())).int(20, 7)
            }
            _ => attribute.int(3, node.numbers[0].into()).int(20, 2),
        };
        message.bytes(5, &attribute.0)
    });
    message.0
}

fn constant(constant: &Constant) -> Vec<u8> {
    // Float, bytes with and without sign, 32 and 64 bits, and what no network has.
    let (element, size) = [(1, 4), (2, 1), (3, 1), (6, 4), (7, 8), (11, 8)][usize::from(constant.element) % 6];
    let dims = &constant.dims[..usize::from(constant.rank) % 4];
    let count: usize = dims.iter().map(|&dim| usize::from(dim)).product();
    let data = vec![constant.value; (count * size).min(4096)];
    let message = dims.iter().fold(Message::default(), |message, &dim| message.int(1, dim.into()));
    message.int(2, element).bytes(8, value(constant.name).as_bytes()).bytes(9, &data).0
}

fn port(name: &str, dims: &[Option<i64>]) -> Vec<u8> {
    let shape = dims.iter().fold(Message::default(), |shape, dim| {
        let dim = match dim {
            Some(length) => Message::default().int(1, *length),
            None => Message::default().bytes(2, b"any"),
        };
        shape.bytes(1, &dim.0)
    });
    let tensor = Message::default().int(1, 1).bytes(2, &shape.0);
    Message::default().bytes(1, name.as_bytes()).bytes(2, &Message::default().bytes(1, &tensor.0).0).0
}
