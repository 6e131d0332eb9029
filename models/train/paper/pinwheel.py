"""Figure 2, nested neighbourhoods in the plane: python paper/pinwheel.py RUN.

RUN is the folder of `train.py paper/pinwheel.toml`. A query's neighbourhood at depth b is every point whose code shares its
first b bits (Equation 15); each lies within the one before.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import figures
import vectors
from autoencoder import Autoencoder
from settings import load

QUERIES = 5
GRID = 400  # points each way at which codes are drawn


def shared_bits(codes: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
    """(N,): how many leading bits codes (N, K) share with the query (K,)."""
    return (codes == query).long().cumprod(1).sum(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    run = parser.parse_args().run
    settings = load(HERE / "pinwheel.toml")
    data = vectors.load(settings.data, None)
    model = Autoencoder(settings)
    model.load_state_dict(torch.load(run / "weights.pt", weights_only=True))
    model.eval()
    with torch.no_grad():
        draw(model, data)


def draw(model: Autoencoder, data: vectors.Vectors) -> None:
    points = data.training[:3000]
    side = torch.linspace(-2.2, 2.2, GRID)
    grid = torch.cartesian_prod(side, side)
    codes, point_codes = model.encode(grid), model.encode(points)
    around = points[torch.atan2(points[:, 1], points[:, 0]).argsort()]
    queries = around[len(points) // (2 * QUERIES) :: len(points) // QUERIES]  # all round the pinwheel
    figure, axes = figures.panels(2, 3, (9, 6.2))
    axes[0].scatter(*points.t(), s=1, color="black")
    axes[0].set_title("training data")
    rows = []
    for number, (axis, query) in enumerate(zip(axes[1:], model.encode(queries)), 1):
        depth = shared_bits(codes, query).view(GRID, GRID).t()
        axis.imshow(depth.float().log1p(), origin="lower", extent=[-2.2, 2.2] * 2, cmap="Blues_r", aspect="auto")
        axis.scatter(*points.t(), s=0.2, color="black", alpha=0.3)
        axis.scatter(*queries[number - 1 : number].t(), s=25, color="red")
        shared = shared_bits(point_codes, query)
        rows += [{"query": number, "bits": b, "points": int((shared >= b).sum())} for b in (0, 1, 2, 4, 8, 16, 32)]
    for axis in axes:
        axis.set(xlim=(-2.2, 2.2), ylim=(-2.2, 2.2), xticks=[], yticks=[])
    figures.save(figure, HERE / "pinwheel.png")
    figures.write_table(HERE / "pinwheel.csv", rows)


if __name__ == "__main__":
    main()
