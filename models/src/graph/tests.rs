//! Networks of strangers, written field by field: each breaks one rule of a network that is otherwise sound.

use nestcast_onnx_writer::{FLOAT_TYPE, Message, PLANES, constant, graph, int, ints, model, port};

use super::limits::{MAX_CONSTANTS, MAX_NAME, MAX_NODES, MAX_OPERANDS, MAX_RANK};
use super::*;

/// The networks of `photo` and `photo-ssim`, and their inputs of the cut.
const SHIPPED: [(&[u8], Option<&str>); 5] = [
    (include_bytes!("../../artifacts/photo/analysis.onnx"), None),
    (include_bytes!("../../artifacts/photo/synthesis-0.onnx"), Some("cut")),
    (include_bytes!("../../artifacts/photo/synthesis-4.onnx"), Some("cut")),
    (include_bytes!("../../artifacts/photo-ssim/analysis.onnx"), None),
    (include_bytes!("../../artifacts/photo-ssim/synthesis-0.onnx"), Some("cut")),
];

fn new() -> Message {
    Message::new()
}

const U8: u64 = 2;
const I8: u64 = 3;
const I32: u64 = 6;
const I64: u64 = 7;

/// A node with the name of its output.
fn node(domain: &str, operator: &str, inputs: &[&str], outputs: &[&str]) -> Message {
    nestcast_onnx_writer::node(outputs[0], domain, operator, inputs, outputs)
}

/// All bytes are zero.
fn zeros(name: &str, element: u64, dims: &[u64]) -> Message {
    let size = match element {
        U8 | I8 => 1,
        I64 => 8,
        _ => 4,
    };
    let elements = usize::try_from(dims.iter().product::<u64>()).expect("it fits into memory");
    constant(name, element, dims, &vec![0; elements * size])
}

fn numbers(name: &str, values: &[i64]) -> Message {
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    constant(name, I64, &[values.len() as u64], &data)
}

/// Gives only zeros.
fn last() -> Message {
    node("", "Mul", &["planes", "zero"], &["correction"])
}

fn zero() -> Message {
    zeros("zero", FLOAT_TYPE, &[])
}

/// A sound network with more nodes and constants.
fn with(nodes: &[Message], constants: &[Message]) -> Message {
    model(graph(&[nodes, &[last()]].concat(), &[constants, &[zero()]].concat()))
}

fn ports() -> Ports {
    Ports { planes: "planes".into(), cut: None, correction: "correction".into() }
}

fn cost(model: &Message) -> Result<Cost, GraphError> {
    check(&model.0, &ports())
}

/// Why a network is refused, in one line.
fn refusal(model: &Message) -> GraphError {
    let error = cost(model).expect_err("a hostile network");
    let message = error.to_string();
    assert!(message.is_ascii() && !message.contains(['\n', '\r']) && !message.contains("  "), "{message:?}");
    error
}

fn assert_limit(model: &Message, limited: &str) {
    let error = refusal(model);
    assert!(matches!(error, GraphError::Limit { what, .. } if what == limited), "{error}, not {limited}");
}

fn assert_form(model: &Message) {
    let error = refusal(model);
    assert!(matches!(error, GraphError::Form(_)), "{error}");
}

fn assert_node(model: &Message) {
    let error = refusal(model);
    assert!(matches!(error, GraphError::Node { .. }), "{error}");
}

/// A convolution of `depth` channels to `filters` with kernels of `side` pixels, and what it needs.
fn convolution(filters: u64, depth: u64, side: u64, bias: u64) -> (Vec<Message>, Vec<Message>) {
    let inputs = ["x", "scale", "byte", "weights", "scales", "zeros", "scale", "byte", "bias"];
    let convolution = node("com.microsoft", "QLinearConv", &inputs, &["y"])
        .put(5, int("channels_last", 1))
        .put(5, ints("kernel_shape", &[side, side]))
        .put(5, ints("pads", &[side / 2; 4]))
        .put(5, ints("strides", &[1, 1]));
    let quantise = node("", "QuantizeLinear", &["planes", "scale", "byte"], &["x"]);
    let constants = vec![
        zeros("scale", FLOAT_TYPE, &[]),
        zeros("byte", U8, &[]),
        zeros("weights", I8, &[filters, depth, side, side]),
        zeros("scales", FLOAT_TYPE, &[filters]),
        zeros("zeros", I8, &[filters]),
        zeros("bias", I32, &[bias]),
    ];
    (vec![quantise, convolution], constants)
}

#[test]
fn what_training_exports_is_taken_and_has_room_to_grow() {
    for (network, cut) in SHIPPED {
        let cost = check(network, &Ports { cut: cut.map(Into::into), ..ports() }).expect("a sound network");
        println!("{} bytes, {cut:?}: {cost:?}", network.len());
        assert!(cost.memory * 3 < MAX_MEMORY && cost.work * 3 < MAX_WORK, "{cost:?}");
        assert!(cost.memory * 20 > MAX_MEMORY && cost.work * 20 > MAX_WORK, "{cost:?}");
    }
    assert!(cost(&with(&[], &[])).is_ok());
    let (nodes, constants) = convolution(48, 48, 3, 48);
    assert!(cost(&with(&nodes, &constants)).is_ok());
}

/// A convolution of floats of `depth` channels to `filters`, on planes with the channels first.
fn float_convolution(filters: u64, depth: u64, side: u64, bias: u64) -> (Vec<Message>, Vec<Message>) {
    let convolution = node("", "Conv", &["x", "weights", "bias"], &["y"])
        .put(5, ints("kernel_shape", &[side, side]))
        .put(5, ints("pads", &[side / 2; 4]))
        .put(5, ints("strides", &[1, 1]));
    let channels_first = node("", "Transpose", &["planes"], &["x"]).put(5, ints("perm", &[0, 3, 1, 2]));
    let constants =
        vec![zeros("weights", FLOAT_TYPE, &[filters, depth, side, side]), zeros("bias", FLOAT_TYPE, &[bias])];
    (vec![channels_first, convolution], constants)
}

#[test]
fn the_network_for_gains_is_taken_and_has_room_to_grow() {
    let network = include_bytes!("../../artifacts/photo-ssim/gains.onnx");
    let ports = GainPorts { planes: "planes".into(), activity: "activity".into() };
    let cost = check_gains(network, &ports).expect("a sound network");
    assert!(cost.memory * 3 < MAX_MEMORY && cost.work * 30 < MAX_WORK, "{cost:?}");
    let other = GainPorts { planes: "planes".into(), activity: "correction".into() };
    assert!(matches!(check_gains(network, &other), Err(GraphError::Ports(_))));
    assert!(matches!(check(network, &self::ports()), Err(GraphError::Ports(_))));
}

#[test]
fn convolutions_and_means_of_floats_are_bounded() {
    let of = |filters, depth, side, bias| {
        let (nodes, constants) = float_convolution(filters, depth, side, bias);
        with(&nodes, &constants)
    };
    assert!(cost(&of(16, 48, 3, 16)).is_ok());
    for model in [of(16, 48, 3, 15), of(16, 47, 3, 16), of(16, 96, 3, 16)] {
        assert_node(&model);
    }
    assert_limit(&of(1, 48, 31, 1), "bytes of values in a run");
    assert_limit(&of(900, 48, 5, 900), "multiplications in a run");
    let (nodes, constants) = float_convolution(16, 48, 3, 16);
    let sound = [
        ("kernel_shape", ints("kernel_shape", &[3, 3])),
        ("pads", ints("pads", &[1; 4])),
        ("strides", ints("strides", &[1, 1])),
    ];
    for (name, attribute) in [
        ("kernel_shape", ints("kernel_shape", &[5, 5])),
        ("pads", ints("pads", &[3; 4])),
        ("pads", ints("pads", &[u64::MAX; 4])),
        ("strides", ints("strides", &[0, 1])),
        ("strides", int("group", 48)),
    ] {
        let others = sound.clone().into_iter().filter(|(other, _)| *other != name).map(|(_, attribute)| attribute);
        let convolution = others
            .chain([attribute])
            .fold(node("", "Conv", &["x", "weights", "bias"], &["y"]), |node, attribute| node.put(5, attribute));
        assert_node(&with(&[nodes[0].clone(), convolution], &constants));
    }
    let pool = |x: &str, kernel: &[u64], strides: &[u64]| {
        let pool = node("", "AveragePool", &[x], &["m"]);
        pool.put(5, ints("kernel_shape", kernel)).put(5, ints("strides", strides))
    };
    assert!(cost(&with(&[nodes[0].clone(), pool("x", &[2, 2], &[2, 2])], &[])).is_ok());
    for pool in [
        pool("x", &[0, 2], &[2, 2]),
        pool("x", &[2, 2], &[0, 2]),
        pool("x", &[2], &[2, 2]),
        pool("x", &[9999, 2], &[2, 2]),
    ] {
        assert_node(&with(&[nodes[0].clone(), pool], &[]));
    }
    // Windows that overlap: each value is added up as often as there are windows over it.
    let outer = node("", "Add", &["tall", "wide"], &["square"]);
    let edges = [zeros("tall", FLOAT_TYPE, &[1, 1, 1200, 1]), zeros("wide", FLOAT_TYPE, &[1, 1, 1, 1200])];
    assert!(cost(&with(&[outer.clone(), pool("square", &[20, 20], &[20, 20])], &edges)).is_ok());
    assert_limit(&with(&[outer, pool("square", &[600, 600], &[1, 1])], &edges), "multiplications in a run");
    assert_node(&with(&[pool("bytes", &[2, 2], &[2, 2])], &[zeros("bytes", U8, &[1, 1, 4, 4])]));
}

#[test]
fn sizes_and_counts_are_limited() {
    assert_limit(&Message(vec![0; MAX_BYTES + 1]), "bytes");
    let nodes: Vec<_> = (0..MAX_NODES).map(|i| node("", "Relu", &["planes"], &[&format!("{i}")])).collect();
    assert_limit(&with(&nodes, &[]), "nodes");
    let constants: Vec<_> = (0..MAX_CONSTANTS).map(|i| zeros(&format!("{i}"), FLOAT_TYPE, &[])).collect();
    assert_limit(&with(&[], &constants), "constants");
    let long = "n".repeat(MAX_NAME + 1);
    assert_limit(&with(&[node("", "Relu", &["planes"], &[&long])], &[]), "bytes in a name");
    assert_limit(&with(&[], &[zeros("deep", FLOAT_TYPE, &[1; MAX_RANK + 1])]), "dimensions of a value");
    assert_limit(&with(&[node("", "Sum", &["planes"; MAX_OPERANDS + 1], &["s"])], &[]), "inputs of a node");
    assert_limit(&with(&[node("", "Split", &["planes"], &["s"; MAX_OPERANDS + 1])], &[]), "outputs of a node");
    let order = node("", "Transpose", &["planes"], &["t"]);
    assert_limit(&with(&[order.clone().put(5, ints("perm", &[0; 65]))], &[]), "integers of an attribute");
    let five = (0..5).fold(order, |node, i| node.put(5, int(&format!("{i}"), 0)));
    assert_limit(&with(&[five], &[]), "attributes of a node");
}

#[test]
fn other_operators_domains_and_versions_are_refused() {
    let cases = [("", "Loop"), ("", "Tile"), ("com.microsoft", "Relu"), ("evil.example", "Relu"), ("ai.onnx", "Relu")];
    for (domain, operator) in cases {
        let error = refusal(&with(&[node(domain, operator, &["planes"], &["x"])], &[]));
        assert_eq!(error, GraphError::Operator(format!("{domain}.{operator}")));
    }
    let versions = |ir, standard, runtime| {
        let opset = |domain: &str, version| new().bytes(1, domain).int(2, version);
        let sound = graph(&[last()], &[zero()]);
        new().int(1, ir).put(7, sound).put(8, opset("", standard)).put(8, opset("com.microsoft", runtime))
    };
    assert!(cost(&versions(8, 17, 1)).is_ok());
    let standard = new().bytes(1, "").int(2, 17);
    assert!(cost(&new().int(1, 8).put(7, graph(&[last()], &[zero()])).put(8, standard)).is_ok());
    for (ir, standard, runtime) in [(9, 17, 1), (8, 18, 1), (8, 16, 1), (8, 17, 2)] {
        assert_form(&versions(ir, standard, runtime));
    }
    let third = new().bytes(1, "evil.example").int(2, 1);
    assert_limit(&with(&[], &[]).put(8, third), "sets of operators");
}

#[test]
fn functions_subgraphs_and_data_elsewhere_are_refused() {
    let function = new().bytes(1, "Relu").put(7, last());
    let sound = || with(&[], &[]);
    for (what, field) in [("functions", 25), ("training", 20), ("metadata", 14), ("another domain", 4)] {
        assert!(matches!(refusal(&sound().put(field, function.clone())), GraphError::Form(_)), "{what}");
    }
    let branch = |field| new().bytes(1, "then_branch").put(field, graph(&[last()], &[])).int(20, 5);
    for field in [4, 5, 6, 9, 10, 11] {
        assert_form(&with(&[node("", "If", &["planes"], &["x"]).put(5, branch(field))], &[]));
    }
    let external = new().bytes(1, "location").bytes(2, "/etc/passwd");
    assert_form(&with(&[], &[zeros("w", FLOAT_TYPE, &[1]).put(13, external)]));
    assert_form(&with(&[], &[zeros("w", FLOAT_TYPE, &[1]).int(14, 1)]));
    assert_form(&with(&[], &[new().int(1, 1).int(2, FLOAT_TYPE).bytes(8, "w").bytes(4, [0; 4])]));
    for field in [13, 14, 15, 16] {
        assert_form(&model(graph(&[last()], &[zero()]).put(field, new())));
    }
}

#[test]
fn nothing_can_be_read_in_two_ways() {
    let sound = graph(&[last()], &[zero()]);
    assert_form(&model(sound.clone()).put(7, sound.clone()));
    assert_form(&model(sound.clone()).int(1, 8));
    assert_form(&with(&[], &[zeros("w", FLOAT_TYPE, &[1]).bytes(9, [1; 4])]));
    assert_form(&with(&[], &[zeros("w", FLOAT_TYPE, &[1]).int(2, 1 << 32 | FLOAT_TYPE)]));
    assert_form(&with(&[last().bytes(4, "Loop")], &[]));
    assert_form(&with(&[], &[zero()]));
    assert_form(&with(&[last()], &[]));
    assert_form(&with(&[node("", "Relu", &["planes"], &["planes"])], &[]));
    assert_form(&with(&[node("", "Relu", &["planes"], &[""])], &[]));
    assert_form(&with(&[node("", "Relu", &["planes"], &["a\nb"])], &[]));
    let typed =
        |kind| node("", "Transpose", &["planes"], &["t"]).put(5, new().bytes(1, "perm").int(8, 0).int(20, kind));
    assert_form(&with(&[typed(2)], &[]));
    assert_form(&with(&[typed(1)], &[]));
    // A value that is used before it is made is another value to a reader that sorts the nodes.
    assert_node(&with(&[node("", "Relu", &["later"], &["x"]), node("", "Relu", &["planes"], &["later"])], &[]));
}

#[test]
fn constants_fill_their_shapes() {
    for dims in [&[2][..], &[0], &[1 << 40, 1 << 40], &[u64::MAX], &[1 << 63]] {
        assert_form(&with(&[], &[constant("w", FLOAT_TYPE, dims, &[0; 4])]));
    }
    // It has no elements, so any length fits: ONNX Runtime would multiply it with other lengths.
    for element in [FLOAT_TYPE, U8, I8, I32] {
        assert_form(&with(&[], &[constant("w", element, &[0, 1 << 40], &[])]));
    }
    let (nodes, constants) = convolution(1 << 16, 0, 1, 1 << 16);
    assert_form(&with(&nodes, &constants));
}

#[test]
fn memory_is_bounded_before_it_is_taken() {
    let side = 20_000;
    let [tall, wide] = [zeros("tall", FLOAT_TYPE, &[side, 1]), zeros("wide", FLOAT_TYPE, &[1, side])];
    let outer = node("", "Add", &["tall", "wide"], &["outer"]);
    assert_limit(&with(&[outer], &[tall.clone(), wide.clone()]), "bytes of values in a run");
    let product = node("", "Gemm", &["tall", "wide", "bias"], &["product"]);
    assert_limit(&with(&[product], &[tall, wide, zeros("bias", FLOAT_TYPE, &[side])]), "bytes of values in a run");
    // Planes in a column and in a row: the square of the number of pixels.
    let column = node("", "Reshape", &["planes", "to column"], &["column"]);
    let row = node("", "Reshape", &["planes", "to row"], &["row"]);
    let square = node("", "Mul", &["column", "row"], &["square"]);
    let shapes = [numbers("to column", &[-1, 1]), numbers("to row", &[1, -1])];
    assert_limit(&with(&[column, row, square], &shapes), "bytes of values in a run");
    // A thousand filters on each single sample.
    let (nodes, constants) = convolution(1000, 1, 1, 1000);
    let quantise = node("", "QuantizeLinear", &["planes", "scale", "byte"], &["bytes"]);
    let samples = node("", "Reshape", &["bytes", "samples"], &["x"]);
    let constants = [&constants[..], &[numbers("samples", &[1, 1, -1, 1])]].concat();
    assert_limit(&with(&[quantise, samples, nodes[1].clone()], &constants), "bytes of values in a run");
    // Each value is small enough, but there are many of them.
    let copies: Vec<_> = (0..200).map(|i| node("", "Relu", &["planes"], &[&format!("{i}")])).collect();
    assert_limit(&with(&copies, &[]), "bytes of values in a run");
    let gathered = convolution(1, 48, 31, 1);
    assert_limit(&with(&gathered.0, &gathered.1), "bytes of values in a run");
}

#[test]
fn work_is_bounded() {
    let (nodes, constants) = convolution(400, 48, 9, 400);
    assert_limit(&with(&nodes, &constants), "multiplications in a run");
    let constants =
        [zeros("a", FLOAT_TYPE, &[1024, 1000]), zeros("b", FLOAT_TYPE, &[1000, 1024]), zeros("c", FLOAT_TYPE, &[1024])];
    let products: Vec<_> = (0..17).map(|i| node("", "Gemm", &["a", "b", "c"], &[&format!("{i}")])).collect();
    assert!(cost(&with(&products[..16], &constants)).is_ok());
    assert_limit(&with(&products, &constants), "multiplications in a run");
}

#[test]
fn operands_fit_their_operators() {
    let wrong = |filters, depth, side, bias| {
        let (nodes, constants) = convolution(filters, depth, side, bias);
        with(&nodes, &constants)
    };
    assert!(cost(&wrong(16, 48, 3, 16)).is_ok());
    // ONNX Runtime reads a bias for each filter.
    for model in [wrong(16, 48, 3, 15), wrong(16, 47, 3, 16), wrong(16, 96, 3, 16)] {
        assert_node(&model);
    }
    let (nodes, constants) = convolution(16, 48, 3, 16);
    let attributes = [
        ("pads", ints("pads", &[3; 4])),
        ("pads", ints("pads", &[1 << 62; 4])),
        ("pads", ints("pads", &[1, 1])),
        ("pads", ints("pads", &[u64::MAX; 4])),
        ("strides", ints("strides", &[0, 1])),
        ("strides", ints("strides", &[1])),
        ("kernel_shape", ints("kernel_shape", &[5, 5])),
        ("channels_last", int("channels_last", 0)),
        ("channels_last", ints("channels_last", &[])),
        ("channels_last", int("group", 48)),
    ];
    for (name, attribute) in attributes {
        let inputs = ["x", "scale", "byte", "weights", "scales", "zeros", "scale", "byte", "bias"];
        let sound = [
            ("channels_last", int("channels_last", 1)),
            ("kernel_shape", ints("kernel_shape", &[3, 3])),
            ("pads", ints("pads", &[1; 4])),
            ("strides", ints("strides", &[1, 1])),
        ];
        let others = sound.into_iter().filter(|(other, _)| *other != name).map(|(_, attribute)| attribute);
        let convolution = others
            .chain([attribute])
            .fold(node("com.microsoft", "QLinearConv", &inputs, &["y"]), |node, attribute| node.put(5, attribute));
        assert_node(&with(&[nodes[0].clone(), convolution], &constants));
    }
}

#[test]
fn shapes_are_those_of_onnx() {
    let constants = [
        numbers("seven", &[7]),
        numbers("twice", &[-1, -1]),
        numbers("beyond", &[0, 0, 0, 0, 0]),
        numbers("negative", &[-2]),
        numbers("parts", &[24, 25]),
        numbers("back", &[72, -24]),
        zeros("x", FLOAT_TYPE, &[4]),
        zeros("y", FLOAT_TYPE, &[3]),
    ];
    let split = |sizes, axis| node("", "Split", &["planes", sizes], &["a", "b"]).put(5, int("axis", axis));
    let order = |values| node("", "Transpose", &["planes"], &["t"]).put(5, ints("perm", values));
    let cases = [
        node("", "Reshape", &["planes", "seven"], &["r"]),
        node("", "Reshape", &["planes", "twice"], &["r"]),
        node("", "Reshape", &["planes", "beyond"], &["r"]),
        node("", "Reshape", &["planes", "negative"], &["r"]),
        node("", "Reshape", &["planes", "x"], &["r"]),
        split("parts", 3),
        split("back", 3),
        split("parts", 4),
        split("parts", u64::MAX),
        order(&[0, 1, 2]),
        order(&[0, 1, 2, 2]),
        order(&[0, 1, 2, 4]),
        node("", "Add", &["x", "y"], &["s"]),
        node("", "Add", &["x", "seven"], &["s"]),
        node("", "Add", &["x"], &["s"]),
        node("", "Relu", &["seven"], &["s"]),
        node("", "Relu", &["x"], &["s", "more"]),
        node("", "Cast", &["x"], &["s"]).put(5, int("to", 7)),
        node("", "Gemm", &["x", "x", "x"], &["s"]),
        node("", "QuantizeLinear", &["x", "y", "y"], &["s"]),
        node("", "DequantizeLinear", &["x", "y", "y"], &["s"]),
        node("com.microsoft", "QLinearAdd", &["x"; 8], &["s"]),
    ];
    for case in cases {
        assert_node(&with(&[case], &constants));
    }
    let whole = numbers("whole", &[24, 24]);
    assert!(cost(&with(&[split("whole", 3)], &[whole])).is_ok());
    assert!(cost(&with(&[order(&[3, 1, 0, 2])], &[])).is_ok());
}

#[test]
fn the_ports_are_those_of_the_manifest() {
    let refused = |model: &Message| assert!(matches!(refusal(model), GraphError::Ports(_)));
    let named = |input: &str, dims: &[Option<u64>], output: &str| {
        let node = node("", "Mul", &[input, "zero"], &[output]);
        let graph = new().put(1, node).put(5, zero()).put(11, port(input, dims)).put(12, port(output, &PLANES));
        model(graph)
    };
    assert!(cost(&named("planes", &PLANES, "correction")).is_ok());
    refused(&named("plans", &PLANES, "correction"));
    refused(&named("planes", &PLANES, "corrections"));
    refused(&named("planes", &[Some(1), None, None, Some(47)], "correction"));
    refused(&named("planes", &[Some(1), Some(8), None, Some(48)], "correction"));
    refused(&named("planes", &[None; 4], "correction"));
    let small = node("", "Mul", &["zero", "zero"], &["correction"]);
    refused(&model(graph(&[small], &[zero()])));
    refused(&model(new()));
    let told = Ports { cut: Some("cut".into()), ..ports() };
    assert!(matches!(check(&with(&[], &[]).0, &told), Err(GraphError::Ports(_))));
}

#[test]
fn a_cut_or_altered_file_is_refused_or_another_network_but_never_a_panic() {
    let (nodes, constants) = convolution(4, 48, 3, 4);
    let sound = with(&nodes, &constants).0;
    for cut in 0..sound.len() {
        // After the graph and both sets of operators nothing may be missing.
        assert!(check(&sound[..cut], &ports()).is_err(), "cut at {cut}");
        for bit in 0..8 {
            let mut altered = sound.clone();
            altered[cut] ^= 1 << bit;
            if let Ok(cost) = check(&altered, &ports()) {
                assert!(cost.memory <= MAX_MEMORY && cost.work <= MAX_WORK);
            }
        }
    }
}
