"""Pictures for training with gains: photos in several sizes and kinds, with what an encoder finds for each.

    python -m nestcast_train.gains.pictures --photos PHOTOS --out FOUND.npz

writes the colour axes and the rotations of each picture (some minutes on two cores); the pictures themselves are made
of the photos again whenever they are read.
"""

from __future__ import annotations

import argparse
import dataclasses
import zlib
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random

import numpy as np
import torch
from PIL import Image

from nestcast_train.coded import coder, pack, rotation_search
from nestcast_train.data.photos import HELD_OUT, photos, training
from nestcast_train.export import manifest
from nestcast_train.places import ARTIFACTS

REGION = rotation_search.SIDE
SMALLER = 4  # times, the pixels that a crop's variance is told by
Task = tuple[Path, str, str]  # the photo, the kind of picture, and its name among all


def tasks(folder: Path) -> tuple[list[Task], list[Task]]:
    """Pictures to train with, and held-out ones."""

    def named(files: list[Path], kinds: tuple[str, ...]) -> list[Task]:
        return [(file, kind, f"{file.parent.name}-{file.stem}-{kind}") for kind in kinds for file in files]

    return named(training(folder), pack.KINDS), named(photos(folder)[::HELD_OUT], ("half", "full"))


def picture(task: Task, held_out: bool) -> np.ndarray | None:
    """(H, W, 3), sides multiples of 64; None if it would be too small. The same as pack.py's."""
    file, kind, name = task
    random = np.random.default_rng(zlib.crc32(name.encode()))
    pixels = pack.variant(Image.open(file).convert("RGB"), kind, random)
    if pixels is None:
        return None
    return np.ascontiguousarray(pixels) if held_out else pack.turned(pixels, random)


@dataclasses.dataclass
class Picture:
    pixels: torch.Tensor  # (3, H, W) of bytes
    axes: torch.Tensor  # (3, 3)
    rotations: torch.Tensor  # (H / 32, W / 32, 3, 3)
    small: np.ndarray  # (H / 4, W / 4, 3) of the pixels


@dataclasses.dataclass
class Crops:
    """rgb (B, 3, n, m) 0..255; axes (B, 3, 3); rotations (B, n / 32, m / 32, 3, 3)."""

    rgb: torch.Tensor
    axes: torch.Tensor
    rotations: torch.Tensor


class Pictures:
    """All pictures in memory, on a device."""

    def __init__(self, folder: Path, found: Path, device: str, least: int):
        """least: pixels each way of a picture that counts."""
        kept, held_out = tasks(folder)
        jobs = [(task, False) for task in kept] + [(task, True) for task in held_out]
        with np.load(found) as told, ProcessPoolExecutor() as processes:
            made = list(processes.map(picture, *zip(*jobs), chunksize=4))
            parts: tuple[list[Picture], list[Picture]] = ([], [])
            for (task, out), pixels in zip(jobs, made):
                if pixels is None or min(pixels.shape[:2]) < least:
                    continue
                angles = told[f"{task[2]}.angles"]
                if angles.shape[:2] != tuple(n // REGION for n in pixels.shape[:2]):
                    raise SystemExit(f"{found}: {task[2]} has another size; make the file again")
                matrices = torch.from_numpy(rotation_search.matrices(angles).astype(np.float32))
                axes = torch.from_numpy(told[f"{task[2]}.axes"].astype(np.float32))
                rgb = torch.from_numpy(pixels).permute(2, 0, 1).contiguous()
                small = pixels[::SMALLER, ::SMALLER].astype(np.float32)
                parts[out].append(Picture(rgb.to(device), axes.to(device), matrices.to(device), small))
        self.training, self.held_out = parts

    def crops(self, count: int, side: int, random: Random) -> Crops:
        """Of three candidates of each the one of middle or high variance."""
        out = []
        for _ in range(count):
            one, tries = random.choice(self.training), []
            for _ in range(3):
                y, x = (random.randrange((n - side) // REGION + 1) * REGION for n in one.pixels.shape[1:])
                rows, columns = (slice(at // SMALLER, (at + side) // SMALLER) for at in (y, x))
                tries.append((one.small[rows, columns].var(), y, x))
            _, y, x = sorted(tries)[random.choice((1, 2, 2))]
            out.append(cut_out(one, y, x, (side, side)))
        return together(out)

    def middles(self, size: tuple[int, int]) -> list[Crops]:
        """The middle of every held-out picture that has this size."""
        out = []
        for one in self.held_out:
            if all(n >= m for n, m in zip(one.pixels.shape[1:], size)):
                y, x = ((n - m) // 2 // REGION * REGION for n, m in zip(one.pixels.shape[1:], size))
                out.append(together([cut_out(one, y, x, size)]))
        return out


def cut_out(one: Picture, y: int, x: int, size: tuple[int, int]) -> Picture:
    rows, columns = slice(y, y + size[0]), slice(x, x + size[1])
    across = slice(x // REGION, (x + size[1]) // REGION)
    rotations = one.rotations[y // REGION : (y + size[0]) // REGION, across]
    return Picture(one.pixels[:, rows, columns], one.axes, rotations, one.small)


def together(parts: list[Picture]) -> Crops:
    return Crops(
        torch.stack([one.pixels for one in parts]).float(),
        torch.stack([one.axes for one in parts]),
        torch.stack([one.rotations for one in parts]),
    )


def found(job: tuple[Task, bool, coder.Tables]) -> dict[str, np.ndarray]:
    task, held_out, tables = job
    pixels = picture(task, held_out)
    if pixels is None:
        return {}
    axes, angles, _ = coder.turned_details(pixels, tables, None)
    print(task[2], flush=True)
    return {f"{task[2]}.axes": axes, f"{task[2]}.angles": angles.astype(np.int8)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=Path, required=True, help="folder of openly licensed photos")
    parser.add_argument("--model", type=Path, default=ARTIFACTS / "photo-ssim", help="package whose tables are used")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    tables = coder.Tables.read(manifest.file(arguments.model, "tables.bin"))
    kept, held_out = tasks(arguments.photos)
    jobs = [(task, False, tables) for task in kept] + [(task, True, tables) for task in held_out]
    with ProcessPoolExecutor() as processes:
        parts = list(processes.map(found, jobs, chunksize=4))
    np.savez_compressed(arguments.out, **{name: value for part in parts for name, value in part.items()})


if __name__ == "__main__":
    main()
