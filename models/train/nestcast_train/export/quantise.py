"""The networks in int8: how their activations and weights are rounded, and over which ranges.

Activations are unsigned bytes with a scale and a zero point of their own each; weights are signed and have a
scale for every output channel. Weights use 7 bits: with 8 the products of two neighbours overflow 16 bits on x86
machines without VNNI, and the same model would give other pixels there. The cut's scale and shift cost nothing:
the scale multiplies the scales of a convolution's weights, the shift is added to its bias.
"""

from __future__ import annotations

from random import Random

import numpy as np
import torch

from nestcast_train.data.photos import Photos
from nestcast_train.photo.model import SIDE, Codec

WEIGHT_TOP = 64  # weights are -64..64: 2 * 64 * 255 < 2**15
MIDDLE = 128  # zero point of the blocks
PLANES = dict.fromkeys(("blocks.y", "blocks.u", "blocks.v"), SIDE**2)
SAMPLES = 20_000  # of an activation, from each picture that ranges are found on
SHRINK = np.geomspace(1, 0.4, 24).tolist()  # of the range that was seen, to find the one of least squared error

Ranges = dict[str, tuple[float, float]]  # of every activation, by the name that a network's `forward` gives it
Parts = dict[str, int]  # of a network's input, which have ranges of their own: their channels


def affine(low: float, high: float) -> tuple[float, int]:
    """Scale and zero point of unsigned bytes for a range that holds 0."""
    scale = float(np.float32((high - low) / 255))
    return scale, int(np.clip(round(-low / scale), 0, 255))


def weight_scales(weight: torch.Tensor) -> torch.Tensor:
    """One for each output channel; every weight of the channel fits."""
    return weight.detach().abs().flatten(1).amax(1).clamp(min=1e-8) / WEIGHT_TOP


def part_scales(ranges: Ranges, parts: Parts) -> torch.Tensor:
    """One for each of the blocks' channels; their common zero point is `MIDDLE`. Chroma needs finer steps than luma."""
    tops = [torch.full((count,), max(-ranges[name][0], ranges[name][1])) for name, count in parts.items()]
    return torch.cat(tops) / MIDDLE


class Observer:
    """A tap that keeps samples of every activation, and of each part of the blocks."""

    def __init__(self, seed: int, parts: Parts):
        self.random, self.parts = torch.Generator().manual_seed(seed), parts
        self.samples: dict[str, list[torch.Tensor]] = {}

    def __call__(self, name: str, x: torch.Tensor) -> torch.Tensor:
        parts = zip(self.parts, x.split(list(self.parts.values()), 1)) if name == "blocks" else [(name, x)]
        for part, values in parts:
            values = values.flatten()
            picked = values[torch.randint(len(values), (SAMPLES,), generator=self.random)]
            self.samples.setdefault(part, []).append(torch.cat([picked, values.min()[None], values.max()[None]]))
        return x

    def ranges(self) -> Ranges:
        return {name: best_range(torch.cat(parts)) for name, parts in self.samples.items()}


def best_range(values: torch.Tensor) -> tuple[float, float]:
    """The range, no wider than what was seen, in which bytes have the least squared error."""

    def error(low: float, high: float) -> float:
        scale, zero = affine(low, high)
        return (torch.fake_quantize_per_tensor_affine(values, scale, zero, 0, 255) - values).square().mean().item()

    least, most = min(values.min().item(), 0.0), max(values.max().item(), 1e-6)
    low, high = min(((least * share, most * share) for share in SHRINK), key=lambda ends: error(*ends))
    if least < 0:  # each end alone
        low = min((least * share for share in SHRINK), key=lambda end: error(end, high))
        high = min((most * share for share in SHRINK), key=lambda end: error(low, end))
    return low, high


@torch.no_grad()
def calibrate(model: Codec, photos: Photos) -> tuple[Ranges, Ranges]:
    """Ranges of the activations of the analysis and of the synthesis, from training crops at cuts of every kind."""
    settings = model.settings
    analysis, synthesis = Observer(settings.seed, PLANES), Observer(settings.seed, PLANES)
    low, high = settings.cut_range
    random = Random(settings.seed)
    for i in range(settings.calibration):
        rgb, axes, rotation = photos.batch(1, settings.crop, random)
        cut = torch.full((1,), low + (high - low) * (i + 0.5) / settings.calibration)
        linear, _, _ = model(rgb, axes, rotation, cut, ("analysis",), rate=False)
        model.analysis(model.to_planes(rgb, axes), tap=analysis)
        model.synthesis(model.to_planes(linear, axes), cut, synthesis)
    return analysis.ranges(), synthesis.ranges()
