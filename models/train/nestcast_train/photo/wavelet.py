"""The linear transform: a learnable lifting wavelet, as matrices.

A crop has a fixed size, so one level of the wavelet along one axis is an (n, n) matrix; it is built by
running the lifting steps on the identity, which keeps the taps differentiable and treats borders
exactly as the Rust transform does (whole-sample symmetric extension, spec/bitstream.md, "Wavelet").
"""

from __future__ import annotations

import torch

# CDF 9/7 (JPEG 2000, T.800 Annex F), without the final scaling: the quantiser steps carry it.
CDF97 = (-1.586134342059924, -0.052980118572961, 0.882911075530934, 0.443506852043971)


def reflect(position: int, n: int) -> int:
    """Whole-sample symmetric extension of a signal of n samples."""
    if n == 1:
        return 0
    period = 2 * (n - 1)
    position %= period
    return min(position, period - position)


def lift(rows: torch.Tensor, taps: torch.Tensor) -> torch.Tensor:
    """One level of analysis along axis 0: (n, m) -> (n, m), low half first. taps: (4, 2)."""
    n = rows.shape[0]
    if n == 1:
        return rows
    parts = [rows[0::2], rows[1::2]]
    for step in range(4):
        target, source = (1, 0) if step % 2 == 0 else (0, 1)
        count = parts[target].shape[0]
        total = 0
        for tap, distances in ((0, (-1, 1)), (1, (-3, 3))):
            for distance in distances:
                index = [reflect(2 * i + target + distance, n) // 2 for i in range(count)]
                total = total + taps[step, tap] * parts[source][index]
        parts[target] = parts[target] + total
    return torch.cat(parts)


def matrix(n: int, taps: torch.Tensor) -> torch.Tensor:
    """The (n, n) analysis matrix of one level; its inverse is the synthesis."""
    return lift(torch.eye(n, dtype=taps.dtype, device=taps.device), taps)


def start_taps(levels: int) -> torch.Tensor:
    """(levels, 4 steps, 2 taps), all CDF 9/7."""
    taps = torch.zeros(levels, 4, 2)
    taps[:, :, 0] = torch.tensor(CDF97)
    return taps


def norms_1d(levels: int) -> list[tuple[float, float]]:
    """L2 norms of the 1-D synthesis basis functions (low, high) at each level, for CDF 9/7."""
    size = 1024
    taps = start_taps(1)[0].double()
    inverse = torch.eye(size, dtype=torch.float64)
    norms = []
    n = size
    for _ in range(levels):
        step = torch.linalg.inv(matrix(n, taps))
        low, high = step[:, : n // 2], step[:, n // 2 :]
        norms.append(
            (
                (inverse @ low)[:, n // 4].norm().item(),
                (inverse @ high)[:, n // 4].norm().item(),
            )
        )
        inverse = inverse @ low
        n //= 2
    return norms
