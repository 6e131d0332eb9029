"""The post-filter after a network, with its derivative: a network is trained through it.

Taps are constants, classes are those of the samples as they are. A clipped difference has the derivative 0, any other
1. Samples are floats here and not rounded.
"""

from __future__ import annotations

import itertools

import numpy as np
import torch
import torch.nn.functional as F
from torch.autograd.function import FunctionCtx, once_differentiable

from nestcast_train.coded.post_filter import MOST, PLACES, REACH, UNIT, PostFilter, clip_at, padded


class Filtered(torch.nn.Module):
    """The filter that a package has after its network, without weights."""

    def __init__(self, filters: PostFilter):
        super().__init__()
        self.filters = filters

    def forward(self, planes: torch.Tensor, significant: torch.Tensor, cut: torch.Tensor) -> torch.Tensor:
        """(B, 3, H, W) planes, (B, 3, H / 4, W / 4) of `post_filter.significance`, (B,) cuts -> (B, 3, H, W); sides are
        multiples of 8."""
        planes = planes.float()
        clips = [clip_at(self.filters.step, one) for one in cut.tolist()]
        samples = (planes.detach() * UNIT).round().clamp(-MOST, MOST).int().numpy()
        taps = np.empty((len(planes), sum(map(len, PLACES.values())), *planes.shape[2:]), np.float32)
        for one in zip(taps, samples, significant.numpy().astype(np.uint8), clips, cut.tolist()):
            self.take(*one)
        wide = F.pad(planes, (REACH,) * 4, mode="replicate")
        return planes + Change.apply(wide, torch.from_numpy(taps), torch.tensor(clips).view(-1, 1, 1) / UNIT)

    def take(self, taps: np.ndarray, samples: np.ndarray, significant: np.ndarray, clip: int, cut: float) -> None:
        """Fills (taps of all components, H, W), in the order of `PLACES`."""
        numbers = self.filters.numbers(padded(samples), significant, clip)
        own = [one.astype(np.float32) / 65536 for one in self.filters.at(cut)]
        for tap, (component, k) in zip(taps, itertools.chain(*PLACES.values())):
            own[component][k].take(numbers[component], out=tap, mode="clip")  # the usual mode copies


class Change(torch.autograd.Function):
    """What the filter adds to the middle of padded planes.

    With e(p) what the neighbour of p in one direction is above it, clipped, a tap takes e(p) - e(p'), where p' is the
    neighbour on the other side: both differences of a pair are of one array.
    """

    @staticmethod
    def forward(ctx: FunctionCtx, wide: torch.Tensor, taps: torch.Tensor, clip: torch.Tensor) -> torch.Tensor:
        """wide (B, 3, H + 4, W + 4), taps (B, taps, H, W), clip (B, 1, 1) -> (B, 3, H, W)."""
        ctx.save_for_backward(wide, taps, clip)
        out = torch.zeros_like(wide[:, :, REACH:-REACH, REACH:-REACH])
        tap = iter(taps.unbind(1))
        for (source, way), places in PLACES.items():
            each, there = differences(wide[:, source], way, clip)
            both = each[there] - each[moved_back(there, way)]
            for component, _ in places:
                out[:, component].addcmul_(next(tap), both)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        wide, taps, clip = ctx.saved_tensors
        out, tap = torch.zeros_like(wide), iter(taps.unbind(1))
        for (source, way), places in PLACES.items():
            each, there = differences(wide[:, source], way, clip)
            both = sum(next(tap) * gradient[:, component] for component, _ in places)
            of_each = torch.zeros_like(each)
            of_each[there] += both
            of_each[moved_back(there, way)] -= both
            of_each *= each.abs() < clip
            (here, neighbour) = ends(wide[:, source], way)
            out[:, source][neighbour] += of_each
            out[:, source][here] -= of_each
        return out, None, None


def ends(wide: torch.Tensor, way: tuple[int, int]) -> tuple[tuple, tuple]:
    """Slices of (B, H + 4, W + 4): the samples whose neighbour at this offset is inside, and those neighbours."""
    height, width = wide.shape[1:]
    (dy, dx) = way
    rows, columns = (max(-dy, 0), height - max(dy, 0)), (max(-dx, 0), width - max(dx, 0))
    here = ..., slice(*rows), slice(*columns)
    return here, (..., slice(rows[0] + dy, rows[1] + dy), slice(columns[0] + dx, columns[1] + dx))


def differences(wide: torch.Tensor, way: tuple[int, int], clip: torch.Tensor) -> tuple[torch.Tensor, tuple]:
    """Clipped differences of all samples `here` of `ends`, and where in them those of the middle are."""
    here, neighbour = ends(wide, way)
    each = torch.minimum(torch.maximum(wide[neighbour] - wide[here], -clip), clip)
    top, left = (max(-one, 0) for one in way)
    height, width = (n - 2 * REACH for n in wide.shape[1:])
    return each, (..., slice(REACH - top, REACH - top + height), slice(REACH - left, REACH - left + width))


def moved_back(there: tuple, way: tuple[int, int]) -> tuple:
    rows, columns = (slice(part.start - by, part.stop - by) for part, by in zip(there[1:], way))
    return ..., rows, columns
