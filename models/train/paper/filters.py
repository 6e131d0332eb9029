"""Figure 1, the filters of a binarised 3072-100-3072 autoencoder without and with unit sweeping: python paper/filters.py RUN SWEPT.

RUN and SWEPT are the folders of `train.py paper/filters.toml` and of `train.py paper/filters-swept.toml`.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import figures
from vectors import SIDE


def filters(run: Path) -> np.ndarray:
    """(units, 32, 32, 3) 0..1: each unit's weights, grey where they are 0, in the range of its own largest."""
    weights = torch.load(run / "weights.pt", weights_only=True)["weights.0"]
    weights = weights / weights.abs().amax(1, keepdim=True)
    return (0.5 + 0.5 * weights).view(-1, 3, SIDE, SIDE).permute(0, 2, 3, 1).numpy()


def errors(run: Path) -> dict[int, float]:
    """Held-out squared error by code length at the run's end, as a share of the variance."""
    rows = [json.loads(line) for line in (run / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    return {row["length"]: row["error"] for row in rows if row["step"] == rows[-1]["step"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("swept", type=Path)
    arguments = parser.parse_args()
    runs = {"without unit sweeping": arguments.run, "with unit sweeping": arguments.swept}
    figure, axes = figures.panels(1, 2, (9, 4.7))
    for axis, (name, run) in zip(axes, runs.items()):
        axis.imshow(figures.tiles(filters(run), 10, gap=2), interpolation="nearest")
        axis.set_title(name)
        axis.axis("off")
    figures.save(figure, HERE / "filters.png")
    tables = {name: errors(run) for name, run in runs.items()}
    lengths = sorted(set.intersection(*(set(table) for table in tables.values())))
    rows = [{"bits": length, **{name: table[length] for name, table in tables.items()}} for length in lengths]
    figures.write_table(HERE / "filters.csv", rows)


if __name__ == "__main__":
    main()
