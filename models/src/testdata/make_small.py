"""Writes `small_analysis.onnx` and `small_synthesis.onnx`: networks as the trained ones reach, with few
channels and random weights. Run it with models/train/'s Python; the tests of `deep.rs` use them."""

import sys
from pathlib import Path

import torch

here = Path(__file__).parent
sys.path.insert(0, str(here.parents[1] / "train"))

from export import networks  # noqa: E402
from model import Codec  # noqa: E402
from settings import Settings  # noqa: E402

few = (8, 8, 8)
model = Codec(Settings(analysis_channels=few, synthesis_channels=few))
torch.manual_seed(1)
for part in model.modules():
    if isinstance(part, (torch.nn.Conv2d, torch.nn.Linear)):
        part.reset_parameters()
with torch.no_grad():
    model.analysis.tail.weight *= 8  # a correction of a few levels, as the synthesis has
networks(model, here)
for name in ("analysis", "synthesis"):
    (here / f"{name}.onnx").rename(here / f"small_{name}.onnx")
