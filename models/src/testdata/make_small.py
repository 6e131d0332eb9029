"""Writes `small_analysis.onnx` and `small_synthesis.onnx`: networks that reach as far as the trained ones, with few
channels and random weights, for the tests of `deep.rs`. It needs the package of models/train."""

from pathlib import Path

import torch

from nestcast_train.photo.model import CHANNELS, Codec, Correction
from nestcast_train.settings import PhotoSettings

here = Path(__file__).parent


class Packed(torch.nn.Module):
    """A correction of blocks of pixels, (1, H/4, W/4, 48), in floats."""

    def __init__(self, correction: Correction):
        super().__init__()
        self.correction = correction

    def forward(self, planes: torch.Tensor, cut: torch.Tensor | None = None) -> torch.Tensor:
        return self.correction.of_blocks(planes.permute(0, 3, 1, 2), cut).permute(0, 2, 3, 1)


few = (8, 8, 8)
model = Codec(PhotoSettings("photo", "small", analysis_channels=few, synthesis_channels=few))
torch.manual_seed(1)
for part in model.modules():
    if isinstance(part, (torch.nn.Conv2d, torch.nn.Linear)):
        part.reset_parameters()
with torch.no_grad():
    model.analysis.tail.weight *= 8  # a correction of a few levels, as the synthesis has
inputs = {"planes": torch.zeros(1, 16, 16, CHANNELS), "cut": torch.zeros(1)}
free = {"planes": {1: "rows", 2: "columns"}, "correction": {1: "rows", 2: "columns"}}
for name, network, ports in (("analysis", model.analysis, ["planes"]), ("synthesis", model.synthesis, ["planes", "cut"])):
    given = tuple(inputs[port] for port in ports)
    common = {"output_names": ["correction"], "dynamic_axes": free, "opset_version": 17, "dynamo": False}
    torch.onnx.export(Packed(network), given, here / f"small_{name}.onnx", input_names=ports, **common)
