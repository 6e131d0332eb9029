"""Export a checkpoint as a model package: python export.py CHECKPOINT photo.toml --out DIR.

Where CHECKPOINT is the word `start`, the untrained model is exported: what training starts from.

Writes tables.bin (spec/bitstream.md, "Model tables"), analysis.onnx, synthesis.onnx, golden/ (what PyTorch
computes, for the Rust tests) and manifest.toml. What training does not know of the model, such as its
licence, is in photo.package.toml. After tables.bin was rewritten: python manifest.py DIR.
"""

from __future__ import annotations

import argparse
import struct
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import manifest
from model import Codec
from settings import load

PLANES = 15  # planes with a reconstruction point of their own
CONTEXTS = 1959  # adaptive probabilities; examples/priors.rs learns their priors by coding photos
VERSION = 1
WEIGHT_ONE = 64  # context weights are in 1/64
FORMAT = 1  # of the manifest
COMPONENTS = ("y", "cb", "cr")
DETAILS = ("hl", "lh", "hh")
GOLDEN_SIDE = 64  # pixels; every wavelet level of it is even, as the matrices need
GOLDEN_CUTS = (1.0, 4.5)


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


def unit_names(levels: int) -> list[str]:
    """component-band-level (6 = coarsest), in the order of the stream."""
    low = [f"{component}-ll{levels}" for component in COMPONENTS]
    return low + [f"{c}-{band}{level}" for level in range(levels, 0, -1) for c in COMPONENTS for band in DETAILS]


def golden_picture() -> torch.Tensor:
    """(1, 3, side, side), whole numbers 0..255: a ramp, soft blobs, hard edges, noise; the same on every run."""
    random = torch.Generator().manual_seed(1)
    blobs = F.interpolate(torch.rand(1, 3, 8, 8, generator=random), size=GOLDEN_SIDE, mode="bilinear", align_corners=False)
    rgb = 60 * torch.linspace(0, 1, GOLDEN_SIDE) + 150 * blobs
    rgb[:, :, 20:37, 11:30] = torch.tensor([250.0, 30.0, 5.0]).view(1, 3, 1, 1)
    rgb[:, :, 45:, 40:] += 40 * torch.rand(1, 3, 19, 24, generator=random)
    return rgb.round().clamp(0, 255)


@torch.no_grad()
def golden(model: Codec, out: Path) -> None:
    """Arrays that the Rust code must reproduce; the networks' input is `planes` for both."""
    rgb = golden_picture()
    planes = model.to_planes(rgb)
    coefficients, _ = model.forward_wavelet(planes)
    coefficients = [c * steps.exp().view(1, -1, 1, 1) for c, steps in zip(coefficients, model.log_steps)]
    arrays = {
        "rgb": rgb[0].permute(1, 2, 0).byte(),  # (side, side, 3)
        "planes": planes[0],  # (3, side, side)
        "coefficients": torch.cat([coefficients[level][0, i].flatten() for level, i in stream_order(model)]),
        "analysis": model.analysis(planes)[0],  # (3, side, side)
        "synthesis": torch.cat([model.synthesis(planes, torch.tensor([cut])) for cut in GOLDEN_CUTS]),  # (cuts, 3, ...)
    }
    (out / "golden").mkdir(exist_ok=True)
    for name, array in arrays.items():
        np.save(out / "golden" / f"{name}.npy", array.contiguous().numpy())


def head(model: Codec, about: str) -> str:
    """The manifest but for the files' hashes; `about` is the part that people write."""
    settings = model.settings
    units = ", ".join(f'"{name}"' for name in unit_names(settings.levels))
    return f"""\
# A nestcast model package. Written by models/train/export.py; hashes by models/train/manifest.py.
format = {FORMAT}
name = "{settings.name}"
{about.strip()}

[transform]
stride = {2 ** settings.levels}  # pixels to a sample of the coarsest units, each way
levels = {settings.levels}
units = [{units}]

[ranges]
samples = [0.0, 255.0]
planes = [-180.0, 180.0]
cut = [{settings.cut_range[0]}, {settings.cut_range[1]}]  # in bit planes; the synthesis was trained for these

[networks.analysis]
planes = "planes"
correction = "correction"

[networks.synthesis]
planes = "planes"
cut = "cut"
correction = "correction"

[golden]
cuts = {list(GOLDEN_CUTS)}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=Path, help="RUN/checkpoint.pt, or the word start: the untrained model")
    parser.add_argument("settings", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    model = Codec(load(arguments.settings))
    if str(arguments.checkpoint) != "start":
        model.load_state_dict(torch.load(arguments.checkpoint, weights_only=True, map_location="cpu")["model"])
    model.eval()
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "tables.bin").write_bytes(tables(model))
    networks(model, arguments.out)
    golden(model, arguments.out)
    about = arguments.settings.with_suffix(".package.toml").read_text(encoding="utf-8")
    manifest.write(arguments.out, head(model, about))


if __name__ == "__main__":
    main()
