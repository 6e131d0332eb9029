"""The network for shown frames as a part of the package `video`; training by settings/frames.toml writes RUN/package.

The package holds the tables that it was trained with, frames.onnx in int8 (graph.py), golden arrays of what ONNX
Runtime computes with it, for the Rust tests, and the manifest. Ranges of activations come from training parts.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import onnxruntime
import torch

from nestcast_train.export import graph, manifest, photo_package
from nestcast_train.export.quantise import Observer, Ranges
from nestcast_train.frames import video_tables
from nestcast_train.frames.frame_restorer import PARTS, FrameRestorer
from nestcast_train.places import ARTIFACTS

NETWORK = "frames.onnx"
SHIPPED = ARTIFACTS / "video"
GOLDEN_SIDE = 64  # pixels
GOLDEN_TOLD = ((5.1, 5.4, 5.6, 0.0), (1.6, 2.6, 3.9, 0.0), (3.2, 3.2, 4.5, 1.0))
MOST_PLANES = 15


@torch.no_grad()
def ranges(model: FrameRestorer, parts, count: int) -> Ranges:
    """Ranges of the activations, from `count` batches that no step had."""
    observer = Observer(parts.settings.seed, {name: channels for name, (channels, _) in PARTS.items()})
    for i in range(count):
        batch = parts.batch(parts.settings.steps + i)
        model(batch["blocks"][:1], batch["told"][:1], observer)
    return observer.ranges()


def session(network: Path) -> onnxruntime.InferenceSession:
    """On one thread, as the Rust code runs it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(network, options, providers=["CPUExecutionProvider"])


def exported(run: onnxruntime.InferenceSession, blocks: torch.Tensor, told: torch.Tensor) -> torch.Tensor:
    """(B, CHANNELS, h, w), (B, TOLD) -> (B, SAMPLES, h, w), as `FrameRestorer.forward`."""
    rows = zip(blocks.permute(0, 2, 3, 1).contiguous().numpy(), told.numpy())
    given = [run.run(["correction"], {"frame": row[None], "told": one})[0] for row, one in rows]
    return torch.from_numpy(np.concatenate(given)).permute(0, 3, 1, 2)


def golden_blocks() -> torch.Tensor:
    """(1, CHANNELS, side / 4, side / 4), of the magnitudes that a frame has; the same on every run."""
    random, side = torch.Generator().manual_seed(1), GOLDEN_SIDE // 4
    parts = []
    for name, (channels, scale) in PARTS.items():
        coarse = torch.randn(1, channels, side // 4, side // 4, generator=random)
        smooth = torch.nn.functional.interpolate(coarse, size=(side, side), mode="bilinear", align_corners=False)
        part = scale * (smooth / 2 + 0.1 * torch.randn(1, channels, side, side, generator=random))
        parts.append(torch.randint(0, 4, part.shape, generator=random).float() if name == "significance" else part)
    return torch.cat(parts, 1)


@torch.no_grad()
def write(model: FrameRestorer, parts, out: Path) -> None:
    """Writes the package `video` with this network."""
    model.eval()
    (out / "golden").mkdir(parents=True, exist_ok=True)
    for name in (video_tables.KEY, video_tables.RESIDUAL):
        shutil.copyfile(manifest.file(SHIPPED, name), out / name)
    graph.write_frames(model, ranges(model, parts, parts.settings.calibration), out / NETWORK)
    blocks, told = golden_blocks(), torch.tensor(GOLDEN_TOLD)
    given = exported(session(out / NETWORK), blocks.expand(len(told), -1, -1, -1), told)
    photo_package.agree("frames", given, model(blocks.expand(len(told), -1, -1, -1), told))
    # Channels last, as the network has them.
    arrays = {"blocks": blocks[0].permute(1, 2, 0), "told": told, "correction": given.permute(0, 2, 3, 1)}
    for name, array in arrays.items():
        np.save(out / "golden" / f"{name}.npy", array.contiguous().numpy())
    head, _, _ = (SHIPPED / manifest.MANIFEST).read_text(encoding="utf-8").partition(f"\n{manifest.FILES}\n")
    manifest.write(out, head, (video_tables.KEY, video_tables.RESIDUAL, NETWORK))
