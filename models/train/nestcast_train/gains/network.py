"""The network for gains: how much of errors each region of a picture hides.

    planes -> blocks of 4 x 4 -> learned filters, squared, their means -> logarithms -> convolutions down to regions

With its first layer a bank of filters and a logarithm after their energies, the rule of variance is one of the
functions that it can take (codec/src/subband/activity.rs).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from nestcast_train.photo.model import CHANNELS, INPUT_SCALE, SIDE

REGION = 32  # pixels each way
FILTERS, MIDDLE, WIDE = 32, 48, 64
SMALL = 16.0 / INPUT_SCALE**2  # an energy below which filters see nothing: a variance of 16, as in the rule
LARGEST = 1.5  # octaves, either way


class GainNetwork(nn.Module):
    """Planes (B, 3, H, W), sides multiples of 32 -> (B, 2, H / 32, W / 32): of each region its activity in octaves of
    gain, and its weight, 0 to 1, in the mean activity of its picture."""

    def __init__(self):
        super().__init__()
        self.filters = nn.Conv2d(CHANNELS, FILTERS, 1, bias=False)
        self.means = nn.Conv2d(CHANNELS, 8, 1)
        self.fine = nn.Conv2d(FILTERS + 8, MIDDLE, 3, padding=1)
        self.middle = nn.Conv2d(MIDDLE, WIDE, 2, stride=2)
        self.coarse = nn.Conv2d(WIDE, WIDE, 2, stride=2)
        self.around = nn.Conv2d(WIDE, WIDE, 3, padding=1)
        self.last = nn.Conv2d(WIDE, 2, 1)
        nn.init.zeros_(self.last.weight)
        nn.init.zeros_(self.last.bias)

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        return self.of_blocks(F.pixel_unshuffle(planes, SIDE))

    def of_blocks(self, blocks: torch.Tensor) -> torch.Tensor:
        """(B, 48, H / 4, W / 4) -> the same."""
        blocks = blocks / INPUT_SCALE
        energy = F.avg_pool2d(self.filters(blocks).square(), 2)  # (B, filters, H / 8, W / 8)
        seen = torch.cat([(energy + SMALL).log(), F.avg_pool2d(self.means(blocks), 2)], 1)
        x = F.relu(self.fine(seen))
        x = F.relu(self.middle(x))
        x = F.relu(self.coarse(x))
        x = x + F.relu(self.around(x))
        activity, weight = self.last(x).unbind(1)
        return torch.stack([activity, torch.sigmoid(weight)], 1)


def gains(found: torch.Tensor, strength: torch.Tensor | float = 1.0) -> torch.Tensor:
    """(B, 2, h, w) of the network, or of the rule -> (B, h, w) gains in octaves."""
    activity, weight = found.unbind(1)
    mean = (activity * weight).sum((1, 2), keepdim=True) / weight.sum((1, 2), keepdim=True).clamp(min=1e-6)
    return (strength * (mean - activity)).clamp(-LARGEST, LARGEST)


def ruled(found: torch.Tensor, strength: torch.Tensor | float) -> torch.Tensor:
    """Gains of the rule (coder.py): its strength (B,) falls with the share of the picture that is flat."""
    return gains(found, (strength * found[:, 1].mean((1, 2))).view(-1, 1, 1))
