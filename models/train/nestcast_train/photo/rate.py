"""The rate model: a Laplace law whose scale is a non-negative combination of what a decoder knows.

The same weights, rounded to integers, are the context weights of the entropy coder (spec/bitstream.md, "Contexts").
Training prices a coefficient by the law itself. The coder has adaptive probabilities, chosen by quantised scales, so
the prices are close to the coder's and no more than that.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

SHAPES = ("side", "above", "diagonal")  # neighbours left/right, above/below, diagonal


def laplace_bits(value: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Bits of a coefficient, in steps, after a dead-zone quantiser: zero bin (-1, 1), then unit bins.

    The value returned is the exact code length under a Laplace law of mean magnitude `scale`. Towards
    `value` its gradient is that of a ramp through the bins' middles. Added noise would charge the
    coefficients near zero, most of them, for bits that no coder spends.
    """
    a = value.abs()
    nat = 1 / (scale * math.log(2))
    level = torch.floor(a.detach())
    bits = level * nat + (level > 0) - torch.log2(-torch.expm1(-1 / scale))
    over = (a - 0.5).clamp(min=0)
    ramp = over * nat.detach() + over.clamp(max=1)
    return bits + ramp - ramp.detach()


class Scale(nn.Module):
    """Expected magnitude of every coefficient of one level's subbands.

    subbands: 9 = component (Y, U, V) x band (HL, LH, HH), or 3 for the LL band.
    """

    def __init__(self, subbands: int, has_parent: bool):
        super().__init__()
        self.subbands, self.has_parent = subbands, has_parent
        self.floor = nn.Parameter(torch.full((subbands,), -2.0))
        self.near = nn.Parameter(torch.full((subbands, 3), -2.5))
        self.parent = nn.Parameter(torch.full((subbands,), -2.0))
        self.colour = nn.Parameter(torch.full((subbands, 2), -3.0))  # from Y; from U

    def kernel(self) -> torch.Tensor:
        """(subbands, 1, 3, 3) non-negative neighbour weights, centre zero."""
        side, above, diagonal = F.softplus(self.near).unbind(1)
        zero = torch.zeros_like(side)
        rows = [diagonal, above, diagonal, side, zero, side, diagonal, above, diagonal]
        return torch.stack(rows, 1).view(self.subbands, 1, 3, 3)

    def forward(self, causal, later, parent):
        """Scales (B, subbands, h, w) from magnitudes known before a coefficient is coded.

        causal: magnitudes of coefficients coded earlier in this plane; later: those known only to the
        plane before; parent: (B, subbands, h, w), the parents' magnitudes at the children's places, or None.
        """
        kernel = self.kernel()
        first = torch.zeros(3, 3, device=kernel.device)
        first[0] = 1
        first[1, 0] = 1
        scale = F.softplus(self.floor).view(1, -1, 1, 1)
        scale = scale + F.conv2d(causal, kernel * first, padding=1, groups=self.subbands)
        scale = scale + F.conv2d(later, kernel * (1 - first), padding=1, groups=self.subbands)
        if self.has_parent:
            scale = scale + F.softplus(self.parent).view(1, -1, 1, 1) * parent
        third = self.subbands // 3
        luma, u = causal[:, :third], causal[:, third : 2 * third]
        weight = F.softplus(self.colour).view(self.subbands, 2, 1, 1)
        chroma = [
            torch.zeros_like(luma),
            weight[third : 2 * third, 0] * luma,
            weight[2 * third :, 0] * luma + weight[2 * third :, 1] * u,
        ]
        return scale + torch.cat(chroma, 1)
