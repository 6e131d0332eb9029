"""The task of the second synthesis (restorer.py) behind a frozen coder, and the windows that it learns from.

Photos were coded once (pack.py), and every crop is what a decoder has of one at a cut of its own. The loss is the square error
by what the coder alone leaves in that photo at that cut, so that every rate and every photo counts alike.
"""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import torch
from torch import nn

import coder
import pack
from model import PASSES, PLANE_SCALE
from one_network import OneNetwork
from post_filter import PostFilter
from restorer import Restorer, maps
from settings import Phase, RestorerSettings

VALIDATION_CUTS = (0.8, 2.0, 2.8, 3.5, 4.4, 5.5)
VALIDATION_SIDE = 320

# Share of all coefficients that is in the subbands before each, and behind the last.
SIZES = np.cumsum([0.0, *(0.25 ** coder.level_of(subband) for subband in range(coder.SUBBANDS))])
SIZES /= SIZES[-1]


@dataclasses.dataclass
class Window:
    """A part of a packed photo, as the linear decoder has it at a cut."""

    planes: np.ndarray  # (3, side, side)
    target: np.ndarray  # the photo's
    known: list[coder.Known]
    cut: float
    told: np.ndarray
    error: float  # that counts as one
    axes: np.ndarray


class Packed:
    """Windows of packed photos, drawn by step: the same ones whether a run was interrupted or not."""

    def __init__(self, folder: Path, settings: RestorerSettings, tables: coder.Tables):
        self.settings, self.tables = settings, tables
        self.training, self.held_out = (sorted((folder / part).glob("*.npz")) for part in ("training", "held-out"))
        if not self.training:
            raise SystemExit(f"{folder}: no packed photos; pack.py makes them")
        with np.load(self.training[0]) as told:
            if str(told["tables"]) != tables.id:
                raise SystemExit(f"{folder}: packed with other tables ({told['tables']}, not {tables.id})")
        self.filter = PostFilter.read(settings.path(settings.tables)) if settings.filtered else None

    def cut(self, random: np.random.Generator) -> float:
        """Uniform in planes, some of them within `focus`; within a pass, some by subbands and some by coefficients, which is where most bytes are."""
        low, high = self.settings.cut_range
        focused = self.settings.focused and random.random() < self.settings.focused
        cut = random.uniform(*(self.settings.focus if focused else (low, high)))
        if random.random() >= self.settings.by_size:
            return cut
        at = (math.ceil(cut) - cut) * PASSES
        subband = np.interp(at - math.floor(at), SIZES, np.arange(coder.SUBBANDS + 1))
        return min(max(math.ceil(cut) - (math.floor(at) + subband / coder.SUBBANDS) / PASSES, low), high)

    def crop(self, random: np.random.Generator, cut: float | None = None) -> Window:
        """One of the training windows, at a cut that is drawn unless one is given."""
        pixels, coded = pack.read(self.training[random.integers(len(self.training))])
        crop, tries = min(self.settings.crop, *pixels.shape[:2]), []
        for _ in range(3):
            y, x = (coder.rotation_search.SIDE * random.integers((n - crop) // coder.rotation_search.SIDE + 1) for n in pixels.shape[:2])
            tries.append((pixels[y : y + crop : 4, x : x + crop : 4].var(), int(y), int(x)))
        _, y, x = sorted(tries)[random.choice((1, 2, 2))]
        return self.window(pixels, coded, self.cut(random) if cut is None else cut, y, x, crop)

    def window(self, pixels: np.ndarray, coded: coder.Coded, cut: float, y: int, x: int, side: int) -> Window:
        planes, known = coder.window(coded, cut, self.tables, y, x, (side, side))
        if self.filter:
            planes = self.filter.apply(planes, known, cut)
        samples = pixels[y : y + side, x : x + side].astype(np.float32).reshape(-1, 3) - 128
        target = (coded.axes.astype(np.float32) / np.float32(PLANE_SCALE) @ samples.T).reshape(3, side, side)
        error = math.exp(np.interp(cut, np.arange(len(coded.errors)), np.log(coded.errors)))
        return Window(planes, target, known, cut, coder.told(coded, cut), error, coded.axes)

    def batch(self, step: int) -> dict[str, object]:
        random = np.random.default_rng([self.settings.seed, step])
        return stacked([self.crop(random) for _ in range(self.settings.batch)])

    def validation(self) -> list[tuple[str, float, dict[str, object]]]:
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


def stacked(windows: list[Window]) -> dict[str, object]:
    names = ("planes", "target", "cut", "told", "error", "axes")
    out = {name: torch.from_numpy(np.stack([getattr(one, name) for one in windows]).astype(np.float32)) for name in names}
    out["known"] = [channels_last(level) for level in zip(*(maps(one.known) for one in windows))]
    return out


def channels_last(parts: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """Equal tensors (C, h, w) -> (B, C, h, w), as the network wants them in memory."""
    out = torch.empty((len(parts), *parts[0].shape), memory_format=torch.channels_last)
    for place, part in zip(out, parts):
        place.copy_(part)
    return out


def restored(model: Restorer, one: dict[str, object]) -> torch.Tensor:
    return one["planes"] + model.restore(one["planes"], one["cut"], one["told"], one["known"])


def to_rgb(planes: torch.Tensor, axes: torch.Tensor) -> torch.Tensor:
    """(B, 3, H, W) planes and (B, 3, 3) axes -> samples, neither clamped nor rounded."""
    return torch.einsum("bij,bihw->bjhw", axes, planes) * PLANE_SCALE + 128


def psnr(planes: torch.Tensor, one: dict[str, object]) -> torch.Tensor:
    """(B,) of the pictures in 8 bits."""
    decoded, original = (to_rgb(part, one["axes"]).clamp(0, 255).round() for part in (planes, one["target"]))
    error = (decoded - original).square().mean((1, 2, 3))
    return 10 * torch.log10(255**2 / error.clamp(min=1e-3))


class Task(OneNetwork):
    """The second synthesis in training (train.py)."""

    network: type[nn.Module] = Restorer

    def __init__(self, settings: RestorerSettings, folder: Path | None):
        if folder is None:
            raise SystemExit("name the folder that pack.py wrote with --data")
        self.settings = settings
        self.packed = Packed(folder, settings, coder.Tables.read(settings.path(settings.tables)))
        self.validation = self.packed.validation()
        self.model = self.network(settings).to(memory_format=torch.channels_last)

    def batch(self, step: int) -> dict[str, object]:
        return self.packed.batch(step)

    def loss(self, batch: dict[str, object], phase: Phase) -> torch.Tensor:
        error = (restored(self.model, batch) - batch["target"]).square().sum(1).mean((1, 2))
        return (error / batch["error"]).mean()

    @torch.no_grad()
    def validate(self, model: nn.Module) -> list[dict]:
        """Gains over the linear decoder in dB, means over the held-out photos."""
        rows = []
        for kind, cut, one in self.validation:
            linear, deep = [], []
            for i in range(len(one["cut"])):
                single = {k: [m[i : i + 1] for m in v] if k == "known" else v[i : i + 1] for k, v in one.items()}
                linear.append(psnr(single["planes"], single).item())
                deep.append(psnr(restored(model, single), single).item())
            gain = np.mean(deep) - np.mean(linear)
            rows.append({"kind": kind, "cut": cut, "linear": round(float(np.mean(linear)), 3), "gain": round(float(gain), 4)})
        return rows

    def export(self, model: nn.Module, out: Path) -> None:
        """No package holds a second synthesis yet."""
