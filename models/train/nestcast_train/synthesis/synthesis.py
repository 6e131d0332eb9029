"""The task of a photo model's synthesis networks, trained on with its coder frozen: one for each range of cuts.

What is missing of a picture differs more between cuts than a network of this size can hold. For a wide range it learns
the low rates, where most is missing. Windows are those of windows.py. Networks are trained through the post-filter that
the package has after them (filtered.py); the loss is the square error by what the coder alone leaves in that photo at
that cut, so that every rate and every photo counts alike. No byte of a stream changes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import nn

from nestcast_train.coded import coder
from nestcast_train.coded.filtered import Filtered
from nestcast_train.coded.post_filter import PostFilter
from nestcast_train.coded.windows import Packed, Windows, psnr
from nestcast_train.export import graph, manifest, photo_package
from nestcast_train.export.quantise import PLANES, Observer, Ranges
from nestcast_train.one_network import OneNetwork, photo_synthesis
from nestcast_train.photo.model import Correction
from nestcast_train.settings import Phase, SynthesisSettings, phase_at


class Syntheses(nn.Module):
    """The networks, from those of the lowest cuts on."""

    def __init__(self, settings: SynthesisSettings):
        super().__init__()
        self.cuts = settings.cuts
        self.networks = nn.ModuleList(
            Correction(settings.channels, settings.blocks, settings.step, cut=True) for _ in settings.ranges()
        )

    def of(self, cut: float) -> Correction:
        return self.networks[photo_package.network_of(self.cuts, cut)]


class Task(OneNetwork):
    """Synthesis networks in training (train.py)."""

    def __init__(self, settings: SynthesisSettings, folder: Path | None):
        if folder is None:
            raise SystemExit("name the folder that pack.py wrote with --data")
        if list(settings.cuts) != sorted(set(settings.cuts)) or len(settings.cuts) < 2:
            raise SystemExit(f"cuts = {list(settings.cuts)}: two at least, each greater than the one before")
        networks = {str(number) for number in range(len(settings.ranges()))}
        for stage in {phase.stage for phase in settings.phases} - networks:
            raise SystemExit(f"stage = {stage!r} in a phase: not the number of a network, 0 to {len(networks) - 1}")
        self.settings, package = settings, settings.path(settings.coder)
        self.packed = Packed(folder, settings, coder.Tables.read(manifest.file(package, "tables.bin")))
        self.filter = Filtered(PostFilter.read(package / manifest.POST_FILTER))
        self.validation = self.packed.validation()
        self.model = Syntheses(settings).to(memory_format=torch.channels_last)

    def groups(self) -> list[dict]:
        return [
            {"name": str(i), "params": list(network.parameters()), "base": self.settings.learning_rate}
            for i, network in enumerate(self.model.networks)
        ]

    def trained(self, stage: str) -> tuple[str, ...]:
        return (stage,)

    def batch(self, step: int) -> Windows | None:
        """Returns None after the last step, which train.py asks for too."""
        if step >= self.settings.steps:
            return None
        phase, _ = phase_at(self.settings, step)
        return self.packed.batch(step, self.settings.within(int(phase.stage)))

    def restored(self, batch: Windows, network: Correction) -> torch.Tensor:
        """The window as a decoder shows it."""
        return self.filter(batch["planes"] + network(batch["planes"], batch["cut"]), batch["significant"], batch["cut"])

    def loss(self, batch: Windows, phase: Phase) -> torch.Tensor:
        return lost(self.restored(batch, self.model.networks[int(phase.stage)]), batch).mean()

    @torch.no_grad()
    def validate(self, model: Syntheses) -> list[dict]:
        """Gains over the linear decoder without its filter in dB; means over the held-out photos."""
        rows = []
        for kind, cut, windows in self.validation:
            found = []
            for i in range(len(windows["cut"])):
                one = {name: value[i : i + 1] for name, value in windows.items()}
                found.append(self.measured(one, self.restored(one, model.of(cut))))
            rows.append({"kind": kind, "cut": cut, **self.summary(np.mean(found, 0))})
        return rows

    def measured(self, one: Windows, restored: torch.Tensor) -> list[float]:
        """PSNR of one window, as the coder leaves it and as a decoder shows it."""
        return [psnr(planes, one).item() for planes in (one["planes"], restored)]

    def summary(self, means: np.ndarray) -> dict[str, float]:
        linear, deep = means
        return {"linear": round(linear, 3), "gain": round(deep - linear, 4)}

    def begin(self, start: dict) -> None:
        """Takes the weights of another such run, or for all networks the synthesis of a photo model."""
        photo = photo_synthesis(start["model"])
        for network in self.model.networks if photo else ():
            network.load_state_dict(photo)
        if not photo:
            self.model.load_state_dict(start["model"])

    def export(self, model: Syntheses, out: Path) -> None:
        """Writes the coder's package with these networks and the post-filter that they were trained through."""
        settings, package = self.settings, out / "package"
        manifest.copy(settings.path(settings.coder), package)
        for before in package.glob(manifest.synthesis_file("*")):
            before.unlink()
        for number, (network, within) in enumerate(zip(model.networks, settings.ranges())):
            graph.write(network, self.ranges(network, within), package / manifest.synthesis_file(number))
        photo_package.golden_synthesis(package, settings.cuts, model.networks)
        head, _, _ = (package / manifest.MANIFEST).read_text(encoding="utf-8").partition(f"\n{manifest.FILES}\n")
        manifest.write(package, photo_package.with_cuts(head, settings.cuts))

    @torch.no_grad()
    def ranges(self, network: Correction, within: tuple[float, float]) -> Ranges:
        """Ranges of a network's activations, from training windows at cuts all over its range."""
        observer, (low, high) = Observer(self.settings.seed, PLANES), within
        for i in range(self.settings.calibration):
            cut = low + (high - low) * (i + 0.5) / self.settings.calibration
            window = self.packed.crop(np.random.default_rng([self.settings.seed, i]), lambda _: cut)
            network(torch.from_numpy(window.planes)[None], torch.full((1,), cut), observer)
        return observer.ranges()


def lost(restored: torch.Tensor, batch: Windows) -> torch.Tensor:
    """(B,): square error, by what the coder alone leaves."""
    return (restored - batch["target"]).square().sum(1).mean((1, 2)) / batch["error"]
