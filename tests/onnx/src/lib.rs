//! ONNX files written field by field, valid and invalid ones, to test their readers.
//!
//! Field numbers are those of `onnx.proto3` (ONNX 1.12). [`model`] of a [`graph`] is a network that a package may have,
//! if its nodes and constants are allowed.

pub mod codes;

/// ONNX's number of the element type binary32.
pub const FLOAT_TYPE: u64 = 1;
/// The dimensions of a network's planes and of its correction; `None` means any.
pub const PLANES: [Option<u64>; 4] = [Some(1), None, None, Some(48)];

/// A message of protocol buffers under construction, as its bytes.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Message(pub Vec<u8>);

impl Message {
    /// Creates a message without fields.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds an integer field.
    #[must_use]
    pub fn int(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    /// Adds a field of bytes or text.
    #[must_use]
    pub fn bytes(mut self, field: u64, bytes: impl AsRef<[u8]>) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.as_ref().len() as u64);
        self.0.extend_from_slice(bytes.as_ref());
        self
    }

    /// Adds a message field.
    #[must_use]
    pub fn put(self, field: u64, message: Self) -> Self {
        self.bytes(field, &message.0)
    }

    /// Adds a field for each name.
    fn many(self, field: u64, names: &[&str]) -> Self {
        names.iter().fold(self, |message, name| message.bytes(field, name))
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }
}

/// Makes a node without attributes, which are its field 5.
#[must_use]
pub fn node(name: &str, domain: &str, operator: &str, inputs: &[&str], outputs: &[&str]) -> Message {
    Message::new().many(1, inputs).many(2, outputs).bytes(3, name).bytes(4, operator).bytes(7, domain)
}

/// Makes an integer attribute.
#[must_use]
pub fn int(name: &str, value: u64) -> Message {
    Message::new().bytes(1, name).int(3, value).int(20, 2)
}

/// Makes an attribute that is a list of integers.
#[must_use]
pub fn ints(name: &str, values: &[u64]) -> Message {
    values.iter().fold(Message::new().bytes(1, name), |message, &value| message.int(8, value)).int(20, 7)
}

/// Makes a constant; `element` is ONNX's number of its element type.
#[must_use]
pub fn constant(name: &str, element: u64, dims: &[u64], data: &[u8]) -> Message {
    let message = dims.iter().fold(Message::new(), |message, &length| message.int(1, length));
    message.int(2, element).bytes(8, name).bytes(9, data)
}

/// Makes an input or output of binary32; missing dimensions are any.
#[must_use]
pub fn port(name: &str, dims: &[Option<u64>]) -> Message {
    let dims = dims.iter().map(|dim| match dim {
        Some(length) => Message::new().int(1, *length),
        None => Message::new().bytes(2, "any"),
    });
    let shape = dims.fold(Message::new(), |shape, dim| shape.put(1, dim));
    let tensor = Message::new().int(1, FLOAT_TYPE).put(2, shape);
    Message::new().bytes(1, name).put(2, Message::new().put(1, tensor))
}

/// Makes a graph whose nodes and constants compute `correction` from `planes`.
#[must_use]
pub fn graph(nodes: &[Message], constants: &[Message]) -> Message {
    let graph = nodes.iter().fold(Message::new().bytes(2, "g"), |graph, node| graph.put(1, node.clone()));
    let graph = constants.iter().fold(graph, |graph, constant| graph.put(5, constant.clone()));
    graph.put(11, port("planes", &PLANES)).put(12, port("correction", &PLANES))
}

/// Makes a file of that graph, in the versions that a package may have.
#[must_use]
pub fn model(graph: Message) -> Message {
    let opset = |domain: &str, version| Message::new().bytes(1, domain).int(2, version);
    let model = Message::new().int(1, 8).put(7, graph);
    model.put(8, opset("", 17)).put(8, opset("com.microsoft", 1))
}
