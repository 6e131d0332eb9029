"""The task of a synthesis for the eye: a photo model's own network, trained on behind its frozen coder for SSIMULACRA 2.

Windows are those of restoring.py, as a decoder has them before any network. The loss is the logarithm of what SSIMULACRA 2 lacks to
100, and a share of the square error by what the coder alone leaves, so that every rate and every photo counts alike. No byte of a
stream differs: the package gets another synthesis.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import torch
from torch import nn

import export
import graph
import manifest
import restoring
from model import Correction
from quantise import PLANES, Observer, Ranges
from restoring import psnr, to_rgb
from settings import PerceptualSettings, Phase
from ssimulacra import ssimulacra2

LEAST_MISSING = 2.0  # of SSIMULACRA 2 to 100: a window that misses less counts as one that misses this


class Synthesis(Correction):
    """The photo models' synthesis, from settings of this task."""

    def __init__(self, settings: PerceptualSettings):
        super().__init__(settings.channels, settings.blocks, settings.step, cut=True)

    def load_photo(self, weights: dict[str, torch.Tensor]) -> None:
        """Takes the weights of a photo model's synthesis."""
        self.load_state_dict(weights)


class Task(restoring.Task):
    """A synthesis for the eye in training (train.py)."""

    network = Synthesis

    def loss(self, batch: dict[str, object], phase: Phase) -> torch.Tensor:
        restored = batch["planes"] + self.model(batch["planes"], batch["cut"])
        with torch.autocast("cpu", enabled=False):  # bfloat16 is too coarse for what is compared
            restored = restored.float()
            lacks = missing(to_rgb(restored, batch["axes"]), to_rgb(batch["target"], batch["axes"]))
            squared = (restored - batch["target"]).square().sum(1).mean((1, 2)) / batch["error"]
            return (lacks.log() + self.settings.fidelity * squared).mean()

    @torch.no_grad()
    def validate(self, model: nn.Module) -> list[dict]:
        """SSIMULACRA 2 without a network and its gain, and that of PSNR in dB; means over the held-out photos."""
        rows = []
        for kind, cut, one in self.validation:
            found = []
            for i in range(len(one["cut"])):
                single = {name: value[i : i + 1] for name, value in one.items() if name != "known"}
                restored = single["planes"] + model(single["planes"], single["cut"])
                original = to_rgb(single["target"], single["axes"])
                scores = (ssimulacra2(to_rgb(planes, single["axes"]).clamp(0, 255).round(), original) for planes in (single["planes"], restored))
                found.append([*(score.item() for score in scores), *(psnr(planes, single).item() for planes in (single["planes"], restored))])
            linear, deep, linear_db, deep_db = np.mean(found, 0)
            gains = {"linear": round(linear, 2), "gain": round(deep - linear, 3), "gain_db": round(deep_db - linear_db, 4)}
            rows.append({"kind": kind, "cut": cut, **gains})
        return rows

    def export(self, model: nn.Module, out: Path) -> None:
        """The package that the coder is of, with this synthesis; its post-filter is still that behind the network before."""
        settings, package = self.settings, out / "package"
        shutil.copytree(settings.path(settings.tables).parent, package, dirs_exist_ok=True)
        graph.write(model, self.ranges(model), package / "synthesis.onnx")
        planes = torch.from_numpy(np.load(package / "golden" / "planes.npy"))[None]
        cuts = [np.array([cut], np.float32) for cut in export.GOLDEN_CUTS]
        exported = torch.cat([export.corrected(package / "synthesis.onnx", planes, cut=cut) for cut in cuts])
        with torch.no_grad():
            export.agree("synthesis", exported, torch.cat([model(planes, torch.from_numpy(cut)) for cut in cuts]))
        np.save(package / "golden" / "synthesis.npy", exported.numpy())
        head, _, _ = (package / manifest.MANIFEST).read_text(encoding="utf-8").partition(f"\n{manifest.FILES}\n")
        manifest.write(package, head)

    @torch.no_grad()
    def ranges(self, model: nn.Module) -> Ranges:
        """Of the activations, from training windows at cuts of every kind."""
        observer, (low, high) = Observer(self.settings.seed, PLANES), self.settings.cut_range
        for i in range(self.settings.calibration):
            cut = low + (high - low) * (i + 0.5) / self.settings.calibration
            window = self.packed.crop(np.random.default_rng([self.settings.seed, i]), cut)
            model(torch.from_numpy(window.planes)[None], torch.full((1,), cut), observer)
        return observer.ranges()


def missing(decoded: torch.Tensor, original: torch.Tensor) -> torch.Tensor:
    """(B,): of SSIMULACRA 2 to 100."""
    return (100 - ssimulacra2(decoded, original)).clamp(min=LEAST_MISSING)
