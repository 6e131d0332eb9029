"""Export a checkpoint as a model package: python export.py CHECKPOINT photo.toml --photos PHOTOS --out DIR.

Where CHECKPOINT is the word `start`, the untrained model is exported: what training starts from.

Writes tables.bin (spec/bitstream.md, "Model tables"), analysis.onnx, synthesis.onnx, golden/ (what PyTorch
computes, for the Rust tests; for the networks what ONNX Runtime does) and manifest.toml. The networks are int8, their ranges
found on the training photos. What training does not know of the model, such as its licence, is in
photo.package.toml. After tables.bin was rewritten: python manifest.py DIR.
"""

from __future__ import annotations

import argparse
import struct
from pathlib import Path

import numpy as np
import onnxruntime
import torch
import torch.nn.functional as F

import axes
import graph
import manifest
from data import Photos
from model import SIDE, Codec, start_steps
from quantise import calibrate
from settings import load

PLANES = 15  # planes with a reconstruction point of their own
CONTEXTS = 7282  # adaptive probabilities; examples/priors.rs learns their priors by coding photos
VERSION = 4
WEIGHT_ONE = 64  # context weights are in 1/64
FORMAT = 2  # of the manifest
COMPONENTS = ("y", "u", "v")
DETAILS = ("hl", "lh", "hh")
GOLDEN_SIDE = 64  # pixels; every wavelet level of it is even, as the matrices need
GOLDEN_CUTS = (1.0, 4.5)
MOST_APART = 0.3  # root of the mean square difference of int8 to floats, by that of the correction


def stream_order(model: Codec) -> list[tuple[int, int]]:
    """(level, index within the level) of every unit in the order of the stream: LL, coarse to fine."""
    levels = model.settings.levels
    details = [(level, i) for level in reversed(range(levels)) for i in range(9)]
    return [(levels, i) for i in range(3)] + details


def shipped_steps(model: Codec) -> list[torch.Tensor]:
    """Logarithms of the steps, by level: between those that training began with and those that it learned; the mean stays."""
    learned = [steps.detach() for steps in model.log_steps]
    changes = [steps - start for steps, start in zip(learned, start_steps(model.settings))]
    mean, share = torch.cat(changes).mean(), model.settings.step_share
    return [steps + (share - 1) * (change - mean) for steps, change in zip(learned, changes)]


def tables(model: Codec) -> bytes:
    """All that the bytes and the linear decoder depend on."""
    out = bytearray(b"NSTM" + bytes([VERSION, 0, 0, 0]))
    floats = lambda values: out.extend(struct.pack(f"<{len(values)}f", *values))
    floats(model.taps.detach().flatten().tolist())
    log_steps = shipped_steps(model)
    for level, i in stream_order(model):
        floats([log_steps[level][i].exp().item()])
        floats(model.offsets[level][i].detach().clamp(0, 1).tolist()[:PLANES] + [0.45] * (PLANES - model.offsets[level].shape[1]))
        scale = model.scales[level]
        weights = F.softplus(scale.near[i]).tolist()
        weights += [F.softplus(scale.parent[i]).item() if scale.has_parent else 0.0]
        component = i * 3 // scale.units
        from_luma, from_u = F.softplus(scale.colour[i]).tolist()
        weights += [from_luma if component > 0 else 0.0, from_u if component > 1 else 0.0]
        out.extend(min(255, round(WEIGHT_ONE * w)) for w in weights)
    out.extend(struct.pack("<H", 0x8000) * CONTEXTS)
    return bytes(out)


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


def golden_axes() -> tuple[int, int, int]:
    """Angles of the golden picture."""
    return axes.search(golden_picture()[0].permute(1, 2, 0).numpy())


def corrected(network: Path, planes: torch.Tensor, **told: np.ndarray) -> torch.Tensor:
    """What ONNX Runtime computes with an exported network, on one thread: (1, 3, H, W) like the planes."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(network, options, providers=["CPUExecutionProvider"])
    blocks = F.pixel_unshuffle(planes, SIDE).permute(0, 2, 3, 1).contiguous()
    (given,) = session.run(["correction"], {"planes": blocks.numpy(), **told})
    return F.pixel_shuffle(torch.from_numpy(given).permute(0, 3, 1, 2), SIDE)


def agree(name: str, exported: torch.Tensor, floats: torch.Tensor) -> None:
    """Stops where an exported network is not the trained one but for its roundings."""
    apart = ((exported - floats).square().mean() / floats.square().mean()).sqrt().item()
    if apart > MOST_APART:
        raise SystemExit(f"{name}.onnx is apart from the trained network by {apart:.2f} of its correction, rms; at most {MOST_APART}")


@torch.no_grad()
def golden(model: Codec, out: Path) -> None:
    """Arrays that the Rust code must reproduce; the networks' input is `planes` for both."""
    rgb = golden_picture()
    planes = model.to_planes(rgb, torch.from_numpy(axes.axes(golden_axes()))[None].float())
    coefficients, _ = model.forward_wavelet(planes, torch.eye(3)[None])
    coefficients = [c * steps.exp().view(1, -1, 1, 1) for c, steps in zip(coefficients, model.log_steps)]

    def synthesis(cut: float) -> torch.Tensor:
        return corrected(out / "synthesis.onnx", planes, cut=np.array([cut], np.float32))

    arrays = {
        "rgb": rgb[0].permute(1, 2, 0).byte(),  # (side, side, 3)
        "planes": planes[0],  # (3, side, side)
        "coefficients": torch.cat([coefficients[level][0, i].flatten() for level, i in stream_order(model)]),  # not rotated
        "analysis": corrected(out / "analysis.onnx", planes)[0],  # (3, side, side)
        "synthesis": torch.cat([synthesis(cut) for cut in GOLDEN_CUTS]),  # (cuts, 3, side, side)
    }
    agree("analysis", arrays["analysis"], model.settings.analysis_share * model.analysis(planes)[0])
    floats = [model.synthesis(planes, torch.full((1,), cut)) for cut in GOLDEN_CUTS]
    agree("synthesis", arrays["synthesis"], torch.cat(floats))
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
planes = [-128.0, 128.0]
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
axes = {list(golden_axes())}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=Path, help="RUN/checkpoint.pt, or the word start: the untrained model")
    parser.add_argument("settings", type=Path)
    parser.add_argument("--photos", type=Path, required=True, help="those it was trained on")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--keep-tables", action="store_true", help="leave DIR's tables.bin, whose priors were learned")
    parser.add_argument("--only-tables", action="store_true", help="write no more than DIR's tables.bin")
    arguments = parser.parse_args()
    settings = load(arguments.settings)
    torch.manual_seed(settings.seed)
    torch.set_flush_denormal(True)  # as in train.py
    model = Codec(settings)
    if str(arguments.checkpoint) != "start":
        model.load_state_dict(torch.load(arguments.checkpoint, weights_only=True, map_location="cpu")["model"])
    model.eval()
    arguments.out.mkdir(parents=True, exist_ok=True)
    if not arguments.keep_tables:
        (arguments.out / "tables.bin").write_bytes(tables(model))
    if arguments.only_tables:
        return
    analysis, synthesis = calibrate(model, Photos(arguments.photos, settings.seed))
    graph.write(model.analysis, analysis, arguments.out / "analysis.onnx", settings.analysis_share)
    graph.write(model.synthesis, synthesis, arguments.out / "synthesis.onnx")
    golden(model, arguments.out)
    about = arguments.settings.with_suffix(".package.toml").read_text(encoding="utf-8")
    manifest.write(arguments.out, head(model, about))


if __name__ == "__main__":
    main()
