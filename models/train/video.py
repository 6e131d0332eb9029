"""The tables of video: python video.py --clips DIR --out ../artifacts/video.

Starts from the tables of `photo` with other quantiser steps, has the Rust codec code the training clips (clips.py makes them)
with the tables so far, and moves priors and reconstruction points to what these clips asked for, a few times; key.bin is for
frames predicted from nothing, residual.bin for what prediction leaves. Every fourth clip is held out. Needs only Python and
cargo.
"""

from __future__ import annotations

import argparse
import struct
import subprocess
import sys
from pathlib import Path

import manifest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
START = HERE / "../artifacts/photo/tables.bin"
KEY, RESIDUAL = "key.bin", "residual.bin"
# Finest steps, by those of `photo`: luma, both differences. One bit plane more, so that high rates do not saturate.
STEPS = {KEY: (0.5, 0.6), RESIDUAL: (0.5, 0.6)}
ROUNDS = 3
HELD_OUT = 4  # every so many clips
# What a frame counts: people who sign before a still background, made clips, all others.
WEIGHTS = {"asl": 1, "made": 2}
OTHER_WEIGHT = 7.5
FIRST_RECORD, RECORD, SUBBANDS, LEVELS = 200, 70, 57, 6  # spec/bitstream.md, "Model tables"
HEAD = """\
# Tables of video. Written by models/train/video.py.
format = 1
name = "video"
version = "0.1.0"
licence = "MIT OR Apache-2.0"

[[data]]
name = "Sample videos of people signing, of cars, of people, of bottles (a collection by Intel)"
files = {videos}
licence = "CC BY 4.0"

[[data]]
name = "Clips made of the photos of the model photo (models/train/clips.py)"
files = {made}
licence = "public domain, Unsplash License, or Creative Commons allowing commercial use; by picture"
"""


def component(subband: int) -> int:
    """0: luma, 1 and 2: the differences."""
    return subband if subband < 3 else (subband - 3) % 9 // 3


def scaled(tables: bytes, luma: float, differences: float) -> bytes:
    """Tables with these times the steps."""
    out = bytearray(tables)
    for subband in range(SUBBANDS):
        at = FIRST_RECORD + RECORD * subband
        (step,) = struct.unpack_from("<f", out, at)
        struct.pack_into("<f", out, at, step * (differences if component(subband) else luma))
    return bytes(out)


def training(clips: list[Path]) -> list[Path]:
    return [clip for number, clip in enumerate(clips) if number % HELD_OUT != HELD_OUT - 1]


def weight(clip: Path) -> float:
    return WEIGHTS.get(clip.stem.split("_")[0], OTHER_WEIGHT)


def learn(out: Path, clips: list[Path]) -> None:
    """One round."""
    command = ["cargo", "run", "--quiet", "--locked", "--release", "-p", "nestcast-models", "--example", "video_tables", "--"]
    named = [f"{weight(clip)}:{clip.resolve()}" for clip in clips]
    done = subprocess.run([*command, (out / KEY).resolve(), (out / RESIDUAL).resolve(), *named], cwd=ROOT, check=False)
    if done.returncode:
        sys.exit("the clips were not coded: see what cargo says above")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("clips", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True, metavar="DIR")
    given = parser.parse_args()
    clips = training(sorted(given.clips.glob("*.y4m")))
    if not clips:
        sys.exit(f"{given.clips}: no clips; make them with clips.py")
    given.out.mkdir(parents=True, exist_ok=True)
    for name, steps in STEPS.items():
        (given.out / name).write_bytes(scaled(START.read_bytes(), *steps))
    for number in range(ROUNDS):
        print(f"round {number + 1}", flush=True)
        learn(given.out, clips)
    made = sum(clip.stem.startswith("made") for clip in clips)
    manifest.write(given.out, HEAD.format(videos=len(clips) - made, made=made), STEPS)


if __name__ == "__main__":
    main()
