"""What has classes, for codes that are judged by them: MNIST, as samples or as features, the pictures of CIFAR-10 that
there are, and descriptions of packages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import torch

from nestcast_research.data import mnist, texts
from nestcast_research.data.features import features
from nestcast_train.codes import pictures
from nestcast_train.codes.vectors import Frame

HELD_OUT = {
    "digits": 10_000,
    "features": 10_000,
    "cifar": 500,
    "packages": 1000,
}  # the last of the training part: what settings are chosen on
TEST_PACKAGES = 1000  # the last of all


@dataclass
class Labelled:
    """Vectors (N, D) and classes (N,) from 0, to train on and held out: samples in 0..1, or coordinates in a frame."""

    training: torch.Tensor
    classes: torch.Tensor
    held_out: torch.Tensor
    held_out_classes: torch.Tensor
    frame: Frame | None = None

    def batch(self, count: int, random: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """The vectors to encode and to reconstruct, (count, D) each: the same."""
        y = self.training[random.integers(0, len(self.training), count)]
        return y, y

    def with_held_out(self) -> Labelled:
        """The same, the held-out pictures among those to train on."""
        both = (torch.cat([self.training, self.held_out]), torch.cat([self.classes, self.held_out_classes]))
        return Labelled(*both, self.held_out[:0], self.held_out_classes[:0], self.frame)

    def some_labels(self, share: float, seed: int) -> torch.Tensor:
        """Indices of training pictures: `share` of each class, at least 1, drawn at random (Salakhutdinov, Hinton 2007,
        section 5)."""
        generator = torch.Generator().manual_seed(seed)
        parts = []
        for one in self.classes.unique():
            members = (self.classes == one).nonzero().flatten()
            count = max(1, round(share * len(members)))
            parts.append(members[torch.randperm(len(members), generator=generator)[:count]])
        return torch.cat(parts)


@cache
def load(name: str, folder: Path | None, axes: int = 0) -> Labelled:
    """digits: MNIST's training part, (N, 784); features: those by features.py, (N, 2048); cifar: (N, 3072);
    packages: texts.py's, (N, 2000). Along `axes` principal axes, if not 0 (vectors.py)."""
    if name not in HELD_OUT:
        raise SystemExit(f"data = {name!r}: not one of {', '.join(HELD_OUT)}")
    if folder is None:
        raise SystemExit(f"data = {name!r}: name its folder with --data")
    (samples, classes), last = part(name, folder, "train"), HELD_OUT[name]
    frame = Frame.of(samples[:-last], axes) if axes else None
    samples = frame.coordinates(samples) if frame else samples
    return Labelled(samples[:-last], classes[:-last], samples[-last:], classes[-last:], frame)


def test(name: str, folder: Path) -> tuple[torch.Tensor, torch.Tensor]:
    """The test part: of digits samples (10000, 784) in 0..1 or features (10000, 2048), and classes (10000,), of
    packages (1000, 2000) and (1000,). Nothing is chosen on it. CIFAR-10's pictures are few: it is those held out."""
    return part(name, folder, "test")


@lru_cache(maxsize=4)
def part(name: str, folder: Path, which: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Samples or features (N, D) and classes (N,); which: train or test."""
    if name == "packages":
        words, classes = texts.texts(folder)
        kept = slice(-TEST_PACKAGES) if which == "train" else slice(-TEST_PACKAGES, None)
        samples, classes = texts.vectors(words[kept]), classes[kept]
    else:
        images, classes = (
            pictures.cifar(folder) if name == "cifar" else mnist.digits(folder, "train" if which == "train" else "t10k")
        )
        kept = slice(-HELD_OUT[name], None) if (name, which) == ("cifar", "test") else slice(None)
        samples, classes = images[kept] / np.float32(255), classes[kept]
    samples = torch.from_numpy(samples)
    return features(samples) if name == "features" else samples, torch.from_numpy(classes.astype(np.int64))
