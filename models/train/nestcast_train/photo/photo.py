"""The task of the photo models: rate and distortion at cuts drawn from p_B, and the export.

Minimises Equation 16 of Rippel, Gelbart and Adams (2014), the expected distortion over receivers, plus the rate, each
cut weighed by the inverse of its usual rate so that all bandwidths count alike.
"""

from __future__ import annotations

import csv
import math
import random
from pathlib import Path

import torch
from torch import nn

from nestcast_train.codes.nested import TruncationLaw
from nestcast_train.data.photos import Photos
from nestcast_train.export import photo_package
from nestcast_train.photo.model import PASSES, Codec
from nestcast_train.photo.similarity import ms_ssim
from nestcast_train.settings import Phase, PhotoSettings

VALIDATION_CUTS = (0.5, 2.0, 3.0, 3.5, 4.0, 5.0, 6.0)
VALIDATION_CROP = 192
NETWORKS = ("analysis", "synthesis")
TABLES = ("core", "steps", "tables")
STAGES = {  # of the training: which networks take part, which parameters learn
    "core": ((), TABLES),
    "synthesis": (("synthesis",), ("synthesis",)),
    "joint": (NETWORKS, (*NETWORKS, *TABLES)),
}

Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]  # crops (B, 3, n, n), axes and rotations (B, 3, 3)


class Cuts:
    """p_B over stream positions, and the usual rate at each plane."""

    def __init__(self, settings: PhotoSettings):
        self.settings = settings
        self.bpp = [4.3 * math.exp(-0.68 * t) for t in range(settings.planes + 2)]
        low, high = settings.cut_range
        per_plane = PASSES * (3 + 9 * settings.levels)  # passes of a subband
        if settings.cuts == "geometric":
            self.law, self.per_plane = TruncationLaw.geometric(round((high - low) * per_plane), settings.rho), per_plane
        elif settings.cuts == "table":
            with open(settings.path(settings.bandwidths), newline="", encoding="utf-8") as file:
                rows = [(float(row["kbps"]), float(row["share"])) for row in csv.DictReader(file)]
            kbps, shares = torch.tensor(rows).unbind(1)
            # bits per pixel
            self.law, self.bandwidths = (TruncationLaw(shares), kbps * 1000 * settings.interval / settings.pixels)
        elif settings.cuts != "log-uniform":
            raise SystemExit(f"cuts = {settings.cuts!r}: not log-uniform, geometric or table")

    def draw(self, count: int) -> torch.Tensor:
        """(count,) cuts in bit planes."""
        low, high = self.settings.cut_range
        if self.settings.cuts == "log-uniform":  # the rate falls by a steady factor per plane
            return low + (high - low) * torch.rand(count)
        if self.settings.cuts == "geometric":
            return high - self.law.draw(count) / self.per_plane
        # bins are a quarter octave wide
        picked = self.bandwidths[self.law.draw(count) - 1] * torch.exp2(torch.rand(count) / 4)
        return torch.tensor([self.position(bpp) for bpp in picked.clamp(min=1e-3).tolist()]).clamp(low, high)

    def rate(self, cut: float) -> float:
        """Usual bits per pixel at a cut."""
        plane = int(cut)
        share = cut - plane
        return self.bpp[plane] ** (1 - share) * self.bpp[plane + 1] ** share

    def position(self, bpp: float) -> float:
        """The cut whose usual rate is `bpp`."""
        grid = [i / 16 for i in range(16 * self.settings.planes)]
        return min(grid, key=lambda cut: abs(math.log(self.rate(cut) / bpp)))

    def learn(self, cuts: torch.Tensor, bpp: torch.Tensor) -> None:
        for cut, seen in zip(cuts.tolist(), bpp.tolist()):
            plane = int(cut)
            factor = (seen / self.rate(cut)) ** 0.01
            self.bpp[plane] *= factor ** (1 - cut + plane)
            self.bpp[plane + 1] *= factor ** (cut - plane)


class Task:
    """A photo model in training (train.py)."""

    def __init__(self, settings: PhotoSettings, folder: Path | None):
        if folder is None:
            raise SystemExit("name the folder of openly licensed photos with --data")
        self.settings = settings
        self.photos = Photos(folder)
        self.held_out = self.photos.held_out(VALIDATION_CROP)
        self.model = Codec(settings).to(memory_format=torch.channels_last)
        self.cuts = Cuts(settings)

    def groups(self) -> list[dict]:
        settings, model = self.settings, self.model
        return [
            {"name": "analysis", "params": list(model.analysis.parameters()), "base": settings.learning_rate},
            {"name": "synthesis", "params": list(model.synthesis.parameters()), "base": settings.learning_rate},
            {"name": "core", "params": [model.taps], "base": settings.core_rate},
            {"name": "steps", "params": list(model.log_steps), "base": settings.step_rate},
            {"name": "tables", "params": [*model.scales.parameters(), *model.offsets], "base": settings.table_rate},
        ]

    def trained(self, stage: str) -> tuple[str, ...]:
        return STAGES[stage][1]

    def batch(self, step: int) -> Batch:
        return self.photos.batch(self.settings.batch, self.settings.crop, random.Random(f"{self.settings.seed} {step}"))

    def loss(self, batch: Batch, phase: Phase) -> torch.Tensor:
        """Rate plus distortion over the slope that belongs to the cut, by the cut's usual rate."""
        settings, rgb, pixels = self.settings, batch[0], self.settings.crop**2
        cut = self.cuts.draw(len(rgb))
        rated = phase.stage != "synthesis"  # which has no say in the bits
        linear, deep, bits = self.model(*batch, cut, STAGES[phase.stage][0], rated)
        weight = settings.linear_weight
        distortion = (self.distortion(deep, rgb) + weight * self.distortion(linear, rgb)) / (1 + weight)
        slope = settings.slope * (settings.step * torch.exp2(cut)).square()
        usual = torch.tensor([max(settings.least_rate, self.cuts.rate(t)) for t in cut.tolist()])
        if rated:
            self.cuts.learn(cut, bits.detach() / pixels)
        return ((bits / pixels + distortion / slope) / usual).mean()

    def distortion(self, picture: torch.Tensor, rgb: torch.Tensor) -> torch.Tensor:
        """(B,): squared error a pixel, summed over the components; a part is MS-SSIM if the settings say so."""
        squared = (picture - rgb).square().sum((1, 2, 3)) / rgb[0, 0].numel()
        share = self.settings.similarity
        if share == 0:
            return squared
        return (1 - share) * squared + share * self.settings.similarity_worth * (1 - ms_ssim(picture, rgb))

    def before_step(self) -> None: ...

    def after_step(self) -> None: ...

    @torch.no_grad()
    def validate(self, model: nn.Module) -> list[dict]:
        """Estimated rate and PSNR of held-out photos at fixed cuts, with both networks and without."""
        rows = []
        for cut in VALIDATION_CUTS:
            deep, linear = self.measure(model, cut, NETWORKS), self.measure(model, cut, ())
            rows.append(
                {
                    "cut": cut,
                    "bpp": deep[0],
                    "linear": deep[1],
                    "deep": deep[2],
                    "core_bpp": linear[0],
                    "core_linear": linear[1],
                }
            )
        return rows

    def measure(self, model: nn.Module, cut: float, networks: tuple[str, ...]) -> list[float]:
        """Means over the held-out photos: bits per pixel, PSNR of the linear and of the deep picture."""
        sums = torch.zeros(3)
        for picture, axes, rotation in zip(*(part.split(2) for part in self.held_out)):
            linear, deep, bits = model(picture, axes, rotation, torch.full((len(picture),), cut), networks)
            sums[0] += bits.sum() / picture[0, 0].numel()
            for i, one in enumerate((linear, deep), 1):
                mse = (one.clamp(0, 255).round() - picture).square().mean((1, 2, 3))
                sums[i] += (10 * torch.log10(255**2 / mse)).sum()
        return [round(value, 4) for value in (sums / len(self.held_out[0])).tolist()]

    def begin(self, start: dict) -> None:
        self.model.load_state_dict(start["model"])
        self.cuts.bpp = start["bpp"]

    def state(self) -> dict:
        return {"bpp": self.cuts.bpp}

    def load_state(self, saved: dict) -> None:
        self.cuts.bpp = saved["bpp"]

    def export(self, model: nn.Module, out: Path) -> None:
        photo_package.package(model, self.photos, out / "package")
