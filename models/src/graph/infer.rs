//! The operators that a network may use, their output shapes, and their cost on the largest tile.
//!
//! No operator here can make a shape out of numbers that were computed: the shapes for `Reshape` and `Split` are
//! constants or the shapes of other values. So no value of a smaller tile is larger than the same value of the largest
//! one.

use std::collections::HashMap;

use super::error::GraphError;
use super::limits::{MAX_MEMORY, MAX_RANK, MAX_WORK, limit};
use super::proto::{Element, Graph, Node, Port, RUNTIME_DOMAIN, STANDARD_DOMAIN, elements};
use super::signature::{Operand, Signature};

/// The most that a run of a network costs, on the largest tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// Bytes of all its values and of the copies that convolutions gather; a run frees many of them before it ends.
    pub memory: u64,
    /// Multiplications.
    pub work: u64,
}

/// Operators by domain and name, with their number of inputs and the names of their attributes, all of which are
/// needed. Those of `models/train/nestcast_train/export/graph.py`, and `Sub`.
const KNOWN_OPERATORS: [(&str, &str, usize, &[&str]); 20] = [
    (STANDARD_DOMAIN, "Add", 2, &[]),
    (STANDARD_DOMAIN, "AveragePool", 1, &["kernel_shape", "strides"]),
    (STANDARD_DOMAIN, "Cast", 1, &["to"]),
    (STANDARD_DOMAIN, "Conv", 3, &["kernel_shape", "pads", "strides"]),
    (STANDARD_DOMAIN, "DequantizeLinear", 3, &[]),
    (STANDARD_DOMAIN, "Div", 2, &[]),
    (STANDARD_DOMAIN, "Exp", 1, &[]),
    (STANDARD_DOMAIN, "Gemm", 3, &[]),
    (STANDARD_DOMAIN, "Log", 1, &[]),
    (STANDARD_DOMAIN, "Mul", 2, &[]),
    (RUNTIME_DOMAIN, "QLinearAdd", 8, &[]),
    (RUNTIME_DOMAIN, "QLinearConv", 9, &["channels_last", "kernel_shape", "pads", "strides"]),
    (STANDARD_DOMAIN, "QuantizeLinear", 3, &[]),
    (STANDARD_DOMAIN, "Relu", 1, &[]),
    (STANDARD_DOMAIN, "Reshape", 2, &[]),
    (STANDARD_DOMAIN, "Round", 1, &[]),
    (STANDARD_DOMAIN, "Shape", 1, &[]),
    (STANDARD_DOMAIN, "Split", 2, &["axis"]),
    (STANDARD_DOMAIN, "Sub", 2, &[]),
    (STANDARD_DOMAIN, "Transpose", 1, &["perm"]),
];

/// The known properties of a value.
#[derive(Debug, Clone)]
struct Value {
    element: Element,
    shape: Vec<usize>,
    /// Its integers, where they are known.
    integers: Option<Vec<i64>>,
}

impl Value {
    const fn of(element: Element, shape: Vec<usize>) -> Self {
        Self { element, shape, integers: None }
    }

    fn has(&self, element: Element, shape: &[usize]) -> bool {
        self.element == element && self.shape == shape
    }

    /// One number, as a scalar or a vector.
    fn is_one(&self, element: Element) -> bool {
        self.element == element && matches!(self.shape[..], [] | [1])
    }
}

/// The fault of a node.
type Wrong = &'static str;
const WRONG_OPERANDS: Wrong = "inputs whose types or shapes do not fit its operator";
const WRONG_ATTRIBUTES: Wrong = "attributes that do not fit its operator or its inputs";
const TOO_LARGE: Wrong = "an output that is too large";

/// Works out all shapes; returns their cost.
pub(super) fn cost(graph: &Graph<'_>, signature: &Signature<'_>) -> Result<Cost, GraphError> {
    let mut values = HashMap::new();
    for port in &graph.inputs {
        define(&mut values, port.name, input(port, signature)?)?;
    }
    if graph.inputs.len() != signature.inputs.len() {
        return Err(GraphError::Ports("does not take the inputs that the manifest names"));
    }
    for constant in &graph.constants {
        let integers = constant.integers();
        define(&mut values, constant.name, Value { integers, ..Value::of(constant.element, constant.shape.clone()) })?;
    }
    let mut cost = Cost::default();
    for node in &graph.nodes {
        for (name, value) in node.outputs.iter().zip(run(node, &values, &mut cost)?) {
            let bytes = elements(&value.shape).and_then(|elements| elements.checked_mul(value.element.bytes()));
            spend(&mut cost, node, bytes, Some(0))?;
            define(&mut values, name, value)?;
        }
    }
    let [output] = &graph.outputs[..] else { return Err(GraphError::Ports("has no output")) };
    let given = values.get(output.name).is_some_and(|value| value.has(Element::Float, &signature.output.largest));
    if !is(output, &signature.output) || !given {
        return Err(GraphError::Ports("does not give the output that the manifest names, in its shape"));
    }
    Ok(cost)
}

/// Whether a port is as the signature says.
fn is(port: &Port<'_>, operand: &Operand<'_>) -> bool {
    port.element == Element::Float && port.name == operand.name && port.shape == operand.declared
}

/// The value of an input.
fn input(port: &Port<'_>, signature: &Signature<'_>) -> Result<Value, GraphError> {
    let operand = signature.inputs.iter().find(|operand| is(port, operand));
    let operand =
        operand.ok_or(GraphError::Ports("takes an input that the manifest does not name, or of another shape"))?;
    Ok(Value::of(Element::Float, operand.largest.clone()))
}

/// Every value has one name, has elements (the shape of a scalar has none), and precedes the nodes that use it.
fn define<'a>(values: &mut HashMap<&'a str, Value>, name: &'a str, value: Value) -> Result<(), GraphError> {
    if value.element != Element::I64 && elements(&value.shape) == Some(0) {
        return Err(GraphError::Form("a value without elements"));
    }
    if name.is_empty() || values.insert(name, value).is_some() {
        return Err(GraphError::Form("two values of one name, or a value without a name"));
    }
    Ok(())
}

/// Adds to the cost; `None` is a cost that cannot be counted.
fn spend(cost: &mut Cost, node: &Node<'_>, memory: Option<u64>, work: Option<u64>) -> Result<(), GraphError> {
    let (Some(memory), Some(work)) = (memory, work) else { return Err(wrong(node, TOO_LARGE)) };
    cost.memory = cost.memory.saturating_add(memory);
    cost.work = cost.work.saturating_add(work);
    limit("bytes of values in a run", cost.memory, MAX_MEMORY)?;
    limit("multiplications in a run", cost.work, MAX_WORK)
}

fn wrong(node: &Node<'_>, what: Wrong) -> GraphError {
    GraphError::Node { node: node.name.to_owned(), what }
}

/// The outputs of a node.
fn run(node: &Node<'_>, values: &HashMap<&str, Value>, cost: &mut Cost) -> Result<Vec<Value>, GraphError> {
    let known = KNOWN_OPERATORS.iter().find(|(domain, name, ..)| (*domain, *name) == (node.domain, node.operator));
    let (_, operator, inputs, attributes) =
        known.ok_or_else(|| GraphError::Operator(format!("{}.{}", node.domain, node.operator)))?;
    let has = |name: &&str| node.attributes.iter().any(|attribute| attribute.name == *name);
    if node.attributes.len() != attributes.len() || !attributes.iter().all(has) {
        return Err(wrong(node, WRONG_ATTRIBUTES));
    }
    let operands: Option<Vec<_>> = node.inputs.iter().map(|name| values.get(name)).collect();
    let operands = operands.filter(|operands| operands.len() == *inputs).ok_or_else(|| wrong(node, WRONG_OPERANDS))?;
    let outputs = match *operator {
        "AveragePool" => {
            let (output, work) = pooled(node, &operands).map_err(|what| wrong(node, what))?;
            spend(cost, node, Some(0), work)?;
            Ok(vec![output])
        }
        "Conv" => {
            let (output, memory, work) = float_convolution(node, &operands).map_err(|what| wrong(node, what))?;
            spend(cost, node, memory, work)?;
            Ok(vec![output])
        }
        "QLinearConv" => {
            let (output, memory, work) = convolution(node, &operands).map_err(|what| wrong(node, what))?;
            spend(cost, node, memory, work)?;
            Ok(vec![output])
        }
        "Gemm" => {
            let (output, work) = product(&operands).map_err(|what| wrong(node, what))?;
            spend(cost, node, Some(0), work)?;
            Ok(vec![output])
        }
        "Split" => split(node, &operands),
        other => single(other, node, &operands).map(|output| vec![output]),
    };
    let outputs = outputs.map_err(|what| wrong(node, what))?;
    if outputs.len() != node.outputs.len() {
        return Err(wrong(node, "another number of outputs than its operator gives"));
    }
    Ok(outputs)
}

/// The output of an operator that has one output and costs little more than to write it.
fn single(operator: &str, node: &Node<'_>, operands: &[&Value]) -> Result<Value, Wrong> {
    match (operator, operands) {
        ("Add" | "Sub" | "Mul" | "Div", [a, b]) => broadcast(a, b),
        ("Relu" | "Exp" | "Log" | "Round", [x]) if x.element == Element::Float => Ok(Value::clone(x)),
        ("Cast", [x]) if x.element == Element::Float => match Element::of(integer(node, "to")?) {
            Ok(to @ (Element::U8 | Element::I32)) => Ok(Value::of(to, x.shape.clone())),
            _ => Err(WRONG_ATTRIBUTES),
        },
        ("QuantizeLinear", [x, scale, zero])
            if x.element == Element::Float && scale.is_one(Element::Float) && zero.is_one(Element::U8) =>
        {
            Ok(Value::of(Element::U8, x.shape.clone()))
        }
        ("DequantizeLinear", [x, scale, zero])
            if x.element == Element::U8 && scale.is_one(Element::Float) && zero.is_one(Element::U8) =>
        {
            Ok(Value::of(Element::Float, x.shape.clone()))
        }
        ("QLinearAdd", [a, a_scale, a_zero, b, b_scale, b_zero, scale, zero]) => {
            let scales = [a_scale, b_scale, scale].iter().all(|value| value.is_one(Element::Float));
            let zeros = [a_zero, b_zero, zero].iter().all(|value| value.is_one(Element::U8));
            let fit = a.element == Element::U8 && b.has(Element::U8, &a.shape);
            (scales && zeros && fit).then(|| Value::clone(a)).ok_or(WRONG_OPERANDS)
        }
        ("Shape", [x]) => {
            let integers = x.shape.iter().map(|&length| i64::try_from(length)).collect::<Result<_, _>>();
            let integers = Some(integers.map_err(|_| TOO_LARGE)?);
            Ok(Value { integers, ..Value::of(Element::I64, vec![x.shape.len()]) })
        }
        ("Reshape", [x, to]) => reshape(x, to),
        ("Transpose", [x]) => transpose(x, list(node, "perm")?),
        _ => Err(WRONG_OPERANDS),
    }
}

fn list<'a>(node: &'a Node<'_>, name: &str) -> Result<&'a [i64], Wrong> {
    let attribute = node.attributes.iter().find(|attribute| attribute.name == name && attribute.list);
    attribute.map(|attribute| &attribute.integers[..]).ok_or(WRONG_ATTRIBUTES)
}

fn integer(node: &Node<'_>, name: &str) -> Result<i64, Wrong> {
    let attribute = node.attributes.iter().find(|attribute| attribute.name == name && !attribute.list);
    attribute.and_then(|attribute| attribute.integers.first().copied()).ok_or(WRONG_ATTRIBUTES)
}

/// Two float values whose shapes are alike from the last dimension on, or 1.
fn broadcast(a: &Value, b: &Value) -> Result<Value, Wrong> {
    let rank = a.shape.len().max(b.shape.len());
    let length = |value: &Value, index: usize| {
        (index + value.shape.len()).checked_sub(rank).map_or(1, |index| value.shape[index])
    };
    let lengths = (0..rank).map(|index| match (length(a, index), length(b, index)) {
        (a, b) if a == b || b == 1 => Ok(a),
        (1, b) => Ok(b),
        _ => Err(WRONG_OPERANDS),
    });
    let shape = lengths.collect::<Result<_, _>>()?;
    if [a, b].iter().all(|value| value.element == Element::Float) {
        Ok(Value::of(Element::Float, shape))
    } else {
        Err(WRONG_OPERANDS)
    }
}

/// 0 keeps a length, one -1 stands for the rest.
fn reshape(x: &Value, to: &Value) -> Result<Value, Wrong> {
    let wanted = to.integers.as_ref().filter(|wanted| wanted.len() <= MAX_RANK && to.shape.len() == 1);
    let wanted = wanted.ok_or(WRONG_OPERANDS)?;
    let kept = |(index, &length): (usize, &i64)| match length {
        0 => x.shape.get(index).copied().map(Some).ok_or(WRONG_OPERANDS),
        -1 => Ok(None),
        length => usize::try_from(length).map(Some).map_err(|_| WRONG_OPERANDS),
    };
    let lengths = wanted.iter().enumerate().map(kept).collect::<Result<Vec<_>, _>>()?;
    let known: Vec<_> = lengths.iter().copied().flatten().collect();
    let all = elements(&x.shape).ok_or(TOO_LARGE)?;
    let known_elements = elements(&known).ok_or(TOO_LARGE)?;
    let rest = match lengths.len() - known.len() {
        0 if all == known_elements => 1,
        1 if known_elements > 0 && all.is_multiple_of(known_elements) => {
            usize::try_from(all / known_elements).map_err(|_| TOO_LARGE)?
        }
        _ => return Err(WRONG_OPERANDS),
    };
    let shape = lengths.into_iter().map(|length| length.unwrap_or(rest)).collect();
    Ok(Value::of(x.element, shape))
}

fn transpose(x: &Value, order: &[i64]) -> Result<Value, Wrong> {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    if !(0..).zip(&sorted).all(|(index, &axis): (i64, _)| index == axis) || sorted.len() != x.shape.len() {
        return Err(WRONG_ATTRIBUTES);
    }
    let axes = order.iter().filter_map(|&axis| usize::try_from(axis).ok());
    Ok(Value::of(x.element, axes.map(|axis| x.shape[axis]).collect()))
}

fn split(node: &Node<'_>, operands: &[&Value]) -> Result<Vec<Value>, Wrong> {
    let [x, sizes] = operands else { return Err(WRONG_OPERANDS) };
    let axis =
        usize::try_from(integer(node, "axis")?).ok().filter(|&axis| axis < x.shape.len()).ok_or(WRONG_ATTRIBUTES)?;
    let sizes = sizes.integers.as_ref().ok_or(WRONG_OPERANDS)?;
    let sizes =
        sizes.iter().map(|&size| usize::try_from(size)).collect::<Result<Vec<_>, _>>().map_err(|_| WRONG_OPERANDS)?;
    let sum = sizes.iter().try_fold(0_usize, |sum, &size| sum.checked_add(size));
    if sum != Some(x.shape[axis]) {
        return Err(WRONG_OPERANDS);
    }
    let part = |size: usize| {
        let mut shape = x.shape.clone();
        shape[axis] = size;
        Value::of(x.element, shape)
    };
    Ok(sizes.into_iter().map(part).collect())
}

/// A product of float matrices, and a vector that is added to each row.
fn product(operands: &[&Value]) -> Result<(Value, Option<u64>), Wrong> {
    let [a, b, c] = operands else { return Err(WRONG_OPERANDS) };
    let ([rows, inner], [same, columns]) = (&a.shape[..], &b.shape[..]) else { return Err(WRONG_OPERANDS) };
    let floats = operands.iter().all(|value| value.element == Element::Float);
    if !floats || inner != same || c.shape != [*columns] {
        return Err(WRONG_OPERANDS);
    }
    Ok((Value::of(Element::Float, vec![*rows, *columns]), elements(&[*rows, *inner, *columns])))
}

/// A convolution of bytes, channels last: its output, the bytes that it gathers, and its multiplications.
fn convolution(node: &Node<'_>, operands: &[&Value]) -> Result<(Value, Option<u64>, Option<u64>), Wrong> {
    let [x, x_scale, x_zero, weights, scales, zeros, scale, zero, bias] = operands else { return Err(WRONG_OPERANDS) };
    let ([count, height, width, channels], &[filters, depth, rows, columns]) = (&x.shape[..], &weights.shape[..])
    else {
        return Err(WRONG_OPERANDS);
    };
    let bytes = x.element == Element::U8 && weights.element == Element::I8 && depth == *channels;
    let steps = [x_scale, scale].iter().all(|value| value.is_one(Element::Float))
        && [x_zero, zero].iter().all(|value| value.is_one(Element::U8));
    let vectors = scales.has(Element::Float, &[filters])
        && zeros.has(Element::I8, &[filters])
        && bias.has(Element::I32, &[filters]);
    if !bytes || !steps || !vectors {
        return Err(WRONG_OPERANDS);
    }
    let pads = list(node, "pads")?;
    let strides = list(node, "strides")?;
    let (&[top, left, bottom, right], &[down, across]) = (pads, strides) else { return Err(WRONG_ATTRIBUTES) };
    if !is_kernel(node, [rows, columns])? || integer(node, "channels_last")? != 1 {
        return Err(WRONG_ATTRIBUTES);
    }
    let shape = vec![
        *count,
        positions(*height, rows, [top, bottom], down)?,
        positions(*width, columns, [left, right], across)?,
        filters,
    ];
    let places = elements(&shape[..3]);
    let area = elements(&[rows, columns]);
    // A pointer to each of the kernel's pixels, or the pixels themselves, whichever is more.
    let gathered = places.zip(area).and_then(|(places, area)| {
        if area == 1 { Some(0) } else { places.checked_mul(area)?.checked_mul(depth.max(8) as u64) }
    });
    let work = elements(&weights.shape).zip(places).and_then(|(weights, places)| weights.checked_mul(places));
    Ok((Value::of(Element::U8, shape), gathered, work))
}

/// A convolution of floats, channels first: its output, the bytes that it gathers, and its multiplications.
fn float_convolution(node: &Node<'_>, operands: &[&Value]) -> Result<(Value, Option<u64>, Option<u64>), Wrong> {
    let [x, weights, bias] = operands else { return Err(WRONG_OPERANDS) };
    let (&[count, channels, height, width], &[filters, depth, rows, columns]) = (&x.shape[..], &weights.shape[..])
    else {
        return Err(WRONG_OPERANDS);
    };
    let floats = [x, weights].iter().all(|value| value.element == Element::Float);
    if !floats || depth != channels || !bias.has(Element::Float, &[filters]) {
        return Err(WRONG_OPERANDS);
    }
    let (&[top, left, bottom, right], &[down, across]) = (list(node, "pads")?, list(node, "strides")?) else {
        return Err(WRONG_ATTRIBUTES);
    };
    if !is_kernel(node, [rows, columns])? {
        return Err(WRONG_ATTRIBUTES);
    }
    let [high, wide] =
        [positions(height, rows, [top, bottom], down)?, positions(width, columns, [left, right], across)?];
    let places = elements(&[count, high, wide]);
    // The pixels of each kernel, as floats.
    let gathered = places.zip(elements(&[depth, rows, columns, 4])).and_then(|(places, each)| places.checked_mul(each));
    let work = elements(&weights.shape).zip(places).and_then(|(weights, places)| weights.checked_mul(places));
    Ok((Value::of(Element::Float, vec![count, filters, high, wide]), gathered, work))
}

/// Means of floats, channels first, without padding: the output, and the values that are added up, which cost as much as
/// multiplications.
fn pooled(node: &Node<'_>, operands: &[&Value]) -> Result<(Value, Option<u64>), Wrong> {
    let [x] = operands else { return Err(WRONG_OPERANDS) };
    let &[count, channels, height, width] = &x.shape[..] else { return Err(WRONG_OPERANDS) };
    if x.element != Element::Float {
        return Err(WRONG_OPERANDS);
    }
    let (&[rows, columns], &[down, across]) = (list(node, "kernel_shape")?, list(node, "strides")?) else {
        return Err(WRONG_ATTRIBUTES);
    };
    let side = |side: i64| usize::try_from(side).ok().filter(|&side| side > 0).ok_or(WRONG_ATTRIBUTES);
    let (rows, columns) = (side(rows)?, side(columns)?);
    let (high, wide) = (positions(height, rows, [0, 0], down)?, positions(width, columns, [0, 0], across)?);
    let shape = vec![count, channels, high, wide];
    let work = elements(&shape).zip(elements(&[rows, columns])).and_then(|(places, area)| places.checked_mul(area));
    Ok((Value::of(Element::Float, shape), work))
}

/// Whether the attribute says the sides of the weights.
fn is_kernel(node: &Node<'_>, sides: [usize; 2]) -> Result<bool, Wrong> {
    Ok(list(node, "kernel_shape")?.iter().map(|&side| usize::try_from(side).ok()).eq(sides.map(Some)))
}

/// The number of places where a kernel fits, with less padding than the kernel has at each side.
fn positions(length: usize, kernel: usize, pads: [i64; 2], stride: i64) -> Result<usize, Wrong> {
    let pads = pads.map(|pad| usize::try_from(pad).ok().filter(|&pad| pad < kernel));
    let ([Some(before), Some(after)], Some(stride)) = (pads, usize::try_from(stride).ok().filter(|&stride| stride > 0))
    else {
        return Err(WRONG_ATTRIBUTES);
    };
    let padded = length.checked_add(before).and_then(|length| length.checked_add(after)).ok_or(TOO_LARGE)?;
    padded.checked_sub(kernel).map(|free| free / stride + 1).ok_or(WRONG_ATTRIBUTES)
}
