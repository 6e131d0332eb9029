"""The measurements that codes.html shows (learned.py says of what)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

import codes
import figures
import learned
import ranking

RADII = range(0, 11)
BALL_BITS = 32  # of the codes whose balls are searched and whose activations are shown
BINS = 20  # of a histogram


def row(family: str, bits: int, labels: bool, found: dict[str, float]) -> dict:
    return {"code": family, "bits": bits, "bytes": bits // 8, "labels": "yes" if labels else "no", **{name: f"{value:.3f}" for name, value in found.items()}}


def table(test: learned.Test, runs: tuple[learned.Learned, ...]) -> list[dict]:
    """Every code at every length, in the order of lengths."""
    rows = []
    for one in runs:
        searched, asked = test.bits(learned.encoder(one))
        nested = one.settings.endswith("nested")
        for bits in learned.LENGTHS if nested else (one.bits,):
            rows.append(row(one.family, bits, one.labels, ranking.ranked(searched[:, :bits], asked[:, :bits], test.some)))
    searched, asked = test.bits(learned.ordered())
    for bits in (bits for bits in learned.LENGTHS if bits <= searched.shape[1]):
        rows.append(row("autoencoder, nested dropout", bits, False, ranking.ranked(searched[:, :bits], asked[:, :bits], test.some)))
    for bits in learned.LENGTHS:
        for name, encode in learned.rivals(test, bits).items():
            rows.append(row(name, bits, False, ranking.ranked(*test.bits(encode), test.some)))
    return sorted(rows, key=lambda one: (one["bits"], -float(one["MAP"])))


def compared() -> list[learned.Learned]:
    """The Bernoulli and the Gaussian code that balls and histograms are of."""
    return [one for one in learned.HASHES if one.bits == BALL_BITS]


def ball_rows(test: learned.Test) -> list[dict]:
    rows = []
    for one in compared():
        for found in ranking.balls(*test.bits(learned.encoder(one)), test.some, RADII):
            rows.append({"code": one.family, "bits": one.bits, **{name: f"{value:.4g}" for name, value in found.items()}})
    return rows


@torch.no_grad()
def activation_rows(test: learned.Test) -> list[dict]:
    """Figures 6 and 7: shares of activations before the threshold, sigmoids of logits or means, and of bits' shares of ones behind it."""
    rows = []
    for one in compared():
        model, frame = codes.read(one.read_settings(), one.weights)
        numbers = model.latent.centre(model.infer(frame.coordinates(test.searched)))
        before = numbers.sigmoid() if model.latent.numbers == 1 else numbers
        ones = (numbers > model.threshold).float().mean(0)
        low, high = (0.0, 1.0) if model.latent.numbers == 1 else (-3.0, 3.0)
        shares = [np.histogram(values.clamp(a, b).numpy(), BINS, (a, b))[0] / values.numel() for values, a, b in ((before, low, high), (ones, 0.0, 1.0))]
        for i in range(BINS):
            at = low + (i + 0.5) * (high - low) / BINS
            rows.append({"code": one.family, "activation": f"{at:.3f}", "share": f"{shares[0][i]:.4f}", "share of ones": f"{(i + 0.5) / BINS:.3f}", "share of bits": f"{shares[1][i]:.4f}"})
    return rows


def measure(data: Path) -> None:
    """Every number of the page, from the runs' weights."""
    test = learned.Test(data)
    figures.write_table("codes-table.csv", table(test, learned.ALL))
    figures.write_table("codes-balls.csv", ball_rows(test))
    figures.write_table("codes-activations.csv", activation_rows(test))
