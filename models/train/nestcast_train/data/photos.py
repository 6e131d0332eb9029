"""Training photos: openly licensed only, cropped where there is something to learn.

By folder: `elementary` is public domain, Unsplash License or Creative Commons that allows commercial use; `budgie`
is CC0 or public domain; `aosc_open` is CC0, CC BY, CC BY-SA 4.0, Unsplash License or WTFPL, by picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import torch
from PIL import Image

from nestcast_train.data import axes, rotations

OPEN = ("elementary", "budgie", "aosc_open")  # folders whose licences allow shipped weights
HELD_OUT = 18  # every 18th photo is for validation
MIN_SIDE = 256  # pixels of a training picture


def photos(folder: str | Path) -> list[Path]:
    """All of them; every `HELD_OUT`th is for validation."""
    files = sorted(f for name in OPEN for f in (Path(folder) / name).glob("*.jpg"))
    if not files:
        raise SystemExit(f"{folder}: no photos in {', '.join(OPEN)}")
    return files


def training(folder: str | Path) -> list[Path]:
    """Those that are not held out."""
    return [file for number, file in enumerate(photos(folder)) if number % HELD_OUT]


class Photos:
    """Crops of photos at several sizes, as float tensors (B, 3, crop, crop), 0..255, the colour axes of
    the pictures that they are from, (B, 3, 3), and the rotations of their details, alike."""

    def __init__(self, folder: str | Path):
        self.validation = photos(folder)[::HELD_OUT]
        self.training = training(folder)
        self.pictures = []
        for file in self.training:
            picture = Image.open(file).convert("RGB")
            for share in (1.0, 0.7, 0.5):
                size = [round(n * share) for n in picture.size]
                if min(size) >= MIN_SIDE:
                    scaled = picture if share == 1 else picture.resize(size, Image.LANCZOS)
                    pixels = np.asarray(scaled)
                    self.pictures.append((pixels, axes.axes(axes.search(pixels))))
        if not self.pictures:
            raise SystemExit(f"{folder}: no training photo has {MIN_SIDE} pixels each way")

    def batch(self, count: int, crop: int, random: Random) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Random crops; of three candidates the one of middle or high variance, flipped at random."""
        crops = []
        for _ in range(count):
            tries = sorted((self.crop(crop, random) for _ in range(3)), key=lambda c: c[0][::4, ::4].var())
            one, own = tries[random.choice((1, 2, 2))]
            if random.random() < 0.5:
                one = one[:, ::-1]
            if random.random() < 0.25:
                one = one.transpose(1, 0, 2)
            crops.append((one, own))
        return with_rotations(crops)

    def crop(self, size: int, random: Random) -> tuple[np.ndarray, np.ndarray]:
        picture, own = random.choice(self.pictures)
        y = random.randrange(picture.shape[0] - size + 1)
        x = random.randrange(picture.shape[1] - size + 1)
        return picture[y : y + size, x : x + size], own

    def held_out(self, size: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The middle (size, size) of every held-out photo at half size, (N, 3, size, size), their axes and
        rotations."""
        crops = []
        for file in self.validation:
            picture = Image.open(file).convert("RGB")
            picture = picture.resize([n // 2 for n in picture.size], Image.LANCZOS)
            if min(picture.size) < size:
                continue
            x, y = ((n - size) // 2 for n in picture.size)
            pixels = np.asarray(picture)
            crops.append((pixels[y : y + size, x : x + size], axes.axes(axes.search(pixels))))
        if not crops:
            raise SystemExit(f"no held-out photo has {2 * size} pixels each way")
        return with_rotations(crops)


def with_rotations(crops: list[tuple[np.ndarray, np.ndarray]]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(H, W, 3) crops and their pictures' axes -> crops (B, 3, H, W), axes and rotations (B, 3, 3)."""
    pictures, axes_of = zip(*crops)
    found = [rotations.matrix(rotations.search(one, own)) for one, own in crops]
    return stacked([one.transpose(2, 0, 1) for one in pictures]), stacked(axes_of), stacked(found)


def stacked(arrays: Sequence[np.ndarray]) -> torch.Tensor:
    return torch.from_numpy(np.stack(arrays)).float()
