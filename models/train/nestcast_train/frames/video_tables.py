"""The tables of video: python -m nestcast_train.frames.video_tables --clips DIR --out OUT.

Starts from the tables of `photo` with other quantiser steps and, for residuals, other wavelet taps, has the Rust codec
code the training clips (clips.py makes them) with the tables so far, and moves priors and reconstruction points to what
these clips need, a few times. key.bin is for frames that are predicted from nothing, residual.bin for what prediction
leaves. Then the Rust codec fits a post-filter for each to what receivers see. Every fourth clip is held out. Needs
NumPy and cargo.

The network of the package was trained with the tables: when they change, train it again (frames.toml).
"""

from __future__ import annotations

import argparse
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np

from nestcast_train.export import manifest
from nestcast_train.places import CODEC_TABLES, ROOT

START = CODEC_TABLES / "photo/tables.bin"  # without the post-filter, which follows them
KEY, RESIDUAL = "key.bin", "residual.bin"
# Finest steps, by those of `photo`: luma, both differences. One bit plane more, so that high rates do not saturate.
STEPS = {KEY: (0.5, 0.6), RESIDUAL: (0.5, 0.6)}
# Share of photo's trained taps; the rest is CDF 9/7's (Cohen, Daubechies, Feauveau 1992; lifting by Daubechies and
# Sweldens 1998).
TRAINED = {KEY: 1.0, RESIDUAL: 0.5}
# (near, far) of each lifting step
CDF = np.array([(-1.586134342, 0), (-0.052980118, 0), (0.882911075, 0), (0.443506852, 0)])
ROUNDS = 3
HELD_OUT = 4  # every fourth clip
# Weight of a frame: people who sign in front of a still background, made clips, all others.
WEIGHTS = {"asl": 1, "made": 2}
OTHER_WEIGHT = 7.5
TAPS, FIRST_RECORD, RECORD, SUBBANDS, LEVELS, TABLES = 8, 200, 70, 57, 6, 18754  # spec/bitstream.md, "Model tables"
LINE = 1024  # samples that norms are measured on
HEAD = """\
# Tables of video and their network, written by nestcast_train.frames of models/train.
format = 1
name = "video"
version = "0.1.0"
licence = "MIT OR Apache-2.0"

[[data]]
name = "Sample videos of people signing, of cars, of people, of bottles (a collection by Intel)"
files = {videos}
licence = "CC BY 4.0"

[[data]]
name = "Clips made of the photos of the model photo (nestcast_train.frames.clips)"
files = {made}
licence = "public domain, Unsplash License, or Creative Commons allowing commercial use; by picture"

[[data]]
name = "Photos of the model photo, whose synthesis the network began as"
files = 146
licence = "public domain, Unsplash License, or Creative Commons allowing commercial use; by picture"

[ranges]
position = [0.0, 9.0]  # of cuts, in bit planes, that the network was trained for (frame_restorer.py)
"""


def place(subband: int) -> tuple[int, int, tuple[int, int]]:
    """Component (0: luma), level (6: coarsest), and whether it is high horizontally and vertically."""
    if subband < 3:
        return subband, LEVELS, (0, 0)
    level, within = LEVELS - (subband - 3) // 9, (subband - 3) % 9
    return within // 3, level, ((1, 0), (0, 1), (1, 1))[within % 3]


def unlifted(line: np.ndarray, taps: np.ndarray) -> np.ndarray:
    """One level of synthesis (spec/bitstream.md, "Wavelet") of low and high samples in turn; taps: (4, 2)."""
    out, last = line.copy(), len(line) - 1
    mirrored = lambda at: last - np.abs(last - np.abs(at))
    for step in reversed(range(4)):
        own = np.arange(1 - step % 2, len(line), 2)
        near, far = (out[mirrored(own - d)] + out[mirrored(own + d)] for d in (1, 3))
        out[own] -= taps[step, 0] * near + taps[step, 1] * far
    return out


def norms(taps: np.ndarray, finest: int) -> dict[int, list[float]]:
    """By level: the norms of what one low and one high coefficient give along a line; taps: (levels, 4, 2)."""
    out = {}
    for level in range(finest, LEVELS + 1):
        out[level] = []
        for high in (0, 1):
            line = np.zeros(LINE >> (level - finest))
            line[len(line) // 4 * 2 + high] = 1
            for own in range(level, finest - 1, -1):
                line = unlifted(line, taps[own - 1])
                if own > finest:
                    line = np.stack([line, np.zeros_like(line)], 1).ravel()
            out[level].append(float(np.linalg.norm(line)))
    return out


def start(photo: bytes, luma: float, differences: float, trained: float) -> bytes:
    """The tables of `photo` with its steps times these factors and this share of its taps. Where the taps change the
    norm of a coefficient, the step changes the other way."""
    out = bytearray(photo)
    before = np.frombuffer(photo, "<f4", 8 * LEVELS, TAPS).reshape(LEVELS, 4, 2).astype(float)
    taps = trained * before + (1 - trained) * CDF
    struct.pack_into(f"<{taps.size}f", out, TAPS, *taps.flatten())
    finest = (1, 2)  # levels of luma, of the differences
    worth = [(norms(before, level), norms(taps, level)) for level in finest]
    for subband in range(SUBBANDS):
        own, level, high = place(subband)
        if level < finest[min(own, 1)]:
            continue
        old, new = (levels[level][high[0]] * levels[level][high[1]] for levels in worth[min(own, 1)])
        at = FIRST_RECORD + RECORD * subband
        (step,) = struct.unpack_from("<f", out, at)
        struct.pack_into("<f", out, at, step * (differences if own else luma) * old / new)
    return bytes(out)


def training(clips: list[Path]) -> list[Path]:
    return [clip for number, clip in enumerate(clips) if number % HELD_OUT != HELD_OUT - 1]


def weight(clip: Path) -> float:
    return WEIGHTS.get(clip.stem.split("_")[0], OTHER_WEIGHT)


def learn(what: str, out: Path, clips: list[Path]) -> None:
    """One round of "priors", or the "filters"."""
    command = [
        "cargo",
        "run",
        "--quiet",
        "--locked",
        "--release",
        "-p",
        "nestcast-models",
        "--example",
        "video_tables",
        "--",
    ]
    named = [f"{weight(clip)}:{clip.resolve()}" for clip in clips]
    done = subprocess.run(
        [*command, what, (out / KEY).resolve(), (out / RESIDUAL).resolve(), *named], cwd=ROOT, check=False
    )
    if done.returncode:
        sys.exit("the clips were not coded: see what cargo says above")


def asked_for(description: str) -> tuple[list[Path], list[Path], Path]:
    """What the command line names: all clips, those to train on, and the folder to write, which it makes."""
    parser = argparse.ArgumentParser(description=description)
    for name in ("clips", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True, metavar="DIR")
    given = parser.parse_args()
    clips = sorted(given.clips.glob("*.y4m"))
    if not training(clips):
        sys.exit(f"{given.clips}: no clips; make them with clips.py")
    given.out.mkdir(parents=True, exist_ok=True)
    return clips, training(clips), given.out


def main() -> None:
    _, clips, out = asked_for(__doc__)
    for name, steps in STEPS.items():
        (out / name).write_bytes(start(START.read_bytes()[:TABLES], *steps, TRAINED[name]))
    for number in range(ROUNDS):
        print(f"round {number + 1}", flush=True)
        learn("priors", out, clips)
    print("filters", flush=True)
    learn("filters", out, clips)
    made = sum(clip.stem.startswith("made") for clip in clips)
    manifest.write(out, HEAD.format(videos=len(clips) - made, made=made), STEPS)


if __name__ == "__main__":
    main()
