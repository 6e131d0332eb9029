"""What a synthesis learns from after a frozen coder: parts of photos as a decoder has them at a cut.

Photos were coded once (pack.py), and every window is what a decoder has of one photo at a cut of its own, before any
network.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from nestcast_train.coded import coder, pack, post_filter
from nestcast_train.photo.model import PASSES, PLANE_SCALE
from nestcast_train.settings import SynthesisSettings

VALIDATION_CUTS = (0.8, 2.0, 2.8, 3.5, 4.4, 5.5)
VALIDATION_SIDE = 320

# Share of all coefficients that is in the subbands before each, and after the last.
SIZES = np.cumsum([0.0, *(0.25 ** coder.level_of(subband) for subband in range(coder.SUBBANDS))])
SIZES /= SIZES[-1]


Windows = dict[str, torch.Tensor]  # what `Window` has, several of them along the first axis


@dataclasses.dataclass
class Window:
    """A part of a packed photo, as the linear decoder has it at a cut."""

    planes: np.ndarray  # (3, side, side)
    target: np.ndarray  # the photo's
    cut: float
    error: float  # that counts as one
    axes: np.ndarray
    significant: np.ndarray  # (3, side / 4, side / 4), an input of the post-filter (post_filter.py)


class Packed:
    """Windows of packed photos, drawn by step: the same ones whether a run was interrupted or not."""

    def __init__(self, folder: Path, settings: SynthesisSettings, tables: coder.Tables):
        self.settings, self.tables = settings, tables
        self.training, self.held_out = (sorted((folder / part).glob("*.npz")) for part in ("training", "held-out"))
        if not self.training:
            raise SystemExit(f"{folder}: no packed photos; pack.py makes them")
        with np.load(self.training[0]) as told:
            if str(told["tables"]) != tables.id:
                raise SystemExit(f"{folder}: packed with other tables ({told['tables']}, not {tables.id})")

    def crop(self, random: np.random.Generator, cut: Callable[[np.random.Generator], float]) -> Window:
        """One of the training windows, at a cut that is drawn."""
        pixels, coded = pack.read(self.training[random.integers(len(self.training))])
        crop, tries = min(self.settings.crop, *pixels.shape[:2]), []
        for _ in range(3):
            y, x = (
                coder.rotation_search.SIDE * random.integers((n - crop) // coder.rotation_search.SIDE + 1)
                for n in pixels.shape[:2]
            )
            tries.append((pixels[y : y + crop : 4, x : x + crop : 4].var(), int(y), int(x)))
        _, y, x = sorted(tries)[random.choice((1, 2, 2))]
        return self.window(pixels, coded, cut(random), y, x, crop)

    def window(self, pixels: np.ndarray, coded: coder.Coded, cut: float, y: int, x: int, side: int) -> Window:
        planes, known = coder.window(coded, cut, self.tables, y, x, (side, side))
        samples = pixels[y : y + side, x : x + side].astype(np.float32).reshape(-1, 3) - 128
        target = (coded.axes.astype(np.float32) / np.float32(PLANE_SCALE) @ samples.T).reshape(3, side, side)
        error = math.exp(np.interp(cut, np.arange(len(coded.errors)), np.log(coded.errors)))
        return Window(planes, target, cut, error, coded.axes, post_filter.significance(known))

    def batch(self, step: int, within: tuple[float, float]) -> Windows:
        """The windows of a step, at cuts within a range."""
        random = np.random.default_rng([self.settings.seed, step])
        return stacked(
            [
                self.crop(random, lambda random: draw_cut(self.settings, random, within))
                for _ in range(self.settings.batch)
            ]
        )

    def validation(self) -> list[tuple[str, float, Windows]]:
        """(half or full, cut, the middle of all held-out photos of that kind)."""
        out = []
        for kind in ("half", "full"):
            files = [file for file in self.held_out if file.stem.endswith(kind)]
            for cut in VALIDATION_CUTS:
                windows = []
                for pixels, coded in map(pack.read, files):
                    if min(pixels.shape[:2]) >= VALIDATION_SIDE:
                        y, x = ((n - VALIDATION_SIDE) // 64 * 32 for n in pixels.shape[:2])
                        windows.append(self.window(pixels, coded, cut, y, x, VALIDATION_SIDE))
                if windows:
                    out.append((kind, cut, stacked(windows)))
        return out


def draw_cut(settings: SynthesisSettings, random: np.random.Generator, within: tuple[float, float]) -> float:
    """Uniform in planes, some of them within `focus`; within a pass, some by subbands and some by coefficients, which
    is where most bytes are."""
    low, high = within
    first, last = max(low, settings.focus[0]), min(high, settings.focus[1])
    focused = settings.focused and first < last and random.random() < settings.focused
    cut = random.uniform(*((first, last) if focused else within))
    if random.random() >= settings.by_size:
        return cut
    at = (math.ceil(cut) - cut) * PASSES
    subband = np.interp(at - math.floor(at), SIZES, np.arange(coder.SUBBANDS + 1))
    return min(max(math.ceil(cut) - (math.floor(at) + subband / coder.SUBBANDS) / PASSES, low), high)


def stacked(windows: list[Window]) -> Windows:
    names = (field.name for field in dataclasses.fields(Window))
    return {
        name: torch.from_numpy(np.stack([getattr(one, name) for one in windows]).astype(np.float32)) for name in names
    }


def to_rgb(planes: torch.Tensor, axes: torch.Tensor) -> torch.Tensor:
    """(B, 3, H, W) planes and (B, 3, 3) axes -> samples, neither clamped nor rounded."""
    return torch.einsum("bij,bihw->bjhw", axes, planes) * PLANE_SCALE + 128


def psnr(planes: torch.Tensor, one: Windows) -> torch.Tensor:
    """(B,) of the pictures in 8 bits."""
    decoded, original = (to_rgb(part, one["axes"]).clamp(0, 255).round() for part in (planes, one["target"]))
    error = (decoded - original).square().mean((1, 2, 3))
    return 10 * torch.log10(255**2 / error.clamp(min=1e-3))
