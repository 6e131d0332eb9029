"""Export a checkpoint as a model package: python export.py CHECKPOINT photo.toml --out DIR.

Writes tables.bin (spec/bitstream.md, "Model tables"), analysis.onnx and synthesis.onnx.
"""

from __future__ import annotations

import argparse
import struct
from pathlib import Path

import torch
import torch.nn.functional as F

import wavelet
from model import Codec
from settings import load

PLANES = 15  # planes with a reconstruction point of their own
CONTEXTS = 1623  # adaptive probabilities; their priors are learned afterwards, by coding photos
VERSION = 1
WEIGHT_ONE = 64  # context weights are in 1/64


def stream_order(model: Codec) -> list[tuple[int, int]]:
    """(level, index within the level) of every unit in the order of the stream: LL, coarse to fine."""
    levels = model.settings.levels
    details = [(level, i) for level in reversed(range(levels)) for i in range(9)]
    return [(levels, i) for i in range(3)] + details


def tables(model: Codec) -> bytes:
    """All that the bytes and the linear decoder depend on."""
    out = bytearray(b"NSTM" + bytes([VERSION, 0, 0, 0]))
    floats = lambda values: out.extend(struct.pack(f"<{len(values)}f", *values))
    colour = model.colour.detach().double()
    floats(colour.flatten().tolist())
    floats(torch.linalg.inv(colour).flatten().tolist())
    floats(model.taps.detach().flatten().tolist())
    for level, i in stream_order(model):
        floats([model.log_steps[level][i].exp().item()])
        floats(model.offsets[level][i].detach().clamp(0, 1).tolist()[:PLANES] + [0.45] * (PLANES - model.offsets[level].shape[1]))
        scale = model.scales[level]
        weights = F.softplus(scale.near[i]).tolist()
        weights += [F.softplus(scale.parent[i]).item() if scale.has_parent else 0.0]
        component = i * 3 // scale.units
        from_luma, from_cb = F.softplus(scale.colour[i]).tolist()
        weights += [from_luma if component > 0 else 0.0, from_cb if component > 1 else 0.0]
        out.extend(min(255, round(WEIGHT_ONE * w)) for w in weights)
    out.extend(struct.pack("<H", 0x8000) * CONTEXTS)
    return bytes(out)


def networks(model: Codec, out: Path) -> None:
    """Both corrections: planes (1, 3, H, W), H and W multiples of 16 -> correction of the same shape."""
    planes = torch.zeros(1, 3, 64, 64)
    free = {"planes": {2: "height", 3: "width"}, "correction": {2: "height", 3: "width"}}
    common = {"output_names": ["correction"], "dynamic_axes": free, "opset_version": 17, "dynamo": False}
    torch.onnx.export(model.analysis, (planes,), out / "analysis.onnx", input_names=["planes"], **common)
    cut = torch.zeros(1)
    torch.onnx.export(model.synthesis, (planes, cut), out / "synthesis.onnx", input_names=["planes", "cut"], **common)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("settings", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    model = Codec(load(arguments.settings))
    if arguments.checkpoint.name != "start":
        model.load_state_dict(torch.load(arguments.checkpoint, weights_only=True, map_location="cpu")["model"])
    model.eval()
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "tables.bin").write_bytes(tables(model))
    networks(model, arguments.out)


if __name__ == "__main__":
    main()
