"""The codec as a differentiable model: a wavelet core with two learned corrections that start at zero.

    RGB -> axes   -> planes --+-----------------+-> wavelet -> rotation -> / steps -> Levels (any cut)
                              +-> analysis net -+                                        |
    RGB <- axes   <- planes <-+-----------------+<- wavelet <- rotation <- * steps <-----+
             (linear)         +-> synthesis net +   (deep = linear + correction at the cut)

A cut is one number, t, in bit planes: at t = 3.0 every pass down to plane 3 has arrived, at 2.4 also 60 % of the passes
of plane 2. Passes are (plane, pass, subband), as in spec/bitstream.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

from nestcast_train.data import rotations
from nestcast_train.photo import wavelet
from nestcast_train.photo.rate import Scale, laplace_bits
from nestcast_train.settings import PhotoSettings

SIDE = 4  # of a block of pixels, the networks' finest resolution
CHANNELS = 3 * SIDE**2
PLANE_SCALE = math.sqrt(3)  # so that the plane of grey is the mean of red, green and blue
INPUT_SCALE = 64.0  # planes are divided by this before a network
ANALYSIS_SCALE = 1.0  # the analysis network's output is multiplied by this
SYNTHESIS_SCALE = 0.25  # and the synthesis network's by this share of the cut's quantiser step
CUT_SCALE = 8.0
PASSES = 3  # of a bit plane: significance propagation, magnitude refinement, cleanup


# Gets every activation of a network with its name, and returns what the network goes on with (quantise.py).
Tap = Callable[[str, torch.Tensor], torch.Tensor]


def untouched(_: str, x: torch.Tensor) -> torch.Tensor:
    return x


class Block(nn.Module):
    """1x1 - 3x3 - 1x1 bottleneck with a residual; the cut scales and shifts its inner channels."""

    def __init__(self, channels: int, cut: int):
        super().__init__()
        inner = channels // 2
        self.reduce = nn.Conv2d(channels, inner, 1)
        self.film = nn.Linear(cut, 2 * inner) if cut else None
        self.spatial = nn.Conv2d(inner, inner, 3, padding=1)
        self.expand = nn.Conv2d(inner, channels, 1)

    def forward(self, x: torch.Tensor, cut: torch.Tensor | None, tap: Tap = untouched, name: str = "") -> torch.Tensor:
        y = self.reduce(x)
        if self.film is not None:
            scale, shift = self.film(cut).unsqueeze(2).unsqueeze(3).chunk(2, dim=1)
            y = y * (1 + scale) + shift
        y = tap(f"{name}.reduce", F.relu(y))
        y = tap(f"{name}.spatial", F.relu(self.spatial(y)))
        return tap(name, x + tap(f"{name}.expand", self.expand(y)))


class Correction(nn.Module):
    """A U-shaped network at 1/4, 1/8 and 1/16 resolution: planes (B, 3, H, W) -> correction, same shape.

    H and W are multiples of 16. `cut` (B,) is t above; None for the analysis, which serves every cut. `of_blocks` is
    exported: blocks of 4 by 4 pixels, component by component and row by row, 48 channels.
    """

    def __init__(self, channels: tuple[int, int, int], blocks: tuple[int, int, int], step: float, cut: bool):
        super().__init__()
        self.step = step
        a, b, c = channels
        width = 32 if cut else 0
        self.embed = nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU()) if cut else None
        self.head = nn.Conv2d(CHANNELS, a, 3, padding=1)
        self.fine_in = nn.ModuleList(Block(a, width) for _ in range(blocks[0]))
        self.down_b = nn.Conv2d(a, b, 2, stride=2)
        self.middle_in = nn.ModuleList(Block(b, width) for _ in range(blocks[1]))
        self.down_c = nn.Conv2d(b, c, 2, stride=2)
        self.coarse = nn.ModuleList(Block(c, width) for _ in range(blocks[2]))
        self.up_b = nn.Conv2d(c, 4 * b, 1)
        self.middle_out = nn.ModuleList(Block(b, width) for _ in range(blocks[1] - 1))
        self.up_a = nn.Conv2d(b, 4 * a, 1)
        self.fine_out = nn.ModuleList(Block(a, width) for _ in range(blocks[0]))
        self.tail = nn.Conv2d(a, CHANNELS, 3, padding=1)
        nn.init.zeros_(self.tail.weight)
        nn.init.zeros_(self.tail.bias)

    def output_scale(self, cut: torch.Tensor | None):
        """What is missing at a cut is in proportion to its quantiser step."""
        if cut is None:
            return ANALYSIS_SCALE
        return (SYNTHESIS_SCALE * self.step * torch.exp(cut * math.log(2))).view(-1, 1, 1, 1)

    def forward(self, planes: torch.Tensor, cut: torch.Tensor | None = None, tap: Tap = untouched) -> torch.Tensor:
        return F.pixel_shuffle(self.of_blocks(F.pixel_unshuffle(planes, SIDE), cut, tap), SIDE)

    def of_blocks(self, blocks: torch.Tensor, cut: torch.Tensor | None = None, tap: Tap = untouched) -> torch.Tensor:
        """(B, 48, H/4, W/4) -> correction of the same shape."""
        e = self.embed(cut.view(-1, 1) / CUT_SCALE) if self.embed is not None else None

        def through(stage: str, x: torch.Tensor) -> torch.Tensor:
            for i, block in enumerate(getattr(self, stage)):
                x = block(x, e, tap, f"{stage}.{i}")
            return x

        x = tap("head", self.head(tap("blocks", blocks) / INPUT_SCALE))  # (B, a, H/4, W/4)
        x = through("fine_in", x)
        y = through("middle_in", tap("down_b", self.down_b(x)))  # (B, b, H/8, W/8)
        z = through("coarse", tap("down_c", self.down_c(y)))  # (B, c, H/16, W/16)
        y = through("middle_out", tap("sum_b", y + F.pixel_shuffle(tap("up_b", self.up_b(z)), 2)))
        x = through("fine_out", tap("sum_a", x + F.pixel_shuffle(tap("up_a", self.up_a(y)), 2)))
        return tap("tail", self.tail(x)) * self.output_scale(cut)


def separable(planes: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """Both axes of planes (B, 3, n, n) times the matrix (n, n)."""
    across = F.linear(planes.contiguous(), matrix)
    return F.linear(across.transpose(2, 3).contiguous(), matrix).transpose(2, 3)


def rotated(details: torch.Tensor, rotation: torch.Tensor) -> torch.Tensor:
    """The components of details (B, 9, h, w) rotated together by (B, 3, 3); by its transpose, back."""
    return (rotation @ details.reshape(len(details), 3, -1)).view_as(details)


def start_steps(settings: PhotoSettings) -> list[torch.Tensor]:
    """Logarithms of the subbands' steps before training: equal errors in pixels. Level 0 is the finest, the last is
    LL."""
    norms = wavelet.norms_1d(settings.levels)
    bands = [torch.tensor([high * low, low * high, high * high]) for low, high in norms]
    low = norms[-1][0]
    bands.append(torch.tensor([low * low]))
    return [(settings.step / (PLANE_SCALE * norm)).log().repeat(3) for norm in bands]


class Codec(nn.Module):
    """Both transforms, the quantiser and the rate model."""

    def __init__(self, settings: PhotoSettings):
        super().__init__()
        self.settings = settings
        levels = settings.levels
        self.subbands = 3 + 9 * levels
        self.taps = nn.Parameter(wavelet.start_taps(levels))
        self.analysis = Correction(settings.analysis_channels, settings.analysis_blocks, settings.step, cut=False)
        self.synthesis = Correction(settings.synthesis_channels, settings.synthesis_blocks, settings.step, cut=True)
        self.log_steps = nn.ParameterList(start_steps(settings))
        self.offsets = nn.ParameterList(  # reconstruction point inside a bin, per subband and plane
            torch.full((len(steps), settings.planes + 1), 0.45) for steps in self.log_steps
        )
        self.scales = nn.ModuleList([Scale(9, level + 1 < levels) for level in range(levels)] + [Scale(3, False)])

    # Colour and wavelet.

    @staticmethod
    def to_planes(rgb: torch.Tensor, axes: torch.Tensor) -> torch.Tensor:
        """axes (B, 3, 3): rows orthonormal, the directions in RGB of the three planes (axes.py)."""
        return torch.einsum("bij,bjhw->bihw", axes, rgb - 128) / PLANE_SCALE

    @staticmethod
    def to_rgb(planes: torch.Tensor, axes: torch.Tensor) -> torch.Tensor:
        return torch.einsum("bij,bihw->bjhw", axes, planes) * PLANE_SCALE + 128

    def forward_wavelet(self, planes: torch.Tensor, rotation: torch.Tensor):
        """planes (B, 3, n, n), rotation (B, 3, 3) -> details per level (B, 9, n/2, n/2), ..., LL (B, 3, m, m); in
        steps."""
        out, low, inverses = [], planes, []
        for level in range(self.settings.levels):
            n = low.shape[-1]
            matrix = wavelet.matrix(n, self.taps[level])
            inverses.append(torch.linalg.inv(matrix))
            all_bands = separable(low, matrix)
            h = n // 2
            low = all_bands[:, :, :h, :h]
            bands = (all_bands[:, :, :h, h:], all_bands[:, :, h:, :h], all_bands[:, :, h:, h:])
            details = torch.stack(bands, 2).flatten(1, 2)  # (B, comp*3+band, h, h)
            if level < rotations.LEVELS:
                details = rotated(details, rotation)
            out.append(details / self.log_steps[level].exp().view(1, -1, 1, 1))
        out.append(low / self.log_steps[-1].exp().view(1, -1, 1, 1))
        return out, inverses

    def inverse_wavelet(self, coefficients, inverses, rotation: torch.Tensor) -> torch.Tensor:
        low = coefficients[-1] * self.log_steps[-1].exp().view(1, -1, 1, 1)
        for level in reversed(range(self.settings.levels)):
            details = coefficients[level] * self.log_steps[level].exp().view(1, -1, 1, 1)
            if level < rotations.LEVELS:
                details = rotated(details, rotation.mT)
            hl, lh, hh = details.unflatten(1, (3, 3)).unbind(2)
            rows = torch.cat([torch.cat([low, hl], 3), torch.cat([lh, hh], 3)], 2)
            low = separable(rows, inverses[level])
        return low

    # Quantiser and rate at a cut.

    def first_subband(self, level: int) -> int:
        """Index of a level's first subband in the order of the stream: LL, then coarse to fine."""
        return 0 if level == self.settings.levels else 3 + 9 * (self.settings.levels - 1 - level)

    def quantise(self, level, y, parent, cut, rate: bool):
        """One level at its cut: (reconstruction, bits per example, magnitudes for the children)."""
        count, b = y.shape[1], y.shape[0]
        plane = cut.floor()
        position = (1 - (cut - plane)) * PASSES * self.subbands  # passes of this plane that arrived
        subband = torch.arange(count, device=y.device) + self.first_subband(level)
        done = torch.floor((position[:, None] - subband + self.subbands - 1) / self.subbands).clamp(0, PASSES)
        done = done.view(b, count, 1, 1)  # passes done, per subband
        fine = torch.exp2(plane).view(b, 1, 1, 1)
        a = y.detach().abs()
        coarse_level = torch.floor(a / (2 * fine))
        around = F.max_pool2d((coarse_level > 0).float(), 3, 1, 1)
        turn = torch.where(coarse_level > 0, 2.0, torch.where(around > 0, 1.0, 3.0))  # pass 1..3
        arrived = done >= turn
        step = torch.where(arrived, fine, 2 * fine)
        magnitude = torch.floor(a / step)
        offset = self.offset(level, plane, arrived)
        point = torch.where(magnitude > 0, (magnitude + offset.detach()) * step, 0.0) * y.sign()
        slack = (offset - offset.detach()) * step * y.detach().sign() * (magnitude > 0)
        quantised = y + (point - y).detach() + slack
        if not rate:
            return quantised, 0, None
        causal = torch.floor(a / step) * step  # what later symbols know of this one
        later = torch.floor(a / (2 * step)) * 2 * step  # and earlier ones, a plane later
        scale = self.scales[level](causal / step, later / step, None if parent is None else parent / step)
        bits = laplace_bits(y / step, scale + 1e-3)
        return quantised, bits.sum((1, 2, 3)), causal

    def offset(self, level, plane, arrived):
        """Reconstruction offsets (B, subbands, h, w) for the plane each coefficient stands at."""
        table = self.offsets[level]  # (subbands, planes + 1)
        top = table.shape[1] - 1
        at = table[:, plane.long().clamp(max=top)].t()[:, :, None, None]
        above = table[:, (plane.long() + 1).clamp(max=top)].t()[:, :, None, None]
        return torch.where(arrived, at, above)

    def forward(
        self,
        rgb: torch.Tensor,
        axes: torch.Tensor,
        rotation: torch.Tensor,
        cut: torch.Tensor,
        networks: tuple[str, ...],
        rate: bool = True,
    ):
        """rgb (B, 3, n, n), axes and rotation (B, 3, 3), cut (B,) -> (linear, deep) pictures, bits per example (B,), 0
        without `rate`.

        networks: those of "analysis" and "synthesis" that take part; without them it is the linear codec.
        """
        planes = self.to_planes(rgb, axes)
        if "analysis" in networks:
            planes = planes + self.analysis(planes)
        coefficients, inverses = self.forward_wavelet(planes, rotation)
        out, bits, parent = [None] * len(coefficients), 0, None
        for level in reversed(range(len(coefficients))):
            out[level], cost, known = self.quantise(level, coefficients[level], parent, cut, rate)
            bits = bits + cost
            if rate and 0 < level < self.settings.levels:
                parent = known.repeat_interleave(2, 2).repeat_interleave(2, 3)
        linear = self.inverse_wavelet(out, inverses, rotation)
        deep = linear + self.synthesis(linear, cut) if "synthesis" in networks else linear
        return self.to_rgb(linear, axes), self.to_rgb(deep, axes), bits
