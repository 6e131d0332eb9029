"""Figure 2, nested neighbourhoods in the plane (pinwheel.toml).

A query's neighbourhood at depth b is every point whose code shares its first b bits (Equation 15); each lies within the
one before.
"""

from __future__ import annotations

import torch

from nestcast_research import stored
from nestcast_research.data import samples
from nestcast_research.measuring.neighbours import shared_bits
from nestcast_research.pages import figures
from nestcast_research.places import SETTINGS
from nestcast_train.codes import code_package
from nestcast_train.settings import load

QUERIES = 5
GRID = 400  # points each way at which codes are drawn


@torch.no_grad()
def draw() -> None:
    model, frame = code_package.read(load(SETTINGS / "pinwheel.toml"), stored.weights("pinwheel"))
    points = frame.coordinates(torch.from_numpy(samples.pinwheel(3000)).float())
    side = torch.linspace(-2.2, 2.2, GRID)
    grid = torch.cartesian_prod(side, side)
    grid_codes, point_codes = model.encode(grid), model.encode(points)
    around = points[torch.atan2(points[:, 1], points[:, 0]).argsort()]
    queries = around[len(points) // (2 * QUERIES) :: len(points) // QUERIES]  # all round the pinwheel
    figure, axes = figures.panels(2, 3, (9, 6.2))
    axes[0].scatter(*points.t(), s=1, color="black")
    axes[0].set_title("training data")
    rows = []
    for number, (axis, query) in enumerate(zip(axes[1:], model.encode(queries)), 1):
        depth = shared_bits(grid_codes, query).view(GRID, GRID).t()
        axis.imshow(depth.float().log1p(), origin="lower", extent=[-2.2, 2.2] * 2, cmap="Blues_r", aspect="auto")
        axis.scatter(*points.t(), s=0.2, color="black", alpha=0.3)
        axis.scatter(*queries[number - 1 : number].t(), s=25, color="red")
        shared = shared_bits(point_codes, query)
        rows += [{"query": number, "bits": b, "points": int((shared >= b).sum())} for b in (0, 1, 2, 4, 8, 16, 32)]
    for axis in axes:
        axis.set(xlim=(-2.2, 2.2), ylim=(-2.2, 2.2), xticks=[], yticks=[])
    figures.save(figure, "pinwheel.png")
    figures.write_table("pinwheel.csv", rows)
