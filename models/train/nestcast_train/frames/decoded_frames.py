"""Parts of decoded frames, as models/examples/video_frames.rs writes them: python -m
nestcast_train.frames.decoded_frames --clips DIR --out DIR.

Has the Rust codec code the clips (clips.py makes them) at fifteen rates and writes OUT/training.bin and
OUT/held-out.bin; every fourth clip is held out, as for the tables of video. Needs NumPy and cargo.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from nestcast_train.frames import video_tables
from nestcast_train.places import ROOT

SIDE = 128  # of a part, luma
SHAPES = ((SIDE, SIDE), (SIDE // 2, SIDE // 2), (SIDE // 2, SIDE // 2))
RECORD = np.dtype(
    [
        ("clip", "<f4"),
        ("population", "<f4"),
        ("frame", "<f4"),
        ("receiver", "<f4"),
        ("floor", "<f4"),
        ("enhanced", "<f4"),
        ("shown", "<f4"),
        ("key", "<f4"),  # positions; 1 of a key frame
        ("error", "<f4", 3),
        ("nothing", "<f4"),  # mean squares of the whole frame after the filter, by plane
        *((f"original.{c}", "u1", shape) for c, shape in zip("yuv", SHAPES)),
        *((f"filtered.{c}", "<i2", shape) for c, shape in zip("yuv", SHAPES)),  # in 1/64, less 128
        *((f"predicted.{c}", "<i2", shape) for c, shape in zip("yuv", SHAPES)),  # in 1/8, less 128
        *((f"significance.{c}", "u1", (shape[0] // 4, shape[1] // 4)) for c, shape in zip("yuv", SHAPES)),
    ]
)
# Parts of a frame and receiver, as `video_tables.WEIGHTS` has it.
PARTS = {"asl": 1, "made": 2}
OTHER_PARTS = 5
APART = 7  # clips that are coded one after the other


def read(file: Path) -> np.ndarray:
    """All records; they stay on the disk until something reads them."""
    if not file.is_file():
        raise SystemExit(f"{file}: no decoded frames; decoded_frames.py writes them")
    return np.memmap(file, RECORD, "r", shape=file.stat().st_size // RECORD.itemsize)


def blocks(luma: np.ndarray, blue: np.ndarray, red: np.ndarray) -> np.ndarray:
    """Planes of one part -> (24, H/4, W/4): 16 samples of luma, 4 of either difference, row by row."""

    def split(plane: np.ndarray, side: int) -> np.ndarray:
        height, width = (n // side for n in plane.shape)
        return plane.reshape(height, side, width, side).transpose(1, 3, 0, 2).reshape(-1, height, width)

    return np.concatenate([split(luma, 4), split(blue, 2), split(red, 2)])


def of(record: np.void, what: str) -> np.ndarray:
    """One kind of samples of a record, in blocks."""
    return blocks(*(record[f"{what}.{c}"] for c in "yuv")).astype(np.float32)


def known(record: np.void) -> np.ndarray:
    """(3, H/4, W/4): the significance of every plane; that of differences where their blocks are."""
    luma, *others = (record[f"significance.{c}"] for c in "yuv")
    return np.stack([luma, *(other.repeat(2, 0).repeat(2, 1) for other in others)]).astype(np.float32)


def mixed(clips: list[Path]) -> list[Path]:
    """The clips in an order in which the first few are of every kind."""
    return [clip for first in range(APART) for clip in clips[first::APART]]


def write(out: Path, clips: list[Path]) -> None:
    command = [
        "cargo",
        "run",
        "--quiet",
        "--locked",
        "--release",
        "-p",
        "nestcast-models",
        "--example",
        "video_frames",
        "--",
    ]
    named = [f"{PARTS.get(clip.stem.split('_')[0], OTHER_PARTS)}:{clip.resolve()}" for clip in mixed(clips)]
    if subprocess.run([*command, out.resolve(), *named], cwd=ROOT, check=False).returncode:
        sys.exit("the clips were not coded: see what cargo says above")


def main() -> None:
    clips, training, out = video_tables.asked_for(__doc__)
    write(out / "held-out.bin", [clip for clip in clips if clip not in training])
    write(out / "training.bin", training)


if __name__ == "__main__":
    main()
