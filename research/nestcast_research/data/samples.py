"""Vectors that the paper's autoencoders learn from: pictures, patches, digits and points of the plane."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from nestcast_research.data.mnist import digits
from nestcast_train.codes import pictures
from nestcast_train.codes.pictures import SIDE
from nestcast_train.codes.vectors import DATA, HELD_OUT, Vectors

PATCH = 8  # pixels of a patch, each way
PATCHES = 25  # of each picture


def register() -> None:
    """Makes them known by name. cifar: CIFAR-10's pictures; patches: 8x8 parts of these; photos: 32x32 windows of
    photos, CIFAR-10's held out; digits: MNIST's training part, the first of its test part held out; pinwheel: 2D."""
    DATA["pinwheel"] = lambda folder, axes: Vectors(pinwheel(20_000))
    DATA["cifar"] = lambda folder, axes: Vectors(cifar(folder), axes)
    DATA["patches"] = lambda folder, axes: Vectors(patches(cifar(folder)), axes)
    DATA["photos"] = lambda folder, axes: Vectors(thumbnails(named(folder)), axes, cifar(folder)[-HELD_OUT:])
    DATA["digits"] = lambda folder, axes: Vectors(
        digits(named(folder), "train")[0] / np.float32(255), axes, held_out=digits_held_out(folder)
    )


def named(folder: Path | None) -> Path:
    if folder is None:
        raise SystemExit("name the folder of the data with --data")
    return folder


def cifar(folder: Path | None) -> np.ndarray:
    """(4000, 3072)."""
    return pictures.cifar(named(folder))[0] / np.float32(255)


def thumbnails(folder: Path) -> np.ndarray:
    """(N, 3072): windows of photos."""
    return pictures.plain(torch.from_numpy(pictures.windows(folder)).float() / 255).flatten(1).numpy()


def digits_held_out(folder: Path) -> np.ndarray:
    return digits(folder, "t10k")[0][:HELD_OUT] / np.float32(255)


def patches(vectors: np.ndarray) -> np.ndarray:
    """(PATCHES * N, 192) of pictures (N, 3072), each at places of its own."""
    random = np.random.default_rng(1)
    planes = vectors.reshape(-1, 3, SIDE, SIDE)
    views = np.lib.stride_tricks.sliding_window_view(planes, (PATCH, PATCH), (2, 3))
    places = random.integers(0, SIDE - PATCH + 1, (2, PATCHES, len(planes)))
    picked = views[np.arange(len(planes)), :, places[0], places[1]]  # (PATCHES, N, 3, 8, 8)
    return picked.transpose(1, 0, 2, 3, 4).reshape(-1, 3 * PATCH**2)


def pinwheel(count: int, arms: int = 5) -> np.ndarray:
    """(count, 2): points on the bent arms of a pinwheel."""
    random = np.random.default_rng(1)
    arm = random.integers(0, arms, count)
    along = 1 + 0.3 * random.normal(size=count)
    across = 0.05 * random.normal(size=count)
    angle = 2 * np.pi * arm / arms + 0.25 * np.exp(along)
    turn = np.stack([np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)], 1).reshape(-1, 2, 2)
    return np.einsum("ni,nij->nj", np.stack([along, across], 1), turn)
