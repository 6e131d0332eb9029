//! A network's file, before ONNX Runtime reads it.

use std::sync::LazyLock;

use arbitrary::{Arbitrary, Unstructured};
use nestcast_models::graph::{self, MAX_MEMORY, MAX_WORK};
use nestcast_models::{Networks, Package};
use nestcast_onnx_writer::{self as onnx, Message};

use crate::bounded;

/// The inputs and outputs that `photo` names.
static PORTS: LazyLock<Networks> =
    LazyLock::new(|| Package::builtin("photo").expect("a package of this build").manifest().networks.clone());

/// Checks that any bytes in place of a network are refused in one line, or need no more memory and work than a network
/// may. The check itself holds memory for the bytes of the file and no more.
///
/// The input: the network, and how its file is made: the bytes unchanged, or a graph of known operators.
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
    /// The number of inputs; those after the first three follow from these.
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

/// Makes a file whose messages are whole, with any nodes and constants.
fn built(input: &mut Unstructured<'_>) -> arbitrary::Result<Vec<u8>> {
    let (count, cut) = input.arbitrary::<(u8, bool)>()?;
    let nodes = (0..count % 6).map(|_| Ok(node(&input.arbitrary()?))).collect::<arbitrary::Result<Vec<_>>>()?;
    let mut constants = Vec::new();
    while !input.is_empty() {
        constants.push(constant(&input.arbitrary()?));
    }
    Ok(file(&nodes, &constants, cut))
}

/// Makes a network that a package may have, with one node: the correction is the planes times nothing.
pub(crate) fn smallest(cut: bool) -> Vec<u8> {
    let multiply = Node { operator: 6, count: 2, inputs: [0, 3, 0], outputs: [2, 0], attributes: 0, numbers: [0; 4] };
    let nothing = Constant { name: 3, element: 0, rank: 0, dims: [0; 3], value: 0 };
    file(&[node(&multiply)], &[constant(&nothing)], cut)
}

fn file(nodes: &[Message], constants: &[Message], cut: bool) -> Vec<u8> {
    let graph = onnx::graph(nodes, constants);
    let graph = if cut { graph.put(11, onnx::port("cut", &[Some(1)])) } else { graph };
    onnx::model(graph).0
}

fn value(number: u8) -> &'static str {
    VALUES[usize::from(number) % VALUES.len()]
}

fn node(node: &Node) -> Message {
    let (domain, operator) = OPERATORS[usize::from(node.operator) % OPERATORS.len()];
    let [first, second, third] = node.inputs;
    let inputs = (0..node.count % 10).map(|at| [first, second, third][usize::from(at) % 3].wrapping_add(at / 3));
    let outputs = node.outputs.iter().take(if node.outputs[1] & 0x80 == 0 { 1 } else { 2 });
    let inputs: Vec<_> = inputs.map(value).collect();
    let outputs: Vec<_> = outputs.map(|&output| value(output)).collect();
    let message = onnx::node("n", domain, operator, &inputs, &outputs);
    let given = ATTRIBUTES.iter().enumerate().filter(|(at, _)| node.attributes >> at & 1 == 1);
    let lists = node.attributes & 0x80 != 0;
    let numbers = node.numbers.map(|number| i64::from(number).cast_unsigned());
    given.fold(message, |message, (_, name)| {
        let attribute = match *name {
            "kernel_shape" | "strides" if !lists => onnx::ints(name, &numbers[..2]),
            "pads" | "perm" if !lists => onnx::ints(name, &numbers),
            _ => onnx::int(name, numbers[0]),
        };
        message.put(5, attribute)
    })
}

fn constant(constant: &Constant) -> Message {
    // Float, bytes with and without sign, 32 and 64 bits, and a type that no network has.
    let (element, size) = [(1, 4), (2, 1), (3, 1), (6, 4), (7, 8), (11, 8)][usize::from(constant.element) % 6];
    let dims = constant.dims.map(u64::from);
    let dims = &dims[..usize::from(constant.rank) % 4];
    let bytes = dims.iter().product::<u64>().saturating_mul(size).min(4096);
    onnx::constant(value(constant.name), element, dims, &[constant.value].repeat(usize::try_from(bytes).unwrap_or(0)))
}
