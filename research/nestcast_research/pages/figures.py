"""Drawing and tables for the paper's figures."""

from __future__ import annotations

import csv

import matplotlib
import numpy as np
from PIL import Image

from nestcast_research.places import PAGES

matplotlib.use("Agg")
matplotlib.rcParams.update({"svg.hashsalt": "nestcast", "font.size": 9, "savefig.bbox": "tight"})

import matplotlib.pyplot as plt  # noqa: E402  behind the choice of the backend


def panels(rows: int, columns: int, size: tuple[float, float]) -> tuple[plt.Figure, np.ndarray]:
    """A figure of `size` inches, and its axes as one flat array."""
    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained")
    return figure, np.atleast_1d(axes).ravel()


def save(figure: plt.Figure, name: str) -> None:
    """The same bytes whenever the same is drawn."""
    path = PAGES / name
    metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
    figure.savefig(path, metadata=metadata, dpi=100)
    plt.close(figure)
    if path.suffix == ".png":  # 256 colours will do, and a clone carries them for ever
        Image.open(path).convert("RGB").quantize(256).save(path, optimize=True)


def tiles(pictures: np.ndarray, columns: int, gap: int = 1) -> np.ndarray:
    """(N, h, w, 3) 0..1, in rows on white: (H, W, 3)."""
    count, height, width = pictures.shape[:3]
    rows = -(-count // columns)
    sheet = np.ones((rows * (height + gap) - gap, columns * (width + gap) - gap, 3))
    for i, picture in enumerate(pictures):
        y, x = i // columns * (height + gap), i % columns * (width + gap)
        sheet[y : y + height, x : x + width] = picture
    return sheet


def save_tiles(pictures: np.ndarray, columns: int, name: str, factor: int = 1) -> None:
    """(N, h, w, 3) 0..1 as a PNG, each pixel `factor` wide."""
    sheet = (255 * tiles(pictures, columns)).round().astype(np.uint8).repeat(factor, 0).repeat(factor, 1)
    Image.fromarray(sheet).quantize(256, dither=Image.Dither.NONE).save(PAGES / name, optimize=True)


def write_table(name: str, rows: list[dict]) -> None:
    with open(PAGES / name, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
