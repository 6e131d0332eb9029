"""The frozen coder of a package on crops of one size, with gains: what a linear decoder has at a cut, and its bits.

As coded/coder.py, but on any device and for many crops at once, and without its order of slices: which coefficients
have come is about right. Bits are those of the rate model (photo/rate.py).
"""

from __future__ import annotations

import dataclasses

import torch
from torch import nn

from nestcast_train.coded.coder import CODE_BLOCK, Tables, first_subband, norms_of_levels
from nestcast_train.data import rotations
from nestcast_train.gains.network import REGION
from nestcast_train.photo.model import PASSES, Codec
from nestcast_train.photo.rate import laplace_bits
from nestcast_train.photo.wavelet import matrix

SCALED = 4  # levels, the finest ones, whose details have gains
COUNTED = 5  # levels, the finest ones, whose details count for the rule (codec/src/subband/activity.rs)
SMOOTH_VARIANCE = 16.0  # of the rule
GROWTH = 3  # coefficients that a pass goes on from those that were significant before it, at most


@dataclasses.dataclass
class Decoded:
    """What a decoder has at a cut."""

    bands: list[torch.Tensor]  # details from the finest level on, and the low band; gains undone, in planes' units
    bits: torch.Tensor  # (B,)
    region_bits: torch.Tensor  # (B, h, w): of the details that have gains


class Coder(nn.Module):
    """Sides of crops are multiples of 64."""

    def __init__(self, codec: Codec, tables: Tables, size: tuple[int, int]):
        """codec: whose rate model is used; steps, taps and offsets are those of the tables."""
        super().__init__()
        self.scales, self.levels, self.subbands = codec.scales, codec.settings.levels, codec.subbands
        for level in range(self.levels + 1):
            first = self.first(level)
            own = slice(first, first + (3 if level == self.levels else 9))
            self.register_buffer(f"steps{level}", torch.from_numpy(tables.steps[own].copy()).view(1, -1, 1, 1))
            self.register_buffer(f"offsets{level}", torch.from_numpy(tables.offsets[own].copy()))
        for axis, n in enumerate(size):
            for level in range(self.levels):
                forward = matrix(n >> level, torch.from_numpy(tables.taps[level]).double())
                self.register_buffer(f"forward{axis}{level}", forward.float())
                self.register_buffer(f"inverse{axis}{level}", torch.linalg.inv(forward).float())

    def first(self, level: int) -> int:
        return 0 if level == self.levels else first_subband(level + 1)

    def step(self, level: int) -> torch.Tensor:
        return getattr(self, f"steps{level}")

    def both(self, planes: torch.Tensor, way: str, level: int) -> torch.Tensor:
        down, across = (getattr(self, f"{way}{axis}{level}") for axis in (0, 1))
        return down @ (planes @ across.t())

    def decompose(self, planes: torch.Tensor, rotation: torch.Tensor) -> list[torch.Tensor]:
        """Planes (B, 3, H, W), rotations (B, H / 32, W / 32, 3, 3) -> details of each level (B, 9, h, w), components by
        bands HL LH HH, from the finest on, and the low band (B, 3, h, w)."""
        out, low = [], planes
        for level in range(self.levels):
            all_bands = self.both(low, "forward", level)
            h, w = (n // 2 for n in low.shape[2:])
            low = all_bands[:, :, :h, :w]
            bands = all_bands[:, :, :h, w:], all_bands[:, :, h:, :w], all_bands[:, :, h:, w:]
            details = torch.stack(bands, 2).flatten(1, 2)
            out.append(rotated(details, rotation) if level < rotations.LEVELS else details)
        return [*out, low]

    def compose(self, bands: list[torch.Tensor], rotation: torch.Tensor) -> torch.Tensor:
        low = bands[-1]
        for level in reversed(range(self.levels)):
            details = rotated(bands[level], rotation.mT) if level < rotations.LEVELS else bands[level]
            hl, lh, hh = details.unflatten(1, (3, 3)).unbind(2)
            rows = torch.cat([torch.cat([low, hl], 3), torch.cat([lh, hh], 3)], 2)
            low = self.both(rows, "inverse", level)
        return low

    @torch.no_grad()
    def code(self, bands: list[torch.Tensor], gains: torch.Tensor, cut: torch.Tensor, priced: bool = True) -> Decoded:
        """What a decoder has at cuts (B,) of `decompose`'s bands with gains (B, H / 32, W / 32) in octaves; without
        `priced` bits are 0."""
        out, parent, bits, regions = [None] * len(bands), None, 0, 0
        for level in reversed(range(len(bands))):
            side, factor = REGION >> (level + 1), 1
            if level < SCALED:
                factor = spread(gains.exp2(), side)
            y = bands[level] / self.step(level) * factor
            step, magnitude, point = self.quantise(level, y, cut)
            out[level] = point / factor * self.step(level)
            if not priced:
                continue
            known = magnitude * step
            later = torch.floor(y.abs() / (2 * step)) * 2
            scale = self.scales[level](magnitude, later, None if parent is None else parent / step)
            cost = laplace_bits(y / step, scale + 1e-3)
            bits = bits + cost.sum((1, 2, 3))
            if level < SCALED:
                regions = regions + by_region(cost, side)
            if 0 < level < self.levels:
                parent = known.repeat_interleave(2, 2).repeat_interleave(2, 3)
        return Decoded(out, bits, regions)

    def quantise(
        self, level: int, y: torch.Tensor, cut: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """As Codec.quantise, with a part of a pass where the cut is: of each coefficient its step, its magnitude in
        steps, and its value."""
        (b, count, h, w), plane = y.shape, cut.floor()
        position = (1 - (cut - plane)) * PASSES * self.subbands
        began = position[:, None] - torch.arange(count, device=y.device) - self.first(level)
        done = torch.where(began > 0, torch.floor(began / self.subbands), -1.0)  # passes before the last one that began
        share = torch.where(done < PASSES, (began - done * self.subbands).clamp(0, 1), 1.0)
        done, share = (part.view(b, count, 1, 1) for part in (done.clamp(max=PASSES), share))
        fine = torch.exp2(plane).view(b, 1, 1, 1)
        a = y.abs()
        above = a >= 2 * fine
        turn = torch.where(above, 1.0, torch.where(near(above, a >= fine), 0.0, 2.0))  # the pass that codes it
        arrived = (turn < done) | (turn == done) & (turns(h, w, y.device) < share)
        step = torch.where(arrived, fine, 2 * fine)
        magnitude = torch.floor(a / step)
        point = torch.where(magnitude > 0, (magnitude + self.offset(level, plane, arrived)) * step, 0.0) * y.sign()
        return step, magnitude, point

    def offset(self, level: int, plane: torch.Tensor, arrived: torch.Tensor) -> torch.Tensor:
        table = getattr(self, f"offsets{level}")  # (subbands, planes)
        at, above = (table[:, (plane.long() + i).clamp(max=table.shape[1] - 1)].t()[:, :, None, None] for i in (0, 1))
        return torch.where(arrived, at, above)

    @torch.no_grad()
    def rule(self, bands: list[torch.Tensor]) -> torch.Tensor:
        """(B, 2, H / 32, W / 32): the activity and the weight of each region that the rule of variance finds. Nothing
        counts as drawn."""
        energy = 0
        for level, (low, high) in enumerate(norms_of_levels()[:COUNTED]):
            low, high = low * low, high * high
            weights = bands[level].new_tensor([low * high, low * high, high * high]).view(1, 3, 1, 1)
            energy = energy + by_region(bands[level][:, :3].square() * weights, REGION >> (level + 1))
        variance = energy / REGION**2
        return torch.stack([0.5 * (variance + SMOOTH_VARIANCE).log2(), variance / (variance + SMOOTH_VARIANCE)], 1)


def near(before: torch.Tensor, now: torch.Tensor) -> torch.Tensor:
    """Which coefficients are next to one that is significant before, or that becomes so in the same pass, whatever
    their order."""
    out = before
    for _ in range(GROWTH):
        out = nn.functional.max_pool2d((before | out & now).float(), 3, 1, 1) > 0
    return out


def turns(height: int, width: int, device: torch.device) -> torch.Tensor:
    """(h, w): the share of a pass's blocks that come before each coefficient's."""
    down, across = (torch.arange(n, device=device) // CODE_BLOCK for n in (height, width))
    blocks = (down[-1] + 1) * (across[-1] + 1)
    return (down[:, None] * (across[-1] + 1) + across) / blocks


def spread(regions: torch.Tensor, side: int) -> torch.Tensor:
    """(B, h, w) -> (B, 1, h * side, w * side)."""
    return regions.repeat_interleave(side, 1).repeat_interleave(side, 2).unsqueeze(1)


def by_region(part: torch.Tensor, side: int) -> torch.Tensor:
    """(B, n, h * side, w * side) -> sums (B, h, w)."""
    return nn.functional.avg_pool2d(part.sum(1, keepdim=True), side)[:, 0] * side**2


def rotated(details: torch.Tensor, rotation: torch.Tensor) -> torch.Tensor:
    """Details (B, 9, h, w) with the components of each region times its matrix."""
    side = details.shape[2] // rotation.shape[1]
    parts = details.unflatten(1, (3, 3)).unflatten(4, (-1, side)).unflatten(3, (-1, side))
    return torch.einsum("brcij,bjkrycx->bikrycx", rotation, parts).reshape(details.shape)
