"""The second synthesis: `Correction`, told what a decoder knows of the details beside the planes they make.

    planes (linear) -> blocks ---------> head +-> fine --> middle --> coarse --> ... -> correction
    of levels 1, 2: significance, width ------+        |          |
    of level 3 -------------------------------1x1------+          |
    of level 4 -------------------------------1x1-----------------+
    cut, shares of significant coefficients -> the scale and shift of every block's inner channels

With the new inputs' weights at zero it is the first synthesis, so a run can start from that.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from coder import SUBBANDS, Known
from model import CUT_SCALE, INPUT_SCALE, SIDE, Correction, Tap, untouched
from settings import RestorerSettings

DETAILS = 9  # bands of a level, of three components
# Significance and width of a level's details, in the blocks that the network has there: 2x2 of level 1 beside 1 of level 2.
FINE, OTHER = 2 * DETAILS * (4 + 1), 2 * DETAILS
MIN_SHARE = 2.0**-12  # of significant coefficients; told as a logarithm
TOLD_SCALE = 12.0


class Restorer(Correction):
    def __init__(self, settings: RestorerSettings):
        super().__init__(settings.channels, settings.blocks, settings.step, cut=True)
        a, b, c = settings.channels
        self.embed[0] = nn.Linear(1 + SUBBANDS, self.embed[0].out_features)
        self.known = nn.ModuleList(nn.Conv2d(n, m, 1, bias=False) for n, m in ((FINE, a), (OTHER, b), (OTHER, c)))
        for layer in self.known:
            nn.init.zeros_(layer.weight)
        nn.init.zeros_(self.embed[0].weight[:, 1:])

    def load_photo(self, weights: dict[str, torch.Tensor]) -> None:
        """Takes the weights of a `Correction`; what it was not told stays at zero."""
        weights = dict(weights)
        weights["embed.0.weight"] = F.pad(weights["embed.0.weight"], (0, SUBBANDS))
        missing, unexpected = self.load_state_dict(weights, strict=False)
        if unexpected or any(not name.startswith("known.") for name in missing):
            raise SystemExit(f"not a first synthesis of this size: {missing}, {unexpected}")

    def restore(self, planes: torch.Tensor, cut: torch.Tensor, told: torch.Tensor, known: list[torch.Tensor]) -> torch.Tensor:
        """planes (B, 3, H, W), cut (B,), told (B, subbands): shares; known: of `maps` -> correction of the planes."""
        return F.pixel_shuffle(self.of_blocks_known(F.pixel_unshuffle(planes, SIDE), cut, told, known), SIDE)

    def of_blocks_known(self, blocks, cut, told, known, tap: Tap = untouched) -> torch.Tensor:
        shares = torch.log2(told + MIN_SHARE) / TOLD_SCALE
        e = self.embed(torch.cat([cut.view(-1, 1) / CUT_SCALE, 1 + shares], 1))

        def through(stage: str, x: torch.Tensor) -> torch.Tensor:
            for i, block in enumerate(getattr(self, stage)):
                x = block(x, e, tap, f"{stage}.{i}")
            return x

        fine, middle, coarse = (layer(tap(f"known.{i}", x)) for i, (layer, x) in enumerate(zip(self.known, known)))
        x = tap("head", self.head(tap("blocks", blocks) / INPUT_SCALE) + fine)
        x = through("fine_in", x)
        y = through("middle_in", tap("down_b", self.down_b(x) + middle))
        z = through("coarse", tap("down_c", self.down_c(y) + coarse))
        y = through("middle_out", tap("sum_b", y + F.pixel_shuffle(tap("up_b", self.up_b(z)), 2)))
        x = through("fine_out", tap("sum_a", x + F.pixel_shuffle(tap("up_a", self.up_a(y)), 2)))
        return tap("tail", self.tail(x)) * self.output_scale(cut)


def maps(details: list[Known]) -> list[torch.Tensor]:
    """What is known of levels 1..4 of one window -> inputs (FINE, H/4, W/4), (OTHER, H/8, W/8), (OTHER, H/16, W/16)."""

    def channels(known: Known) -> torch.Tensor:
        return torch.cat([torch.from_numpy(known.significant).float(), torch.from_numpy(known.width)])

    first, *others = (channels(known) for known in details)
    second, third, fourth = others
    return [torch.cat([F.pixel_unshuffle(first, 2), second]), third, fourth]
