"""A trained photo model as a package: tables, networks in int8, golden arrays, manifest.

Writes tables.bin (spec/bitstream.md, "Model tables"), post_filter.bin, analysis.onnx, synthesis-0.onnx, golden/ (what
PyTorch computes, for the Rust tests; for the networks what ONNX Runtime does) and manifest.toml. The ranges of the
networks in int8 come from training photos. On these the Rust codec also counts the priors (the probabilities that every
stream starts from) and fits both post-filters.
"""

from __future__ import annotations

import bisect
import itertools
import math
import os
import re
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
import torch
import torch.nn.functional as F
from torch import nn

from nestcast_train.data import axes
from nestcast_train.data.photos import Photos
from nestcast_train.export import graph, manifest
from nestcast_train.export.quantise import calibrate
from nestcast_train.photo.model import SIDE, Codec, start_steps
from nestcast_train.places import ROOT
from nestcast_train.settings import PhotoSettings

PLANES = 15  # planes with a reconstruction point of their own
CONTEXTS = 7282  # adaptive probabilities; examples/priors.rs learns their priors by coding photos
VERSION = 1
WEIGHT_ONE = 64  # context weights are in 1/64
FORMAT = 1  # of the manifest
NO_FILTER = struct.pack("<H", 256).ljust(86402, b"\0")  # a post-filter that changes nothing
COMPONENTS = ("y", "u", "v")
DETAILS = ("hl", "lh", "hh")
GOLDEN_SIDE = 64  # pixels; every wavelet level of it is even, as the matrices need
GOLDEN_CUTS = (1.0, 4.5)  # of a synthesis of one network; of others, the middle of each one's range
MAX_ROUNDING_ERROR = 0.3  # root of the mean square difference of int8 to floats, by that of the correction


def stream_order(model: Codec) -> list[tuple[int, int]]:
    """(level, index within the level) of every subband in the order of the stream: LL, coarse to fine."""
    levels = model.settings.levels
    details = [(level, i) for level in reversed(range(levels)) for i in range(9)]
    return [(levels, i) for i in range(3)] + details


def shipped_steps(model: Codec) -> list[torch.Tensor]:
    """Logarithms of the steps, by level: between those that training began with and those that it learned, with the
    same mean. Then changed by level and component, as the settings say."""
    learned = [steps.detach() for steps in model.log_steps]
    changes = [steps - start for steps, start in zip(learned, start_steps(model.settings))]
    mean, settings = torch.cat(changes).mean(), model.settings
    shared = [steps + (settings.step_share - 1) * (change - mean) for steps, change in zip(learned, changes)]
    return [steps + math.log(2) * octaves(settings, level, len(steps)) for level, steps in enumerate(shared)]


def octaves(settings: PhotoSettings, level: int, subbands: int) -> torch.Tensor:
    """Octaves by which the steps of a level's subbands are wider than training left them; 0 is the finest level, the
    last is LL."""
    component = torch.arange(subbands) * 3 // subbands
    return settings.step_chroma * (component > 0) - settings.step_tilt * min(level, settings.levels - 1)


def tables(model: Codec) -> bytes:
    """What the bytes and the linear decoder depend on."""
    out = bytearray(b"NSTM" + bytes([VERSION, 0, 0, 0]))
    floats = lambda values: out.extend(struct.pack(f"<{len(values)}f", *values))
    floats(model.taps.detach().flatten().tolist())
    log_steps = shipped_steps(model)
    for level, i in stream_order(model):
        floats([log_steps[level][i].exp().item()])
        floats(
            model.offsets[level][i].detach().clamp(0, 1).tolist()[:PLANES]
            + [0.45] * (PLANES - model.offsets[level].shape[1])
        )
        scale = model.scales[level]
        weights = F.softplus(scale.near[i]).tolist()
        weights += [F.softplus(scale.parent[i]).item() if scale.has_parent else 0.0]
        component = i * 3 // scale.subbands
        from_luma, from_u = F.softplus(scale.colour[i]).tolist()
        weights += [from_luma if component > 0 else 0.0, from_u if component > 1 else 0.0]
        out.extend(min(255, round(WEIGHT_ONE * w)) for w in weights)
    out.extend(struct.pack("<H", 0x8000) * CONTEXTS)
    return bytes(out)


def subband_names(levels: int) -> list[str]:
    """component-band-level (6 = coarsest), in the order of the stream."""
    low = [f"{component}-ll{levels}" for component in COMPONENTS]
    return low + [f"{c}-{band}{level}" for level in range(levels, 0, -1) for c in COMPONENTS for band in DETAILS]


def golden_picture() -> torch.Tensor:
    """(1, 3, side, side), whole numbers 0..255: a ramp, soft blobs, hard edges, noise; the same on every run."""
    random = torch.Generator().manual_seed(1)
    blobs = F.interpolate(
        torch.rand(1, 3, 8, 8, generator=random), size=GOLDEN_SIDE, mode="bilinear", align_corners=False
    )
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
    """Stops if an exported network differs from the trained one by more than its roundings."""
    apart = ((exported - floats).square().mean() / floats.square().mean()).sqrt().item()
    if apart > MAX_ROUNDING_ERROR:
        raise SystemExit(
            f"{name}.onnx is apart from the trained network by {apart:.2f} of its correction, rms; "
            f"at most {MAX_ROUNDING_ERROR}"
        )


@torch.no_grad()
def golden(model: Codec, out: Path) -> None:
    """Arrays that the Rust code must reproduce; the networks' input is `planes` for both."""
    rgb = golden_picture()
    planes = model.to_planes(rgb, torch.from_numpy(axes.axes(golden_axes()))[None].float())
    coefficients, _ = model.forward_wavelet(planes, torch.eye(3)[None])
    coefficients = [c * steps.exp().view(1, -1, 1, 1) for c, steps in zip(coefficients, model.log_steps)]

    arrays = {
        "rgb": rgb[0].permute(1, 2, 0).byte(),  # (side, side, 3)
        "planes": planes[0],  # (3, side, side)
        "coefficients": torch.cat(
            [coefficients[level][0, i].flatten() for level, i in stream_order(model)]
        ),  # not rotated
        "analysis": corrected(out / "analysis.onnx", planes)[0],  # (3, side, side)
    }
    agree("analysis", arrays["analysis"], model.settings.analysis_share * model.analysis(planes)[0])
    (out / "golden").mkdir(exist_ok=True)
    for name, array in arrays.items():
        np.save(out / "golden" / f"{name}.npy", array.contiguous().numpy())
    golden_synthesis(out, model.settings.cut_range, [model.synthesis])


def network_of(bounds: Sequence[float], cut: float) -> int:
    """The number of the synthesis network that serves a cut. bounds: the least cut, those at which one follows another,
    the greatest."""
    return bisect.bisect_right(bounds[1:-1], cut)


def golden_cuts(bounds: Sequence[float]) -> list[float]:
    return list(GOLDEN_CUTS) if len(bounds) == 2 else [(low + high) / 2 for low, high in itertools.pairwise(bounds)]


@torch.no_grad()
def golden_synthesis(out: Path, bounds: Sequence[float], networks: Sequence[nn.Module]) -> None:
    """(cuts, 3, side, side): what the package's networks make of its golden planes."""
    planes = torch.from_numpy(np.load(out / "golden" / "planes.npy"))[None]
    exported, floats = [], []
    for cut in golden_cuts(bounds):
        number, told = network_of(bounds, cut), np.array([cut], np.float32)
        exported.append(corrected(out / manifest.synthesis_file(number), planes, cut=told))
        floats.append(networks[number](planes, torch.from_numpy(told)))
    agree("synthesis", torch.cat(exported), torch.cat(floats))
    np.save(out / "golden" / "synthesis.npy", torch.cat(exported).contiguous().numpy())


def head(model: Codec) -> str:
    """The manifest but for the files' hashes."""
    settings = model.settings
    names = ", ".join(f'"{name}"' for name in subband_names(settings.levels))
    return f"""\
# A nestcast model package, written by nestcast_train.export.photo_package of models/train.
format = {FORMAT}
name = "{settings.name}"
{about(settings.package)}

[transform]
stride = {2**settings.levels}  # pixels to a sample of the coarsest subbands, each way
levels = {settings.levels}
subbands = [{names}]

[ranges]
samples = [0.0, 255.0]
planes = [-128.0, 128.0]
{cuts(settings.cut_range)}

[networks.analysis]
planes = "planes"
correction = "correction"

[networks.synthesis]
planes = "planes"
cut = "cut"
correction = "correction"

{encoder(settings.package)}[golden]
{cuts_of_golden(settings.cut_range)}
axes = {list(golden_axes())}
"""


def cuts(bounds: Sequence[float]) -> str:
    return f"cut = {list(bounds)}  # in bit planes: the ranges that the networks of the synthesis were trained for"


def cuts_of_golden(bounds: Sequence[float]) -> str:
    return f"cuts = {golden_cuts(bounds)}"


def with_cuts(head: str, bounds: Sequence[float]) -> str:
    """A manifest but for the files' hashes, for networks with these bounds."""
    head, found = re.subn(r"^cut = \[.*$", cuts(bounds), head, flags=re.MULTILINE)
    head, golden = re.subn(r"^cuts = \[.*$", cuts_of_golden(bounds), head, flags=re.MULTILINE)
    if (found, golden) != (1, 1):
        raise SystemExit("the manifest does not say for which cuts its networks are")
    return head


def encoder(package: dict) -> str:
    """What encoders use unless their user chooses, as TOML; nothing for a model without activity masking."""
    if not package.get("activity_masking"):
        return ""
    return f"""\
[encoder]
activity_masking = {package["activity_masking"]}  # the strength that encoders use unless their user chooses another

"""


def about(package: dict) -> str:
    """Version, licence and data, as TOML; strings are simple ones."""
    lines = [f'version = "{package["version"]}"', f'licence = "{package["licence"]}"']
    for source in package["data"]:
        lines += [
            "",
            "[[data]]",
            f'name = "{source["name"]}"',
            f"files = {source['files']}",
            f'licence = "{source["licence"]}"',
        ]
    return "\n".join(lines)


def learn_by_coding(what: str, place: Path, photos: list[Path]) -> None:
    """Has the Rust codec code photos and write what it learned. `priors` writes into tables; `filters` into tables, or
    into a package the filter after its network."""
    command = ["cargo", "run", "--quiet", "--locked", "--release", "-p", "nestcast-models", "--example", what, "--"]
    arguments = [place.resolve(), *(photo.resolve() for photo in photos)]
    try:
        done = subprocess.run([*command, *arguments], cwd=ROOT, env={**os.environ, **runtime()}, check=False)
    except FileNotFoundError:
        raise SystemExit("cargo is missing, whose codec codes the photos: install Rust") from None
    if done.returncode:
        raise SystemExit("the photos were not coded: see what cargo says above")


def runtime() -> dict[str, str]:
    """The variable that tells the Rust codec where the ONNX Runtime library of the Python package is."""
    if "ORT_DYLIB_PATH" in os.environ:
        return {}
    found = list(Path(onnxruntime.__file__).parent.glob("capi/*onnxruntime.so*"))
    if len(found) != 1:
        raise SystemExit("ONNX Runtime's library is not beside its Python package: set ORT_DYLIB_PATH to it")
    return {"ORT_DYLIB_PATH": str(found[0])}


def package(model: Codec, photos: Photos, out: Path) -> None:
    """Writes the whole package."""
    settings = model.settings
    model.eval()
    out.mkdir(parents=True, exist_ok=True)
    (out / "tables.bin").write_bytes(tables(model))
    learn_by_coding("priors", out / "tables.bin", photos.training)
    learn_by_coding("filters", out / "tables.bin", photos.training)
    analysis, synthesis = calibrate(model, photos)
    graph.write(model.analysis, analysis, out / "analysis.onnx", settings.analysis_share)
    graph.write(model.synthesis, synthesis, out / manifest.synthesis_file(0))
    golden(model, out)
    # A filter of zeros makes it a package that the codec can run.
    (out / manifest.POST_FILTER).write_bytes(NO_FILTER)
    manifest.write(out, head(model))
    learn_by_coding("filters", out, photos.training)
    manifest.write(out, head(model))
