"""Writes the tiny models for the tests of `onnx.rs` and `deep.rs`: `python3 make.py`, with the package `onnx`
installed."""

from pathlib import Path

from onnx import TensorProto, checker, helper, save


def add(file, element, a, b):
    """sum = a + b, with the given element type and shapes (a string is a dimension of any length)."""
    graph = helper.make_graph(
        [helper.make_node("Add", ["a", "b"], ["sum"])],
        "add",
        [helper.make_tensor_value_info("a", element, a), helper.make_tensor_value_info("b", element, b)],
        [helper.make_tensor_value_info("sum", element, a)],
    )
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)])
    checker.check_model(model)
    save(model, Path(__file__).with_name(file))


def nothing(file, *inputs):
    """correction = 0 * (the sum of the inputs): the networks of a model that corrects nothing."""
    shapes = {"planes": [1, "rows", "columns", 48], "cut": [1]}
    zero = helper.make_tensor("zero", TensorProto.FLOAT, [1], [0.0])
    summed = [helper.make_node("Sum", list(inputs), ["sum"]), helper.make_node("Mul", ["sum", "zero"], ["correction"])]
    graph = helper.make_graph(
        summed,
        "nothing",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shapes[name]) for name in inputs],
        [helper.make_tensor_value_info("correction", TensorProto.FLOAT, shapes["planes"])],
        [zero],
    )
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)])
    checker.check_model(model)
    save(model, Path(__file__).with_name(file))


add("add.onnx", TensorProto.FLOAT, [1, 2, "h", "w"], [1, 2, 1, 1])
add("add_integers.onnx", TensorProto.INT32, [1], [1])
add("add_vectors.onnx", TensorProto.FLOAT, ["n"], ["m"])
nothing("zero_analysis.onnx", "planes")
nothing("zero_synthesis.onnx", "planes", "cut")
