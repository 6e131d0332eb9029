"""Codes photos once with the frozen coder: python -m nestcast_train.coded.pack --photos DIR --out PACKED.

Every training photo is coded at half size and full size, with noise and out of focus; every held-out one at both sizes.
Files that exist stay, so an interrupted run goes on. windows.py cuts the levels anywhere.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageFilter

from nestcast_train.coded import coder
from nestcast_train.data.photos import HELD_OUT, photos, training
from nestcast_train.export import manifest
from nestcast_train.photo.model import Correction
from nestcast_train.places import ARTIFACTS, CHECKPOINTS, SETTINGS
from nestcast_train.settings import load
from nestcast_train.train import floats
from nestcast_train.train import read as read_checkpoint

GRID = 64  # sides are multiples of it
KINDS = ("half", "noisy", "full", "blurred")
ANALYSED = 0.75  # share of training photos that the analysis network has corrected, as an encoder does by default
MIN_SIDE = 256


def scaled(picture: Image.Image, share: float) -> Image.Image:
    return picture if share == 1 else picture.resize([round(n * share) for n in picture.size], Image.LANCZOS)


def variant(picture: Image.Image, kind: str, random: np.random.Generator) -> np.ndarray | None:
    """(H, W, 3), as an encoder gets it: the decoded picture is to be as near to it as possible, noise included."""
    if kind in ("noisy", "blurred"):
        picture = scaled(picture, random.uniform(0.5, 0.8))
    elif kind == "half":
        picture = scaled(picture, 0.5)
    if kind == "blurred":
        picture = picture.filter(ImageFilter.GaussianBlur(random.uniform(0.5, 1.6)))
    pixels = np.asarray(picture)
    if kind == "noisy":
        grain = random.normal(0, random.uniform(2, 10), (*pixels.shape[:2], 1)) * random.uniform(0.3, 1)
        grain = grain + random.normal(0, random.uniform(1, 4), pixels.shape)
        pixels = np.clip(np.round(pixels + grain), 0, 255).astype(np.uint8)
    height, width = (n // GRID * GRID for n in pixels.shape[:2])
    if min(height, width) < MIN_SIDE:
        return None
    top, left = (pixels.shape[0] - height) // 2, (pixels.shape[1] - width) // 2
    return pixels[top : top + height, left : left + width]


def turned(pixels: np.ndarray, random: np.random.Generator) -> np.ndarray:
    if random.random() < 0.5:
        pixels = pixels[:, ::-1]
    return np.ascontiguousarray(pixels.transpose(1, 0, 2) if random.random() < 0.25 else pixels)


def in_one(coded: coder.Coded) -> np.ndarray:
    """Levels (3, H, W): each band where the wavelet has it, low frequencies at the top left."""
    height, width = (2 * n for n in coded.details[0].shape[2:])
    out = np.zeros((3, height, width), np.int16)
    for level, bands in enumerate(coded.details, 1):
        h, w = height >> level, width >> level
        out[:, :h, w : 2 * w], out[:, h : 2 * h, :w], out[:, h : 2 * h, w : 2 * w] = bands.swapaxes(0, 1)
    out[:, : coded.low.shape[1], : coded.low.shape[2]] = coded.low
    return out


class Bands:
    """Details of a level out of `in_one`'s array, which may lie in a file: (3, 3, h, w) by slices."""

    def __init__(self, array: np.ndarray, level: int):
        self.array = array
        self.size = array.shape[1] >> level, array.shape[2] >> level
        self.shape = 3, 3, *self.size

    def __getitem__(self, at: tuple) -> np.ndarray:
        rows, columns = (range(*part.indices(n)) for part, n in zip(at[2:], self.size))
        h, w = self.size
        parts = [
            self.array[:, rows.start + y : rows.stop + y, columns.start + x : columns.stop + x]
            for y, x in ((0, w), (h, 0), (h, w))
        ]
        return np.stack(parts, 1)

    def reshape(self, *shape: int) -> np.ndarray:
        return self[:, :, :, :].reshape(*shape)


def save(path: Path, pixels: np.ndarray, coded: coder.Coded, tables: coder.Tables) -> None:
    np.save(f"{path}.pixels.npy", pixels)
    np.save(f"{path}.levels.npy", in_one(coded))
    told = {"axes": coded.axes, "angles": coded.angles, "errors": coded.errors}
    np.savez(f"{path}.tmp.npz", tables=tables.id, **told)
    Path(f"{path}.tmp.npz").replace(f"{path}.npz")  # says that the rest is whole


def read(path: Path) -> tuple[np.ndarray, coder.Coded]:
    """Pixels and levels stay in their files until something reads them."""
    with np.load(path) as told:
        parts = {name: told[name] for name in ("axes", "angles", "errors")}
    stem = str(path).removesuffix(".npz")
    pixels, levels = (np.load(f"{stem}.{name}.npy", mmap_mode="r") for name in ("pixels", "levels"))
    h, w = (n >> coder.LEVELS for n in levels.shape[1:])
    details = [Bands(levels, level) for level in range(1, coder.LEVELS + 1)]
    return pixels, coder.Coded(low=np.asarray(levels[:, :h, :w]), details=details, **parts)


def analysis(checkpoint: Path, settings_file: Path) -> Callable[[np.ndarray], np.ndarray]:
    """What the analysis of a checkpoint adds to planes."""
    settings = load(settings_file)
    network = Correction(settings.analysis_channels, settings.analysis_blocks, settings.step, cut=False)
    weights = floats(read_checkpoint(checkpoint)["model"])
    prefix = "analysis."
    network.load_state_dict({k.removeprefix(prefix): v for k, v in weights.items() if k.startswith(prefix)})

    @torch.no_grad()
    def correct(planes: np.ndarray) -> np.ndarray:
        return settings.analysis_share * network(torch.from_numpy(planes)[None])[0].numpy()

    return correct


def pack(folder: Path, out: Path, model: Path, checkpoint: Path, settings: Path) -> None:
    """model: the package whose tables are the coder's; checkpoint, settings: of the analysis."""
    tables = coder.Tables.read(manifest.file(model, "tables.bin"))
    correct = analysis(checkpoint, settings)
    kept, held_out = training(folder), photos(folder)[::HELD_OUT]
    tasks = [(file, kind, "held-out") for kind in ("half", "full") for file in held_out]
    tasks += [(file, kind, "training") for kind in KINDS for file in kept]
    for number, (file, kind, part) in enumerate(tasks, 1):
        name = f"{file.parent.name}-{file.stem}-{kind}"
        path = out / part / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if Path(f"{path}.npz").exists():
            continue
        random = np.random.default_rng(zlib.crc32(name.encode()))
        pixels = variant(Image.open(file).convert("RGB"), kind, random)
        if pixels is None:
            continue
        pixels = turned(pixels, random) if part == "training" else np.ascontiguousarray(pixels)
        analysed = part == "held-out" or random.random() < ANALYSED
        save(path, pixels, coder.encode(pixels, tables, correct if analysed else None), tables)
        print(f"{number} of {len(tasks)}: {name}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, required=True, help="folder of openly licensed photos")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--model", type=Path, default=ARTIFACTS / "photo", help="package whose tables are the coder's")
    parser.add_argument("--checkpoint", type=Path, default=CHECKPOINTS / "photo.pt", help="of the analysis")
    parser.add_argument("--settings", type=Path, default=SETTINGS / "photo.toml", help="of the analysis")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    pack(arguments.photos, arguments.out, arguments.model, arguments.checkpoint, arguments.settings)


if __name__ == "__main__":
    main()
