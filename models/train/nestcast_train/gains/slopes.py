"""What the gain of each region is worth: how the score of a decoded picture and its bits change with it.

A quantiser has no useful derivative. Its mean over steps that vary within an octave is the difference between a gain
half an octave higher and one half an octave lower. Here it is taken so for each coefficient, of its value and its bits.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from nestcast_train.gains.coder import SCALED, Coder, by_region
from nestcast_train.gains.network import REGION
from nestcast_train.synthesis.ssimulacra import ssimulacra2

HALF = 0.5  # octaves
Shown = Callable[[list[torch.Tensor]], torch.Tensor]


def worth(
    coder: Coder, bands: list[torch.Tensor], gains: torch.Tensor, cut: torch.Tensor, show: Shown, original: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(B, h, w): points of SSIMULACRA 2 at equal bits for an octave more of a region's gain; the score and the bits,
    (B,). show: bands -> RGB (B, 3, H, W), with a gradient; original: RGB."""
    low, here, high = (coder.code(bands, gains + by, cut) for by in (-HALF, 0.0, HALF))
    with torch.no_grad():
        below, above = (ssimulacra2(show(one.bands), original) for one in (low, high))
    leaves = [band.requires_grad_() for band in here.bands]
    score = ssimulacra2(show(leaves), original)
    slopes = torch.autograd.grad(score.sum(), leaves[:SCALED])
    with torch.no_grad():
        out = 0
        for level, slope in enumerate(slopes):
            out = out + by_region(slope * (high.bands[level] - low.bands[level]), REGION >> (level + 1))
        # As estimated, all regions together gain another number of points than they do; the prices of both differ.
        points = out.sum((1, 2)).clamp(min=1e-3)
        price = (points / (high.bits - low.bits).clamp(min=1)).view(-1, 1, 1)
        found = out - price * (high.region_bits - low.region_bits)
        found = found * ((above - below) / points).clamp(0.5, 2).view(-1, 1, 1)
    return found, score.detach(), here.bits
