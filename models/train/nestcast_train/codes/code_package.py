"""The package of a binary code: python -m nestcast_train.codes.code_package SETTINGS WEIGHTS.npz OUT.

Writes encoder.onnx (a picture to a code: bit k is 1 where output k is above 0), decoder.onnx where the settings'
package has `decoder` (a code of 1, -1 for a bit that is 0, and 0 for a bit that is not known, to a picture), golden/
and manifest.toml. Weights are bytes: slim.py rounded the rows in the same way, so nothing changes here.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Protocol

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper

from nestcast_train.codes.autoencoder import Autoencoder
from nestcast_train.codes.pictures import SIDE
from nestcast_train.codes.vectors import DARK, Frame
from nestcast_train.export import manifest
from nestcast_train.export.photo_package import about
from nestcast_train.settings import load
from nestcast_train.slim import TOP, read_weights, rounded
from nestcast_train.train import task_of

OPSET, IR = 17, 8
FORMAT = 1  # of the manifest
GOLDEN = 8  # pictures
SHAPE = [1, 3, SIDE, SIDE]


class Model(Protocol):
    """What makes codes."""

    def coding_layers(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Weight and bias of each layer from the input to the code, whose bits are 1 above 0."""


class CodeSettings(Protocol):
    name: str
    widths: tuple[int, ...]
    package: dict


class Graph:
    """Nodes and constants; a value is known by its name."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def constant(self, name: str, value: np.ndarray | torch.Tensor | np.generic) -> str:
        if isinstance(value, torch.Tensor):
            value = value.detach().float().numpy()
        self.constants[name] = numpy_helper.from_array(np.array(value, order="C"), name)
        return name

    def node(self, operator: str, inputs: list[str], output: str) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [output], output))
        return output

    def reshape(self, x: str, shape: list[int], output: str) -> str:
        return self.node("Reshape", [x, self.constant(f"{output}/shape", np.array(shape, np.int64))], output)

    def matrix(self, weight: torch.Tensor, name: str, transposed: bool) -> tuple[str, torch.Tensor]:
        """weight (N, D) as bytes, which are read as whole numbers; and a scale for each row, (N,)."""
        whole, scale = rounded(weight)
        whole = (whole.t() if transposed else whole).add(TOP + 1).byte().numpy()
        unit, zero = self.constant("one", np.float32(1)), self.constant("middle", np.uint8(TOP + 1))
        self.node("DequantizeLinear", [self.constant(f"{name}/bytes", whole), unit, zero], f"{name}/whole")
        return f"{name}/whole", scale.flatten()

    def down(self, x: str, weight: torch.Tensor, bias: torch.Tensor, name: str, gain: torch.Tensor | float = 1) -> str:
        """gain (weight x + bias); weight (N, D), x (1, D)."""
        whole, scale = self.matrix(weight, name, transposed=True)
        sums = self.node("Gemm", [x, whole, self.constant(f"{name}/bias", bias / scale)], f"{name}/sums")
        return self.node("Mul", [sums, self.constant(f"{name}/scale", (gain * scale)[None])], name)

    def up(self, x: str, weight: torch.Tensor, bias: torch.Tensor, name: str, gain: torch.Tensor | float = 1) -> str:
        """(gain x) weight + bias; weight (N, D), x (1, N)."""
        whole, scale = self.matrix(weight, name, transposed=False)
        scaled = self.node("Mul", [x, self.constant(f"{name}/scale", (gain * scale)[None])], f"{name}/scaled")
        return self.node("Gemm", [scaled, whole, self.constant(f"{name}/bias", bias)], name)

    def save(self, path: Path, given: tuple[str, list[int]], output: tuple[str, list[int]]) -> None:
        ports = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)] for name, shape in (given, output)]
        graph = helper.make_graph(self.nodes, path.stem, *ports, list(self.constants.values()))
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR, producer_name="nestcast"
        )
        onnx.checker.check_model(model, full_check=True)
        path.write_bytes(model.SerializeToString())


def encoder(model: Model, frame: Frame, path: Path) -> None:
    g, (weights, biases) = Graph(), zip(*model.coding_layers())
    units, skips = len(biases[-1]), getattr(model, "skips", None)
    flat = g.reshape("picture", [1, len(frame.mean)], "flat")
    centred = g.node(
        "Sub",
        [evened(g, flat, len(frame.mean)) if frame.relative else flat, g.constant("mean", frame.mean[None])],
        "centred",
    )
    y = x = g.down(centred, frame.basis, torch.zeros(len(frame.basis)), "coordinates", 1 / frame.deviation)
    for i, (weight, bias) in enumerate(zip(weights, biases)):
        x = g.down(x, weight, bias, f"layer{i}")
        x = x if i + 1 == len(weights) else g.node("Relu", [x], f"layer{i}/rectified")
    if skips:
        x = g.node("Add", [x, g.down(y, skips[0], torch.zeros(units), "skip")], "sum")
    g.reshape(x, [1, units], "code")
    g.save(path, ("picture", SHAPE), ("code", [1, units]))


def evened(g: Graph, flat: str, size: int) -> str:
    """Samples by their mean, as vectors.evened."""
    mean = g.node(
        "Gemm",
        [flat, g.constant("shares", np.full((size, 1), 1 / size, np.float32)), g.constant("dark", np.float32([DARK]))],
        "level",
    )
    return g.node("Div", [flat, mean], "evened")


def decoder(model: Autoencoder, frame: Frame, path: Path) -> None:
    g, units, x = Graph(), len(model.biases[-1]), "code"
    # a bit is worth 1/2 or -1/2, as it is as often 1 as 0
    gain = torch.full((units,), 0.5) if model.gains is None else 0.5 * model.gains.exp()
    layers = list(zip(model.up_weights if len(model.up_weights) else model.weights, model.up_biases))
    for i, (weight, bias) in reversed(list(enumerate(layers))):
        x = g.up(x, weight, bias, f"layer{i}", gain if i + 1 == len(layers) else 1)
        x = g.node("Relu", [x], f"layer{i}/rectified") if i > 0 else x
    if model.skips:
        beside = g.up("code", model.skips[1], torch.zeros(len(frame.deviation)), "skip", gain)
        x = g.node("Add", [x, beside], "sum")
    g.reshape(g.up(x, frame.basis, frame.mean, "samples", frame.deviation), SHAPE, "picture")
    g.save(path, ("code", [1, units]), ("picture", SHAPE))


class Package:
    """Runs the networks of a package, a picture at a time, on one thread."""

    def __init__(self, folder: Path):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        open_ = lambda name: onnxruntime.InferenceSession(folder / name, options, ["CPUExecutionProvider"])
        self.encoder = open_("encoder.onnx")
        self.decoder = open_("decoder.onnx") if (folder / "decoder.onnx").exists() else None

    def encode(self, pictures_: np.ndarray) -> np.ndarray:
        """Bytes (N, 3, 32, 32) -> (N, bits), of which those above 0 are ones."""
        samples = pictures_.reshape(-1, *SHAPE).astype(np.float32) / 255
        return np.concatenate([self.encoder.run(None, {"picture": picture})[0] for picture in samples])

    def decode(self, code: np.ndarray, bits: int) -> np.ndarray:
        """What `encode` gave, cut after `bits` -> (N, 3, 32, 32) in 0..1."""
        signs = np.where(code > 0, np.float32(1), np.float32(-1)) * (np.arange(code.shape[1]) < bits)
        decoded = [self.decoder.run(None, {"code": one[None].astype(np.float32)})[0] for one in signs]
        return np.concatenate(decoded).clip(0, 1)


def golden_pictures() -> np.ndarray:
    """Bytes (GOLDEN, 3, 32, 32): gradients, edges and noise."""
    random = np.random.default_rng(1)
    y, x = np.mgrid[:SIDE, :SIDE] / (SIDE - 1)
    turns = random.uniform(-1, 1, (GOLDEN, 3, 2, 1, 1))
    slopes = 0.5 + 0.5 * (turns[:, :, 0] * (y - 0.5) + turns[:, :, 1] * (x - 0.5))
    edges = random.uniform(-0.3, 0.3, (GOLDEN, 3, 1, 1)) * (x + y > random.uniform(0.5, 1.5, (GOLDEN, 1, 1, 1)))
    return np.round(255 * (slopes + edges + 0.03 * random.standard_normal(slopes.shape)).clip(0, 1)).astype(np.uint8)


def write_golden(folder: Path) -> None:
    package, given = Package(folder), golden_pictures()
    (folder / "golden").mkdir(exist_ok=True)
    code = package.encode(given)
    np.save(folder / "golden/pictures.npy", given)
    np.save(folder / "golden/codes.npy", code)
    if package.decoder:
        np.save(folder / "golden/decoded.npy", package.decode(code, code.shape[1] // 4))


def head(settings: CodeSettings, package: dict) -> str:
    """The manifest but for the files' hashes."""
    return f"""\
# A nestcast model package of a binary code, written by nestcast_train.codes.code_package of models/train.
kind = "binary-code"
format = {FORMAT}
name = "{settings.name}"
{about(package)}

[code]
bits = {settings.widths[-1]}
"""


def read(settings: CodeSettings, weights: Path) -> tuple[Model, Frame]:
    """A model that was trained, ready to encode, and the frame of its coordinates."""
    state = read_weights(weights)
    model = task_of(settings).kind(settings)
    model.load_state_dict({name: value for name, value in state.items() if not name.startswith("frame.")})
    return model.eval(), Frame.from_state(state)


def write(settings: CodeSettings, weights: Path, folder: Path) -> None:
    """The package of a model that was trained."""
    write_model(*read(settings, weights), settings, folder, settings.package)


@torch.no_grad()
def write_model(model: Model, frame: Frame, settings: CodeSettings, folder: Path, package: dict) -> None:
    """`package`: version, licence and data of the manifest, and whether there is a decoder."""
    folder.mkdir(parents=True, exist_ok=True)
    encoder(model, frame, folder / "encoder.onnx")
    required = ["encoder.onnx"]
    if package["decoder"]:
        decoder(model, frame, folder / "decoder.onnx")
        required.append("decoder.onnx")
    write_golden(folder)
    manifest.write(folder, head(settings, package), required)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", type=Path)
    parser.add_argument("weights", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    write(load(arguments.settings), arguments.weights, arguments.out)


if __name__ == "__main__":
    main()
