"""A checkpoint for the repository, without what can be made again: python slim.py RUN/checkpoint.pt ../checkpoints/NAME.pt.

Keeps the averaged weights where a run has them, and no optimiser's state. Networks' weights are in half precision; what the
tables are made of is exact, so that a stream's model stays the same.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from train import read, write

LARGE = 1024  # numbers; smaller tensors stay as they are
KEPT = ("bpp", "step", "seconds")


def slim(checkpoint: dict) -> dict:
    weights = checkpoint.get("average") or checkpoint["model"]
    halved = {name: value.half() if value.numel() >= LARGE and value.is_floating_point() else value for name, value in weights.items()}
    return {"model": halved, **{name: checkpoint[name] for name in KEPT if name in checkpoint}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    write(arguments.out, slim(read(arguments.checkpoint)))


if __name__ == "__main__":
    main()
