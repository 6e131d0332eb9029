"""The task of autoencoders (autoencoder.py): vectors of pixels or points, their loss and their validation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import nn

import nested
from autoencoder import Autoencoder
from data import photos
from settings import AutoencoderSettings, Phase

SIDE = 32  # pixels of a picture, each way
PATCH = 8  # pixels of a patch, each way
CIFAR = "cifar10/data_batch_1_first4000.bin"  # a label's byte, then red, green and blue planes
HELD_OUT = 500  # vectors at the end, which nothing learns from
PATCHES = 25  # of each picture


class Vectors:
    """Training and held-out vectors (N, D), each element with mean 0 and variance 1 in training (section 4), or the whole
    cloud (`together`: what PCA is of); and what undoes it."""

    def __init__(self, vectors: np.ndarray, together: bool = False):
        vectors = torch.from_numpy(vectors.astype(np.float32))
        training = vectors[:-HELD_OUT]
        self.mean, self.deviation = training.mean(0), training.std(0).clamp(min=1e-6)
        if together:
            self.deviation = (training - self.mean).square().mean().sqrt().expand_as(self.mean)
        standard = (vectors - self.mean) / self.deviation
        self.training, self.held_out = standard[:-HELD_OUT], standard[-HELD_OUT:]

    def original(self, vectors: torch.Tensor) -> torch.Tensor:
        return vectors * self.deviation + self.mean


def load(name: str, folder: Path | None) -> Vectors:
    """cifar: 32x32 pictures; patches: 8x8 parts of these; pictures: these and photos, shrunk and cut to 32x32; pinwheel: 2D."""
    if name == "pinwheel":
        return Vectors(pinwheel(20_000))
    if folder is None:
        raise SystemExit(f"data = {name!r}: name its folder with --data")
    if name == "cifar":
        return Vectors(cifar(folder))
    if name == "patches":
        return Vectors(patches(cifar(folder)), together=True)
    if name == "pictures":
        return Vectors(np.concatenate([shrunk(folder), cifar(folder)]))
    raise SystemExit(f"data = {name!r}: not cifar, patches, pictures or pinwheel")


def cifar(folder: Path) -> np.ndarray:
    """(4000, 3072): CIFAR-10's planes of red, green and blue, row by row."""
    return np.fromfile(folder / CIFAR, np.uint8).reshape(-1, 1 + 3 * SIDE**2)[:, 1:]


def patches(pictures: np.ndarray) -> np.ndarray:
    """(PATCHES * N, 192) of pictures (N, 3072), each at places of its own."""
    random = np.random.default_rng(1)
    planes = pictures.reshape(-1, 3, SIDE, SIDE)
    windows = np.lib.stride_tricks.sliding_window_view(planes, (PATCH, PATCH), (2, 3))
    places = random.integers(0, SIDE - PATCH + 1, (2, PATCHES, len(planes)))
    picked = windows[np.arange(len(planes)), :, places[0], places[1]]  # (PATCHES, N, 3, 8, 8)
    return picked.transpose(1, 0, 2, 3, 4).reshape(-1, 3 * PATCH**2)


def shrunk(folder: Path) -> np.ndarray:
    """(N, 3072): crops of openly licensed photos whose short side is shrunk to 32, 64 and 128 pixels."""
    from PIL import Image

    crops = []
    for file in photos(folder / "photos"):
        picture = Image.open(file).convert("RGB")
        for short in (32, 64, 128):
            scale = short / min(picture.size)
            small = np.asarray(picture.resize([max(SIDE, round(n * scale)) for n in picture.size], Image.LANCZOS))
            for y in range(0, small.shape[0] - SIDE + 1, SIDE):
                for x in range(0, small.shape[1] - SIDE + 1, SIDE):
                    crops.append(small[y : y + SIDE, x : x + SIDE].transpose(2, 0, 1).ravel())
    return np.stack(crops)


def pinwheel(count: int, arms: int = 5) -> np.ndarray:
    """(count, 2): points on the bent arms of a pinwheel."""
    random = np.random.default_rng(1)
    arm = random.integers(0, arms, count)
    along = 1 + 0.3 * random.normal(size=count)
    across = 0.05 * random.normal(size=count)
    angle = 2 * np.pi * arm / arms + 0.25 * np.exp(along)
    turn = np.stack([np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)], 1).reshape(-1, 2, 2)
    return np.einsum("ni,nij->nj", np.stack([along, across], 1), turn)


def law(settings: AutoencoderSettings) -> nested.TruncationLaw:
    units = settings.widths[-1]
    laws = {
        "geometric": lambda: nested.TruncationLaw.geometric(units, settings.rho),
        "log-uniform": lambda: nested.TruncationLaw.log_uniform(units),
        "whole": lambda: nested.TruncationLaw.whole(units),
    }
    if settings.cuts not in laws:
        raise SystemExit(f"cuts = {settings.cuts!r}: not one of {', '.join(laws)}")
    return laws[settings.cuts]()


class Task:
    """The nested dropout problem, Equation 3, with the methods that the settings name."""

    def __init__(self, settings: AutoencoderSettings, folder: Path | None):
        self.settings = settings
        self.vectors = load(settings.data, folder)
        self.model = Autoencoder(settings)
        self.law = law(settings)
        self.sweep = None
        if settings.sweep_window:
            weights = self.model.unit_weights()
            self.sweep = nested.UnitSweep(weights, settings.sweep_window, settings.sweep_tolerance, settings.sweep_patience)

    def groups(self) -> list[dict]:
        return [{"name": "all", "params": list(self.model.parameters()), "base": self.settings.learning_rate}]

    def trained(self, stage: str) -> tuple[str, ...]:
        return ("all",)

    def batch(self, step: int) -> torch.Tensor:
        random = np.random.default_rng([self.settings.seed, step])
        return self.vectors.training[random.integers(0, len(self.vectors.training), self.settings.batch)]

    def loss(self, y: torch.Tensor, phase: Phase) -> torch.Tensor:
        settings, model = self.settings, self.model.train()
        lengths = self.law.draw(len(y), self.sweep.swept if self.sweep else 0)
        given = nested.corrupt(y, settings.corruption) if settings.corruption else y
        loss = (model(given, lengths) - y).square().mean()
        if settings.invariance:
            loss = loss + settings.invariance * nested.invariance(model.activations, y, settings.noise)
        return loss

    def before_step(self) -> None:
        if self.settings.decay:
            for weight in self.model.weights:
                nested.add_weight_decay(weight, self.settings.decay)

    def after_step(self) -> None:
        if self.sweep:
            self.sweep.after_step()

    @torch.no_grad()
    def validate(self, model: nn.Module) -> list[dict]:
        """Mean squared error of held-out vectors, each element of variance 1, at code lengths that double."""
        model.eval()
        units, y = self.settings.widths[-1], self.vectors.held_out
        lengths = sorted({min(2**i, units) for i in range(units.bit_length() + 1)})
        rows = []
        for length in lengths:
            error = (model(y, torch.full((len(y),), length)) - y).square().mean().item()
            rows.append({"length": length, "error": round(error, 5), "swept": self.sweep.swept if self.sweep else 0})
        return rows

    def begin(self, start: dict) -> None:
        self.model.load_state_dict(start["model"])

    def state(self) -> dict:
        return {"sweep": self.sweep.state()} if self.sweep else {}

    def load_state(self, saved: dict) -> None:
        if self.sweep:
            self.sweep.load_state(saved["sweep"])

    def export(self, model: nn.Module, out: Path) -> None:
        """The weights alone; the paper's figures are drawn from them (paper/)."""
        torch.save(model.state_dict(), out / "weights.pt")
