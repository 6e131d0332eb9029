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

from nestcast_train.coded.post_filter import (
    FIRST_LIMIT,
    MAX_CHANGE,
    MOST,
    PHASES,
    PLACES,
    REACH,
    UNIT,
    WIDE,
    PostFilter,
    clip_at,
)


class Filtered(torch.nn.Module):
    """The filter that a package has after its network, without weights."""

    def __init__(self, filters: PostFilter):
        super().__init__()
        self.filters = filters

    def forward(self, planes: torch.Tensor, significant: torch.Tensor, cut: torch.Tensor) -> torch.Tensor:
        """(B, 3, H, W) planes, (B, 3, H / 4, W / 4) of `post_filter.significance`, (B,) cuts -> (B, 3, H, W); sides are
        multiples of 8. On the planes' device."""
        planes = planes.float()
        clips = torch.tensor([clip_at(self.filters.step, one) for one in cut.tolist()], device=planes.device)
        clips = clips.view(-1, 1, 1).float()
        with torch.no_grad():
            samples = (planes * UNIT).round().clamp(-MOST, MOST)
            taps = self.taps(filters_of(samples, significant, clips), cut)
        wide = F.pad(planes, (REACH,) * 4, mode="replicate")
        return planes + Change.apply(wide, taps, clips / UNIT)

    def taps(self, numbers: torch.Tensor, cut: torch.Tensor) -> torch.Tensor:
        """(B, 3, H, W) of `filters_of` -> (B, taps of all components, H, W), in the order of `PLACES`."""
        count, _, height, width = numbers.shape
        found = []
        for component, own in enumerate(zip(*(self.filters.at(one) for one in cut.tolist()))):
            table = torch.from_numpy(np.stack(own).astype(np.float32) / 65536).to(numbers.device)  # (B, taps, filters)
            at = numbers[:, component].reshape(count, 1, -1).expand(-1, table.shape[1], -1)
            found.append(table.gather(2, at).view(count, -1, height, width))
        return torch.stack([found[component][:, k] for component, k in itertools.chain(*PLACES.values())], 1)


def filters_of(samples: torch.Tensor, significant: torch.Tensor, clip: torch.Tensor) -> torch.Tensor:
    """(B, 3, H, W): which of the filters is a sample's, as `PostFilter.numbers`. samples: whole numbers, clip: (B, 1,
    1)."""
    wide = F.pad(samples, (WIDE,) * 4, mode="replicate")
    h, v, d, e = (change(wide, *way) for way in ((0, 1), (1, 0), (1, 1), (1, -1)))
    limits = FIRST_LIMIT * clip[..., None] * 2.0 ** torch.arange(8, device=clip.device)
    activity = ((h + v)[..., None] >= limits[:, None]).sum(-1)
    upright = torch.maximum(h, v) * torch.minimum(d, e) >= torch.maximum(d, e) * torch.minimum(h, v)
    most = torch.where(upright, torch.maximum(h, v), torch.maximum(d, e))
    least = torch.where(upright, torch.minimum(h, v), torch.minimum(d, e))
    ways = torch.where(upright, torch.where(h > v, 1, 2), torch.where(d > e, 3, 4))
    direction = torch.where(2 * most > 3 * least, ways, 0)
    blocks = (activity * 5 + direction) * 4 + significant.long()
    rows, columns = (torch.arange(n, device=samples.device) for n in samples.shape[2:])
    return blocks.repeat_interleave(4, 2).repeat_interleave(4, 3) * PHASES + rows[:, None] % 2 * 2 + columns % 2


def change(wide: torch.Tensor, dy: int, dx: int) -> torch.Tensor:
    """(B, 3, H / 4, W / 4): sums of differences over 8 x 8 samples around each block, exact, in doubles."""

    def moved(dy: int, dx: int) -> torch.Tensor:
        height, width = (n - WIDE + REACH for n in wide.shape[2:])
        return wide[:, :, WIDE - REACH + dy : height + dy, WIDE - REACH + dx : width + dx]

    each = (moved(dy, dx) - moved(-dy, -dx)).abs().clamp(max=MAX_CHANGE)
    return F.avg_pool2d(each, 8, 4).double() * 64


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
