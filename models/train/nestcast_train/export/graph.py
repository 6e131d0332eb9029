"""A network as an int8 ONNX graph (quantise.py), in ONNX Runtime's integer operators.

Channels come last and every activation stays in bytes from the blocks of pixels to the correction, so a run is
convolutions and little else. The cut, an input of the synthesis, is worked out on vectors: it scales the weights'
scales and moves the biases of the convolutions that it conditions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from nestcast_train.export.quantise import MIDDLE, PLANES, WEIGHT_TOP, Parts, Ranges, affine, part_scales, weight_scales
from nestcast_train.frames import frame_restorer
from nestcast_train.frames.frame_restorer import FrameRestorer
from nestcast_train.gains.network import FILTERS, SMALL, GainNetwork
from nestcast_train.photo.model import (
    ANALYSIS_SCALE,
    CHANNELS,
    CUT_SCALE,
    INPUT_SCALE,
    SYNTHESIS_SCALE,
    Block,
    Correction,
)

OPSET, IR = 17, 8
RUNTIME = "com.microsoft"  # ONNX Runtime's own operators: convolution with channels last, addition of bytes


def array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().double().cpu().numpy()


# x, name, scales of the weights, bias, unit of the sums -> zero point of x.
Condition = Callable[[str, str, np.ndarray, np.ndarray, np.ndarray], str]


class Graph:
    """Nodes and constants; a value is known by its name."""

    def __init__(self, ranges: Ranges, parts: Parts):
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.affine: dict[str, tuple[float, int]] = {}
        for name in sorted(ranges.keys() - parts.keys()):
            self.activation(name, *affine(*ranges[name]))

    def activation(self, name: str, scale: float, zero: int) -> None:
        self.affine[name] = scale, zero
        self.constant(f"{name}/scale", np.float32(scale))
        self.constant(f"{name}/zero", np.uint8(zero))

    def constant(self, name: str, value: np.ndarray | np.generic) -> str:
        self.constants.append(numpy_helper.from_array(np.array(value, order="C"), name))
        return name

    def node(self, operator: str, inputs: list[str], output: str | list[str], domain: str = "", **attributes) -> str:
        outputs = [output] if isinstance(output, str) else output
        self.nodes.append(helper.make_node(operator, inputs, outputs, outputs[0], domain=domain, **attributes))
        return outputs[0]

    def bytes_of(self, name: str) -> list[str]:
        """Scale and zero point of an activation."""
        return [f"{name}/scale", f"{name}/zero"]

    def add(self, a: str, b: str, total: str, like: str | None = None) -> str:
        """`like`: the activation that has the scale and zero point of `b`."""
        inputs = [a, *self.bytes_of(a), b, *self.bytes_of(like or b), *self.bytes_of(total)]
        return self.node("QLinearAdd", inputs, total, RUNTIME)

    def convolution(
        self,
        x: str,
        layer: torch.nn.Conv2d,
        name: str,
        gain: torch.Tensor | None = None,
        order: torch.Tensor | None = None,
        condition: Condition | None = None,
    ) -> str:
        """A convolution. `order`: of the output channels; `gain`: of the channels of the input. A ReLU that follows is
        free, because bytes end at zero."""
        weight, bias = layer.weight.detach(), layer.bias.detach()
        if gain is not None:
            weight = weight * gain.view(1, -1, 1, 1)
        if order is not None:
            weight, bias = weight[order], bias[order]
        scales = weight_scales(weight)
        rounded = (weight / scales.view(-1, 1, 1, 1)).round().clamp(-WEIGHT_TOP, WEIGHT_TOP)
        self.constant(f"{name}/weight", rounded.to(torch.int8).cpu().numpy())
        self.constant(f"{name}/weight zero", np.zeros(len(rounded), np.int8))
        unit = self.affine[x][0] * array(scales)  # of the sums
        zero = f"{x}/zero"
        if condition is None:
            self.constant(f"{name}/weight scale", array(scales).astype(np.float32))
            self.constant(f"{name}/bias", np.round(array(bias) / unit).astype(np.int32))
        else:
            zero = condition(x, name, array(scales), array(bias), unit)
        size, stride = layer.kernel_size[0], layer.stride[0]
        inputs = [
            x,
            f"{x}/scale",
            zero,
            *(f"{name}/weight{part}" for part in ("", " scale", " zero")),
            *self.bytes_of(name),
            f"{name}/bias",
        ]
        shape = {"kernel_shape": [size] * 2, "pads": [layer.padding[0]] * 4, "strides": [stride] * 2}
        return self.node("QLinearConv", inputs, name, RUNTIME, channels_last=1, **shape)

    def block(self, x: str, block: Block, name: str, cut: Cut | None) -> str:
        condition = partial(cut.condition, block.film) if cut else None
        y = self.convolution(x, block.reduce, f"{name}.reduce", condition=condition)
        y = self.convolution(y, block.spatial, f"{name}.spatial")
        return self.add(x, self.convolution(y, block.expand, f"{name}.expand"), name)

    def up(self, x: str, layer: torch.nn.Conv2d, name: str, beside: str, total: str) -> str:
        """beside + pixel_shuffle(layer(x)): (1, h, w, 4 c) -> (1, 2 h, 2 w, c); only rows have to move."""
        channels = layer.out_channels // 4
        order = torch.arange(4 * channels).view(channels, 4).t().flatten()
        y = self.convolution(x, layer, name, order=order)
        self.node("Shape", [beside], f"{name}/shape")
        self.node("Reshape", [y, self.constant(f"{name}/split", np.array([0, 0, 0, 2, 2 * channels]))], f"{name}/rows")
        self.node("Transpose", [f"{name}/rows"], f"{name}/moved", perm=[0, 1, 3, 2, 4])
        self.node("Reshape", [f"{name}/moved", f"{name}/shape"], f"{name}/up")
        return self.add(beside, f"{name}/up", total, like=name)


class Cut:
    """What the cut does to the convolutions, for all of them at once.

    With y = (W x + b) (1 + scale) + shift, the scales of the weights become s (1 + scale) and the bias, in units of
    the sums, b / u + shift / (u (1 + scale)), where u is the unit at 1 + scale = 1.
    """

    told = "cut"  # the input

    def __init__(self, graph: Graph, network: Correction):
        self.graph, self.network = graph, network
        self.layers: list[tuple[str, torch.nn.Linear, np.ndarray, np.ndarray, np.ndarray]] = []
        first, second = network.embed[0], network.embed[2]
        g = graph
        self.row = g.node(
            "Reshape",
            [self.told, g.constant("cut/row", np.array([1, first.in_features]))],
            f"{self.told}/1x{first.in_features}",
        )
        x = self.linear(self.row, array(first.weight) / self.told_scale(), array(first.bias), "cut/first")
        x = self.linear(g.node("Relu", [x], "cut/a"), array(second.weight), array(second.bias), "cut/second")
        g.node("Relu", [x], "cut/embedded")
        # ONNX Runtime 1.24 leaves out a bias that is not a constant where its fast convolution takes the zero point
        # for one. This one is not.
        g.node("Reshape", [self.number(), g.constant("cut/no shape", np.array([], np.int64))], "cut/scalar")
        g.node("Mul", ["cut/scalar", g.constant("cut/nought", np.float32(0))], "cut/zero")

    def told_scale(self) -> np.ndarray:
        """What the input is divided by."""
        return np.array([CUT_SCALE])

    def number(self) -> str:
        """One number, which `scale` is made of."""
        return self.told

    def linear(self, x: str, weight: np.ndarray, bias: np.ndarray, name: str) -> str:
        g = self.graph
        weight, bias = weight.T.astype(np.float32), bias.astype(np.float32)
        return g.node("Gemm", [x, g.constant(f"{name}/weight", weight), g.constant(f"{name}/bias", bias)], name)

    def condition(
        self, film: torch.nn.Linear, x: str, name: str, scales: np.ndarray, bias: np.ndarray, unit: np.ndarray
    ) -> str:
        """Promises `name` its weight scales and bias; gives the zero point that it must use for `x`."""
        self.layers.append((name, film, scales, bias, unit))
        g = self.graph
        g.node("Add", ["cut/zero", g.constant(f"{name}/x zero", np.float32(g.affine[x][1]))], f"{name}/zero as float")
        return g.node("Cast", [f"{name}/zero as float"], f"{name}/zero of x", to=TensorProto.UINT8)

    def scale(self, unit: float) -> str:
        """The scale of the correction's bytes, in such units: what is missing at a cut is in proportion to its
        quantiser step."""
        g = self.graph
        g.node(
            "Exp",
            [g.node("Mul", ["cut/scalar", g.constant("cut/log 2", np.float32(math.log(2)))], "cut/log step")],
            "cut/step",
        )
        finest = np.float32(unit * SYNTHESIS_SCALE * self.network.step)
        return g.node("Mul", ["cut/step", g.constant("tail/finest scale", finest)], "tail/cut scale")

    def conditioned(self) -> None:
        """Keeps all promises."""
        g = self.graph
        scale_weight, scale_bias, shift_weight, shift_bias, still = ([] for _ in range(5))
        for _, film, scales, bias, unit in self.layers:
            (scale_rows, shift_rows), (scale, shift) = np.split(array(film.weight), 2), np.split(array(film.bias), 2)
            per_scale = scales / unit  # 1 / scale of x
            scale_weight.append(scale_rows * scales[:, None])
            scale_bias.append((1 + scale) * scales)
            shift_weight.append(shift_rows * per_scale[:, None])
            shift_bias.append(shift * per_scale)
            still.append(bias / unit)
        join = np.concatenate
        scales = self.linear("cut/embedded", join(scale_weight), join(scale_bias), "cut/scales")
        shifts = self.linear("cut/embedded", join(shift_weight), join(shift_bias), "cut/shifts")
        g.node("Div", [shifts, scales], "cut/shift in units")
        g.node("Add", ["cut/shift in units", g.constant("cut/still", join(still).astype(np.float32))], "cut/bias")
        g.node("Cast", [g.node("Round", ["cut/bias"], "cut/round bias")], "cut/biases", to=TensorProto.INT32)
        sizes = g.constant("cut/sizes", np.array([len(scales) for _, _, scales, _, _ in self.layers]))
        flat = g.constant("cut/flat", np.array([-1]))
        for values, part in ((scales, "weight scale"), ("cut/biases", "bias")):
            g.node("Reshape", [values, flat], f"{values}/flat")
            g.node("Split", [f"{values}/flat", sizes], [f"{name}/{part}" for name, *_ in self.layers], axis=0)


class Told(Cut):
    """The same for the inputs of the network for shown frames; its output's scale is learned too."""

    told = "told"

    def told_scale(self) -> np.ndarray:
        return np.array(frame_restorer.TOLD_SCALE)

    def number(self) -> str:
        told, embedded = self.network.scale_told, self.network.scale_embedded
        of_told = self.linear(self.row, array(told.weight) / self.told_scale(), array(told.bias), "cut/scale of told")
        more = self.linear("cut/embedded", array(embedded.weight), np.zeros(1), "cut/scale of embedded")
        return self.graph.node("Add", [of_told, more], "cut/log scale")

    def scale(self, unit: float) -> str:
        g = self.graph
        return g.node(
            "Mul",
            [g.node("Exp", ["cut/scalar"], "cut/step"), g.constant("tail/unit", np.float32(unit))],
            "tail/cut scale",
        )


def write(network: Correction, ranges: Ranges, path: Path, share: float = 1.0) -> None:
    """blocks (1, H/4, W/4, 48) -> `share` of the correction, like the blocks, all float32 at the ports. The synthesis
    also takes the cut (1,)."""
    g = Graph(ranges, PLANES)
    cut = Cut(g, network) if network.embed else None
    inputs = [port("planes", CHANNELS)]
    if cut:
        inputs.append(helper.make_tensor_value_info(cut.told, TensorProto.FLOAT, [1]))
    unit = share * body(g, network, cut, "planes", part_scales(ranges, PLANES), 1 / INPUT_SCALE)
    end(g, cut, cut.scale(unit) if cut else g.constant("tail/output scale", np.float32(unit * ANALYSIS_SCALE)))
    save(g, path, inputs, port("correction", CHANNELS))


def write_frames(network: FrameRestorer, ranges: Ranges, path: Path) -> None:
    """blocks (1, H/4, W/4, CHANNELS) and the decoding conditions (TOLD,) -> what is added to the frame (1, H/4, W/4,
    SAMPLES)."""
    parts = {name: count for name, (count, _) in frame_restorer.PARTS.items()}
    g = Graph(ranges, parts)
    told = Told(g, network)
    inputs = [
        port("frame", frame_restorer.CHANNELS),
        helper.make_tensor_value_info(told.told, TensorProto.FLOAT, [frame_restorer.TOLD]),
    ]
    unit = body(g, network, told, "frame", part_scales(ranges, parts), 1 / network.input_scale)
    end(g, told, told.scale(unit))
    save(g, path, inputs, port("correction", frame_restorer.SAMPLES))


def write_gains(network: GainNetwork, path: Path, unit: float) -> None:
    """blocks (1, H/4, W/4, 48) -> (1, H/32, W/32, 2): activity in octaves of gain over `unit`, and the logit of its
    weight. All in float32: the network is small, and its input has a wide range."""
    g = Graph({}, {})

    def convolved(x: str, layer: torch.nn.Conv2d, name: str, weight: torch.Tensor, bias: torch.Tensor | None) -> str:
        inputs = [x, g.constant(f"{name}/weight", weight.detach().float().numpy())]
        bias = torch.zeros(len(weight)) if bias is None else bias
        inputs.append(g.constant(f"{name}/bias", bias.detach().float().numpy()))
        size, stride = layer.kernel_size[0], layer.stride[0]
        shape = {"kernel_shape": [size] * 2, "pads": [layer.padding[0]] * 4, "strides": [stride] * 2}
        return g.node("Conv", inputs, name, **shape)

    def halved(x: str, name: str) -> str:
        return g.node("AveragePool", [x], name, kernel_shape=[2, 2], strides=[2, 2])

    def relu(x: str) -> str:
        return g.node("Relu", [x], f"{x}/relu")

    n = network
    g.node("Transpose", ["planes"], "blocks", perm=[0, 3, 1, 2])
    seen = convolved("blocks", n.filters, "filters", n.filters.weight / INPUT_SCALE, None)
    energy = halved(g.node("Mul", [seen, seen], "squares"), "energy")
    more = g.node("Add", [energy, g.constant("small", np.float32(SMALL))], "energy/more")
    logarithms = g.node("Log", [more], "logarithms")
    means = halved(convolved("blocks", n.means, "means/each", n.means.weight / INPUT_SCALE, n.means.bias), "means")
    of_energy, of_means = n.fine.weight.split([FILTERS, n.fine.in_channels - FILTERS], 1)
    parts = [
        convolved(logarithms, n.fine, "fine/energy", of_energy, n.fine.bias),
        convolved(means, n.fine, "fine/means", of_means, None),
    ]
    x = relu(g.node("Add", parts, "fine"))
    x = relu(convolved(x, n.middle, "middle", n.middle.weight, n.middle.bias))
    x = relu(convolved(x, n.coarse, "coarse", n.coarse.weight, n.coarse.bias))
    x = g.node("Add", [x, relu(convolved(x, n.around, "around", n.around.weight, n.around.bias))], "around/sum")
    units = torch.tensor([unit, 1.0])
    convolved(x, n.last, "last", n.last.weight / units.view(-1, 1, 1, 1), n.last.bias / units)
    g.node("Transpose", ["last"], "activity", perm=[0, 2, 3, 1])
    save(g, path, [port("planes", CHANNELS)], port("activity", 2))


def port(name: str, channels: int) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, "rows", "columns", channels])


def body(
    g: Graph, network: Correction, cut: Cut | None, given: str, scales: torch.Tensor, gain: torch.Tensor | float
) -> float:
    """From the input to bytes of the correction; their unit. gain: of the input, by channel."""

    def through(stage: str, x: str) -> str:
        for i, block in enumerate(getattr(network, stage)):
            x = g.block(x, block, f"{stage}.{i}", cut)
        return x

    # The blocks' scales differ by part: the first layer's weights have them, and the bytes have none.
    g.node("Mul", [given, g.constant(f"{given}/gain", (1 / scales).numpy())], f"{given}/scaled")
    g.activation("blocks", 1.0, MIDDLE)
    g.node("QuantizeLinear", [f"{given}/scaled", *g.bytes_of("blocks")], "blocks")
    x = through("fine_in", g.convolution("blocks", network.head, "head", gain=scales * gain))
    y = through("middle_in", g.convolution(x, network.down_b, "down_b"))
    z = through("coarse", g.convolution(y, network.down_c, "down_c"))
    y = through("middle_out", g.up(z, network.up_b, "up_b", y, "sum_b"))
    x = through("fine_out", g.up(y, network.up_a, "up_a", x, "sum_a"))
    g.convolution(x, network.tail, "tail")
    return g.affine["tail"][0]


def end(g: Graph, cut: Cut | None, scale: str) -> None:
    """The correction in floats, and what the cut promised."""
    g.node("DequantizeLinear", ["tail", scale, "tail/zero"], "correction")
    if cut:
        cut.conditioned()


def save(g: Graph, path: Path, inputs: list[onnx.ValueInfoProto], output: onnx.ValueInfoProto) -> None:
    graph = helper.make_graph(in_order(g), path.stem, inputs, [output], g.constants)
    versions = [helper.make_opsetid("", OPSET), helper.make_opsetid(RUNTIME, 1)]
    onnx.save(helper.make_model(graph, opset_imports=versions, ir_version=IR, producer_name="nestcast"), path)


def in_order(g: Graph) -> list[onnx.NodeProto]:
    """The nodes in an order in which each follows those that it needs; those of the cut were promised first."""
    made_by = {output: node for node in g.nodes for output in node.output}
    ordered: dict[str, onnx.NodeProto] = {}

    def place(node: onnx.NodeProto) -> None:
        if node.name not in ordered:
            for name in node.input:
                if name in made_by:
                    place(made_by[name])
            ordered[node.name] = node

    for node in g.nodes:
        place(node)
    return list(ordered.values())
