"""A checkpoint for the repository: python -m nestcast_train.slim RUN/checkpoint.pt ../checkpoints/NAME.pt.

Keeps the averaged weights where a run has them, and nothing that can be made again. Networks' weights are in half
precision; what the tables are made of is exact, so that a stream's model stays the same. Autoencoders' weights are kept
in 8 bits (`write_weights`).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

LARGE = 1024  # numbers; smaller tensors stay as they are
TOP = 127  # of weights in 8 bits
KEPT = ("bpp", "step", "seconds")


def slim(checkpoint: dict) -> dict:
    weights = checkpoint.get("average") or checkpoint["model"]
    halved = {
        name: value.half() if value.numel() >= LARGE and value.is_floating_point() else value
        for name, value in weights.items()
    }
    return {"model": halved, **{name: checkpoint[name] for name in KEPT if name in checkpoint}}


def rounded(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(N, D) -> whole numbers within TOP of 0 and a scale for each row, (N, 1)."""
    scale = weight.abs().amax(1, keepdim=True).clamp(min=1e-12) / TOP
    return (weight / scale).round(), scale


def write_weights(path: Path, state: dict[str, torch.Tensor]) -> None:
    """Matrices in 8 bits, a scale for each row; all else as it is."""
    arrays = {}
    for name, value in state.items():
        if value.ndim == 2:
            whole, scale = rounded(value)
            arrays[name], arrays[f"{name}/scale"] = whole.to(torch.int8).numpy(), scale.numpy()
        else:
            arrays[name] = value.numpy()
    np.savez_compressed(path, **arrays)


def read_weights(path: Path) -> dict[str, torch.Tensor]:
    with np.load(path) as arrays:
        scaled = {
            name: arrays[name] * arrays[f"{name}/scale"] if f"{name}/scale" in arrays else arrays[name]
            for name in arrays
        }
    return {name: torch.from_numpy(np.asarray(value)) for name, value in scaled.items() if not name.endswith("/scale")}


def main() -> None:
    from nestcast_train.train import read, write  # which knows tasks that write weights themselves

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    write(arguments.out, slim(read(arguments.checkpoint)))


if __name__ == "__main__":
    main()
