"""Pictures with classes, for codes that are judged by them: MNIST, and the pictures of CIFAR-10 that there are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

import pictures
from vectors import Frame

HELD_OUT = {"digits": 10_000, "cifar": 500}  # the last of the training part: what settings are chosen on


@dataclass
class Labelled:
    """Vectors (N, D) and classes (N,) from 0, to train on and held out: samples in 0..1, or coordinates in a frame."""

    training: torch.Tensor
    classes: torch.Tensor
    held_out: torch.Tensor
    held_out_classes: torch.Tensor
    frame: Frame | None = None

    def batch(self, count: int, random: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """What is encoded and what is to be reconstructed, (count, D) each: the same."""
        y = self.training[random.integers(0, len(self.training), count)]
        return y, y

    def some_labels(self, share: float, seed: int) -> torch.Tensor:
        """Indices of training pictures: `share` of each class, at least 1, drawn at random (Salakhutdinov, Hinton 2007, section 5)."""
        generator = torch.Generator().manual_seed(seed)
        parts = []
        for one in self.classes.unique():
            members = (self.classes == one).nonzero().flatten()
            count = max(1, round(share * len(members)))
            parts.append(members[torch.randperm(len(members), generator=generator)[:count]])
        return torch.cat(parts)


@lru_cache(maxsize=None)
def load(name: str, folder: Path | None, axes: int = 0) -> Labelled:
    """digits: MNIST's training part, (N, 784); cifar: (N, 3072). With `axes` along so many principal axes (vectors.py)."""
    if name not in HELD_OUT:
        raise SystemExit(f"data = {name!r}: not one of {', '.join(HELD_OUT)}")
    if folder is None:
        raise SystemExit(f"data = {name!r}: name its folder with --data")
    images, classes = pictures.digits(folder, "train") if name == "digits" else pictures.cifar(folder)
    samples, classes, last = torch.from_numpy(images / np.float32(255)), torch.from_numpy(classes.astype(np.int64)), HELD_OUT[name]
    frame = Frame.of(samples[:-last], axes) if axes else None
    samples = frame.coordinates(samples) if frame else samples
    return Labelled(samples[:-last], classes[:-last], samples[-last:], classes[-last:], frame)


def test(folder: Path) -> tuple[torch.Tensor, torch.Tensor]:
    """MNIST's test part: samples (10000, 784) in 0..1, classes (10000,). Nothing is chosen on it."""
    images, classes = pictures.digits(folder, "t10k")
    return torch.from_numpy(images / np.float32(255)), torch.from_numpy(classes.astype(np.int64))
