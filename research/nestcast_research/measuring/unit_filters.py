"""Figure 1, the filters of a binarised 3072-100-3072 autoencoder without and with unit sweeping (filters.toml,
filters-swept.toml)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from nestcast_research import stored
from nestcast_research.pages import figures
from nestcast_research.places import SETTINGS
from nestcast_train.codes import code_package, pictures
from nestcast_train.codes.autoencoder import Autoencoder
from nestcast_train.codes.pictures import SIDE
from nestcast_train.codes.vectors import HELD_OUT, Frame
from nestcast_train.settings import load

RUNS = {"without unit sweeping": "filters", "with unit sweeping": "filters-swept"}
LENGTHS = (1, 2, 4, 8, 16, 32, 64, 100)


def filters(model: Autoencoder) -> np.ndarray:
    """(units, 32, 32, 3) 0..1: each unit's weights, grey where they are 0, in the range of its own largest."""
    weights = model.weights[0].detach()
    weights = weights / weights.abs().amax(1, keepdim=True)
    return (0.5 + 0.5 * weights).view(-1, 3, SIDE, SIDE).permute(0, 2, 3, 1).numpy()


@torch.no_grad()
def errors(model: Autoencoder, frame: Frame, held_out: torch.Tensor) -> dict[int, float]:
    """Squared error by code length, as a share of the variance."""
    y = frame.coordinates(held_out)
    return {length: (model(y, torch.full((len(y),), length)) - y).square().mean().item() for length in LENGTHS}


def draw(data: Path) -> None:
    held_out = torch.from_numpy(pictures.cifar(data)[0][-HELD_OUT:] / np.float32(255))
    figure, axes = figures.panels(1, 2, (9, 4.7))
    tables = {}
    for axis, (name, run) in zip(axes, RUNS.items()):
        model, frame = code_package.read(load(SETTINGS / f"{run}.toml"), stored.weights(run))
        axis.imshow(figures.tiles(filters(model), 10, gap=2), interpolation="nearest")
        axis.set_title(name)
        axis.axis("off")
        tables[name] = errors(model, frame, held_out)
    figures.save(figure, "filters.png")
    figures.write_table(
        "filters.csv", [{"bits": b, **{name: f"{t[b]:.5f}" for name, t in tables.items()}} for b in LENGTHS]
    )
