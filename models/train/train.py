"""Train a model: python train.py photo.toml --photos DIR --out DIR [--resume].

Minimises Equation 16 of Rippel, Gelbart and Adams (2014), the expected distortion over cuts drawn from
p_B, plus the rate, each cut weighed by the inverse of its usual rate so that all bandwidths count alike.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import json
import math
import time
from pathlib import Path

import torch

from data import Photos
from model import PASSES, Codec
from settings import Settings, load
from similarity import ms_ssim

VALIDATION_CUTS = (0.5, 2.0, 3.0, 3.5, 4.0, 5.0, 6.0)


def save(checkpoint: Path, state: dict) -> None:
    """Replaces the checkpoint in one step."""
    torch.save(state, checkpoint.with_suffix(".tmp"))
    checkpoint.with_suffix(".tmp").replace(checkpoint)


class Cuts:
    """p_B: draws stream positions, and knows the usual rate at each plane."""

    def __init__(self, settings: Settings):
        self.settings = settings
        self.bpp = [4.3 * math.exp(-0.68 * t) for t in range(settings.planes + 2)]
        if settings.cuts == "histogram":
            with open(settings.histogram, newline="") as file:
                rows = [(float(row["kbps"]), float(row["share"])) for row in csv.DictReader(file)]
            kbps, shares = torch.tensor(rows).unbind(1)
            self.bandwidths = (kbps * 1000 * settings.interval / settings.pixels).clamp(min=1e-3)  # bits per pixel
            self.shares = shares

    def draw(self, count: int) -> torch.Tensor:
        low, high = self.settings.cut_range
        if self.settings.cuts == "log-uniform":  # rate falls by a steady factor per plane
            return low + (high - low) * torch.rand(count)
        if self.settings.cuts == "geometric":
            pieces = torch.empty(count).geometric_(self.settings.geometric_p)
            return (high - pieces / (PASSES * (3 + 9 * self.settings.levels))).clamp(low, high)
        if self.settings.cuts == "histogram":
            picked = self.bandwidths[self.shares.multinomial(count, replacement=True)]
            picked = picked * torch.exp2(torch.rand(count) / 4)  # bins are a quarter of an octave wide
            return torch.tensor([self.position(b) for b in picked.tolist()]).clamp(low, high)
        raise SystemExit(f"cuts = {self.settings.cuts!r}: not log-uniform, geometric or histogram")

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


@dataclasses.dataclass(frozen=True)
class Phase:
    """A stretch of the run: what is trained, and at which share of the learning rates."""

    name: str
    steps: int
    networks: tuple[str, ...]  # that take part
    trained: tuple[str, ...]  # parameter groups
    share: float


def phases(settings: Settings) -> list[Phase]:
    both = ("analysis", "synthesis")
    return [
        Phase("core", settings.core_steps, (), ("core", "steps", "tables"), 1),
        Phase("synthesis", settings.synthesis_steps, ("synthesis",), ("synthesis",), 1),
        Phase("joint", settings.joint_steps, both, (*both, "core", "steps", "tables"), 1 / 3),
    ]


def phase_at(settings: Settings, step: int) -> tuple[Phase, float]:
    """The phase of a step, and the share of the learning rates: a short rise, then a cosine to 3 %."""
    for phase in phases(settings):
        if step < phase.steps:
            cosine = 0.03 + 0.97 * 0.5 * (1 + math.cos(math.pi * step / phase.steps))
            return phase, phase.share * cosine * min(1, (step + 1) / 200)
        step -= phase.steps
    raise SystemExit("all steps are done")


def groups(model: Codec) -> list[dict]:
    """Parameters by what they are, for the optimiser."""
    settings = model.settings
    return [
        {"name": "analysis", "params": list(model.analysis.parameters()), "base": settings.learning_rate},
        {"name": "synthesis", "params": list(model.synthesis.parameters()), "base": settings.learning_rate},
        {"name": "core", "params": [model.taps], "base": settings.core_rate},
        {"name": "steps", "params": list(model.log_steps), "base": settings.step_rate},
        {"name": "tables", "params": [*model.scales.parameters(), *model.offsets], "base": settings.table_rate},
    ]


def objective(
    model: Codec,
    rgb: torch.Tensor,
    axes: torch.Tensor,
    rotation: torch.Tensor,
    cut: torch.Tensor,
    cuts: Cuts,
    phase: Phase,
):
    """Weighted rate-distortion loss, and the bits per pixel of each example if they count in this phase."""
    settings = model.settings
    rate = phase.name != "synthesis"
    linear, deep, bits = model(rgb, axes, rotation, cut, phase.networks, rate)
    pixels = rgb.shape[2] * rgb.shape[3]

    def error(picture: torch.Tensor) -> torch.Tensor:
        squared = (picture - rgb).square().sum((1, 2, 3)) / pixels
        if settings.similarity == 0:
            return squared
        dissimilar = settings.similarity_worth * (1 - ms_ssim(picture, rgb))
        return (1 - settings.similarity) * squared + settings.similarity * dissimilar

    distortion = (error(deep) + settings.linear_weight * error(linear)) / (1 + settings.linear_weight)
    bpp = bits / pixels if rate else 0.0
    slope = settings.slope * (settings.step * torch.exp2(cut)).square()
    usual = torch.tensor([max(settings.least_rate, cuts.rate(t)) for t in cut.tolist()], device=rgb.device)
    return ((bpp + distortion / slope) / usual).mean(), bpp.detach() if rate else None


@torch.no_grad()
def validate(model: Codec, pictures: torch.Tensor, axes: torch.Tensor, rotations: torch.Tensor) -> list[dict]:
    """Estimated rate and PSNR at fixed cuts: with both networks, and of the linear codec alone."""
    rows = []
    for t in VALIDATION_CUTS:
        row = {"cut": t}
        for networks in (("analysis", "synthesis"), ()):
            sums = torch.zeros(3)
            parts = (part.to(model.settings.device).split(2) for part in (pictures, axes, rotations))
            for picture, own, rotation in zip(*parts):
                cut = torch.full((len(picture),), t, device=picture.device)
                linear, deep, bits = model(picture, own, rotation, cut, networks)
                for i, one in enumerate((linear, deep)):
                    mse = (one.clamp(0, 255).round() - picture).square().mean((1, 2, 3))
                    sums[i + 1] += (10 * torch.log10(255**2 / mse)).sum().item()
                sums[0] += bits.sum().item() / picture[0, 0].numel()
            kind = "" if networks else "core_"
            for name, value in zip(("bpp", "linear", "deep"), (sums / len(pictures)).tolist()):
                row[kind + name] = round(value, 4)
        del row["core_deep"]
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("settings", type=Path)
    parser.add_argument("--photos", type=Path, required=True, help="folder of openly licensed photos")
    parser.add_argument("--out", type=Path, required=True, help="checkpoints and log")
    parser.add_argument("--resume", action="store_true", help="go on from OUT/checkpoint.pt")
    parser.add_argument("--steps", type=int, help="stop after so many steps in all, for a dry run")
    arguments = parser.parse_args()
    settings = load(arguments.settings)
    torch.set_flush_denormal(True)  # the inverse wavelet matrices decay into denormals
    arguments.out.mkdir(parents=True, exist_ok=True)
    checkpoint = arguments.out / "checkpoint.pt"
    saved = torch.load(checkpoint, weights_only=True, map_location="cpu") if arguments.resume else None
    # A resumed run draws crops and cuts that it has not drawn yet.
    seed = settings.seed + (saved["step"] if saved else 0)
    torch.manual_seed(seed)
    photos = Photos(arguments.photos, seed)
    held_out = photos.held_out(192)
    model = Codec(settings).to(settings.device, memory_format=torch.channels_last)
    adam, cuts, step = torch.optim.Adam(groups(model)), Cuts(settings), 0
    if settings.start and not saved:
        start = torch.load(settings.start, weights_only=True, map_location="cpu")
        model.load_state_dict(start["model"])
        cuts.bpp = start["bpp"]
    if saved:
        model.load_state_dict(saved["model"])
        adam.load_state_dict(saved["adam"])
        for group, own in zip(adam.param_groups, groups(model)):
            group["base"] = own["base"]  # the settings' rates, not those of the run that saved it
        cuts.bpp, step = saved["bpp"], saved["step"]
    log = open(arguments.out / "log.jsonl", "a", buffering=1)
    started, smooth = time.time(), None
    last = settings.steps if arguments.steps is None else min(arguments.steps, settings.steps)
    while step < last:
        phase, share = phase_at(settings, step)
        for group in adam.param_groups:
            group["lr"] = group["base"] * share
            for parameter in group["params"]:
                parameter.requires_grad_(group["name"] in phase.trained)
        rgb, axes, rotation = (part.to(settings.device) for part in photos.batch(settings.batch, settings.crop))
        cut = cuts.draw(settings.batch).to(settings.device)
        loss, bpp = objective(model, rgb, axes, rotation, cut, cuts, phase)
        adam.zero_grad(set_to_none=True)
        loss.backward()
        for group in adam.param_groups:
            torch.nn.utils.clip_grad_norm_(group["params"], settings.clip)
        adam.step()
        if bpp is not None:
            cuts.learn(cut, bpp)
        smooth = loss.item() if smooth is None else 0.99 * smooth + 0.01 * loss.item()
        step += 1
        if step % 50 == 0:
            print(f"{step} {phase.name} loss {smooth:.4f} {(time.time() - started):.0f} s", flush=True)
        if step % settings.checkpoint_every == 0 or step == last:
            save(checkpoint, {"model": model.state_dict(), "adam": adam.state_dict(), "bpp": cuts.bpp, "step": step})
            for row in validate(model, *held_out):
                log.write(json.dumps({"step": step, "loss": round(smooth, 4), **row}) + "\n")


if __name__ == "__main__":
    main()
