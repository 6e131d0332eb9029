"""Pictures for the autoencoders: CIFAR-10's, digits, and openly licensed photos as a thumbnail's 32x32 pixels, with
near-duplicates."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from nestcast_train.data.photos import HELD_OUT, photos

SIDE = 32  # pixels of a picture, each way
CIFAR = "cifar10/data_batch_1_first4000.bin"  # a label's byte, then red, green and blue planes
FINE = 48  # pixels that a window of a photo is kept in, each way
WINDOWS = 140  # of a photo
SMALLEST = 0.15  # side of a window, as a share of its photo's
SQUEEZE = 1.4  # largest ratio of a window's two shares
# Near-duplicates.
CROP = 0.12  # largest share of a side that a crop takes away
GAIN = 0.25  # largest change of brightness, as a logarithm
LIFT = 0.04  # largest change of black, in 0..1
NOISE = 0.02  # of each sample, standard deviation in 0..1: as JPEG at low quality leaves


def cifar(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Bytes (4000, 3072): CIFAR-10's planes of red, green and blue, row by row; and their labels (4000,)."""
    rows = np.fromfile(folder / CIFAR, np.uint8).reshape(-1, 1 + 3 * SIDE**2)
    return rows[:, 1:], rows[:, 0]


@functools.cache
def windows(folder: Path) -> np.ndarray:
    """Bytes (N, 3, FINE, FINE): parts of the training photos, stretched to a square as a thumbnail is, each mirrored
    too."""
    random = np.random.default_rng(1)
    files = photos(folder / "photos")
    held_out = set(files[::HELD_OUT])
    found = [window for file in files if file not in held_out for window in windows_of(file, random)]
    return np.concatenate([found, np.stack(found)[..., ::-1]])


def windows_of(file: Path, random: np.random.Generator) -> list[np.ndarray]:
    picture = Image.open(file).convert("RGB")
    found = []
    for _ in range(WINDOWS):
        size = np.exp(random.uniform(np.log(SMALLEST), 0)) * np.array([1, SQUEEZE ** random.uniform(-1, 1)])
        width, height = np.minimum(size, 1) * picture.size
        x, y = random.uniform(0, picture.width - width), random.uniform(0, picture.height - height)
        part = picture.resize((FINE, FINE), Image.BOX, box=(x, y, x + width, y + height))
        found.append(np.asarray(part).transpose(2, 0, 1))
    return found


def stretched(picture: Image.Image, side: int = SIDE) -> np.ndarray:
    """Bytes (3, side, side): a whole picture, each pixel the mean of its area."""
    return np.asarray(picture.convert("RGB").resize((side, side), Image.BOX)).transpose(2, 0, 1)


def area_means(start: torch.Tensor, length: torch.Tensor, source: int = FINE) -> torch.Tensor:
    """(B, SIDE, source): row i takes the mean of the i-th of SIDE equal parts of [start, start + length); both (B,), in
    pixels."""
    edges = start[:, None] + length[:, None] * torch.arange(SIDE + 1) / SIDE  # (B, SIDE + 1)
    pixel = torch.arange(source, dtype=torch.float32)
    low = torch.maximum(edges[:, :-1, None], pixel)
    high = torch.minimum(edges[:, 1:, None], pixel + 1)
    return (high - low).clamp(min=0) * SIDE / length[:, None, None]


def cropped(
    fine: torch.Tensor, y: torch.Tensor, height: torch.Tensor, x: torch.Tensor, width: torch.Tensor
) -> torch.Tensor:
    """fine (B, 3, FINE, FINE), a box in its pixels for each, (B,) -> (B, 3, SIDE, SIDE)."""
    return area_means(y, height)[:, None] @ fine @ area_means(x, width)[:, None].transpose(2, 3)


def plain(fine: torch.Tensor) -> torch.Tensor:
    """(B, 3, FINE, FINE) -> (B, 3, SIDE, SIDE)."""
    whole = torch.full((len(fine),), float(FINE))
    return cropped(fine, 0 * whole, whole, 0 * whole, whole)


def near_duplicates(fine: torch.Tensor, random: np.random.Generator) -> torch.Tensor:
    """(B, 3, FINE, FINE) in 0..1 -> (B, 3, SIDE, SIDE): cropped, brighter or darker, with noise."""
    draw = lambda low, high: torch.from_numpy(random.uniform(low, high, len(fine))).float()
    height, width = FINE * (1 - draw(0, CROP)), FINE * (1 - draw(0, CROP))
    y, x = (FINE - height) * draw(0, 1), (FINE - width) * draw(0, 1)
    gain, lift = draw(-GAIN, GAIN).exp(), draw(-LIFT, LIFT)
    changed = cropped(fine, y, height, x, width) * gain.view(-1, 1, 1, 1) + lift.view(-1, 1, 1, 1)
    noise = torch.from_numpy(random.standard_normal(changed.shape, np.float32))
    return (changed + NOISE * noise).clamp(0, 1)
