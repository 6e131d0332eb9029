"""MS-SSIM of training crops, as lab/src/metrics measures it, with a gradient.

Five scales, an 11x11 Gaussian window of standard deviation 1.5 applied only where all of it is inside, to each channel
alone (Wang, Simoncelli and Bovik, Asilomar 2003).
"""

from __future__ import annotations

import functools

import torch
import torch.nn.functional as F

EXPONENTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)  # finest scale first
TAPS = 11
SIGMA = 1.5
C1 = (0.01 * 255) ** 2
C2 = (0.03 * 255) ** 2
MIN_MEAN = 1e-4  # of a scale's mean: a power of it has a gradient


@functools.cache
def window(n: int) -> torch.Tensor:
    """(n - 10, n): a row for every place of the window. A product of matrices is faster than a convolution of one
    channel."""
    taps = torch.arange(TAPS, dtype=torch.float64) - TAPS // 2
    weights = torch.exp(-taps.square() / (2 * SIGMA**2))
    rows = torch.zeros(n - TAPS + 1, n, dtype=torch.float64)
    for i, weight in enumerate(weights / weights.sum()):
        rows.diagonal(i).fill_(weight)
    return rows.float()


def blurred(x: torch.Tensor) -> torch.Tensor:
    """(N, h, w) -> (N, h - 10, w - 10)."""
    down, across = (window(n).to(x.device) for n in x.shape[1:])
    return down @ (x @ across.t())


def ms_ssim(decoded: torch.Tensor, original: torch.Tensor) -> torch.Tensor:
    """(B, C, h, w) each, 0..255, sides a multiple of 16 and at least 176 -> (B,), 0 to 1."""
    x, y = (picture.flatten(0, 1) for picture in (decoded, original))
    product = 1.0
    for scale, exponent in enumerate(EXPONENTS):
        mx, my, xx, yy, xy = blurred(torch.cat([x, y, x * x, y * y, x * y])).chunk(5)
        term = (2 * (xy - mx * my) + C2) / (xx - mx * mx + yy - my * my + C2)
        if scale + 1 == len(EXPONENTS):
            term = term * (2 * mx * my + C1) / (mx * mx + my * my + C1)
        product = product * term.mean((1, 2)).clamp(min=MIN_MEAN) ** exponent
        x, y = F.avg_pool2d(x, 2), F.avg_pool2d(y, 2)
    return product.unflatten(0, original.shape[:2]).mean(1)
