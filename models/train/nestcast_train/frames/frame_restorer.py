"""The network for shown frames of video: `Correction`, with what a decoder knows of a frame as inputs.

    frame after the post-filter,  ---> head -> fine -> middle -> coarse -> ... -> correction
    what the frame adds to its prediction,
    where coefficients are significant
    positions of the shown, enhanced and floor pictures; whether it is a key frame
      -> scale and shift of every block's inner channels, and the scale of the correction

All of it is in blocks of 4 x 4 luma samples with the 2 x 2 of either colour difference at their place: 24 numbers.
"""

from __future__ import annotations

import math

import torch
from torch import nn

from nestcast_train.photo.model import CUT_SCALE, INPUT_SCALE, SIDE, SYNTHESIS_SCALE, Correction, Tap, untouched
from nestcast_train.settings import FrameSettings

LUMA, DIFFERENCE = 16, 4  # samples of a block
SAMPLES = LUMA + 2 * DIFFERENCE
PARTS = {  # of the input: channels, and what they are divided by
    "frame.y": (LUMA, 64.0),
    "frame.u": (DIFFERENCE, 16.0),
    "frame.v": (DIFFERENCE, 16.0),
    "added.y": (LUMA, 8.0),
    "added.u": (DIFFERENCE, 2.0),
    "added.v": (DIFFERENCE, 2.0),
    "significance": (3, 2.0),
}
CHANNELS = sum(count for count, _ in PARTS.values())
TOLD = 4  # positions of the shown, enhanced and floor pictures; 1 for a key frame
TOLD_SCALE = (8.0, 8.0, 8.0, 1.0)
FINER = 1  # planes by which the steps of video are finer than those of photos


class FrameRestorer(Correction):
    def __init__(self, settings: FrameSettings):
        super().__init__(settings.channels, settings.blocks, settings.step, cut=True)
        width = self.embed[0].out_features
        self.embed[0] = nn.Linear(TOLD, width)
        self.head = nn.Conv2d(CHANNELS, settings.channels[0], 3, padding=1)
        self.tail = nn.Conv2d(settings.channels[0], SAMPLES, 3, padding=1)
        self.scale_told, self.scale_embedded = nn.Linear(TOLD, 1), nn.Linear(width, 1, bias=False)
        with torch.no_grad():
            for tensor in (self.tail.weight, self.tail.bias, self.scale_told.weight, self.scale_embedded.weight):
                tensor.zero_()
            # As for photos: in proportion to the quantiser's step.
            self.scale_told.weight[0, 0] = math.log(2) * TOLD_SCALE[0]
            self.scale_told.bias.fill_(math.log(SYNTHESIS_SCALE * settings.step) - FINER * math.log(2))
        self.register_buffer(
            "input_scale", torch.cat([torch.full((count,), scale) for count, scale in PARTS.values()]), persistent=False
        )
        self.register_buffer("told_scale", torch.tensor(TOLD_SCALE), persistent=False)

    def load_photo(self, weights: dict[str, torch.Tensor]) -> None:
        """Takes the weights of a photo model's synthesis of these channels, and as many of its blocks as there are;
        weights of inputs that it did not have stay at zero."""
        own = self.state_dict()
        for name, value in weights.items():
            stage, _, _rest = name.partition(".")
            if stage not in ("head", "tail", "embed") and name in own:
                own[name] = value
        for name in ("embed.0.bias", "embed.2.weight", "embed.2.bias"):
            own[name] = weights[name]
        own["embed.0.weight"] = torch.zeros_like(own["embed.0.weight"])
        own["embed.0.weight"][:, :1] = weights["embed.0.weight"]
        own["embed.0.bias"] = weights["embed.0.bias"] - weights["embed.0.weight"][:, 0] * FINER / CUT_SCALE
        # A sample of a difference stands for four of a photo's.
        luma, *others = weights["head.weight"].unflatten(1, (3, SIDE, SIDE)).unbind(1)
        grouped = [
            luma.flatten(1, 2),
            *(other.unflatten(2, (2, 2)).unflatten(1, (2, 2)).sum((2, 4)).flatten(1, 2) for other in others),
        ]
        taken = torch.cat(grouped, 1)
        own["head.weight"] = torch.zeros_like(own["head.weight"])
        own["head.weight"][:, :SAMPLES] = taken * (self.input_scale[:SAMPLES] / INPUT_SCALE).view(1, -1, 1, 1)
        own["head.bias"] = weights["head.bias"]
        for part in ("tail.weight", "tail.bias"):
            luma, *others = weights[part].unflatten(0, (3, SIDE, SIDE)).unbind(0)
            own[part] = torch.cat(
                [
                    luma.flatten(0, 1),
                    *(other.unflatten(1, (2, 2)).unflatten(0, (2, 2)).mean((1, 3)).flatten(0, 1) for other in others),
                ]
            )
        self.load_state_dict(own)

    def forward(self, blocks: torch.Tensor, told: torch.Tensor, tap: Tap = untouched) -> torch.Tensor:
        """(B, CHANNELS, H/4, W/4), H and W multiples of 16, and (B, TOLD) -> (B, SAMPLES, H/4, W/4), to be added to the
        frame."""
        told = told / self.told_scale
        e = self.embed(told)

        def through(stage: str, x: torch.Tensor) -> torch.Tensor:
            for i, block in enumerate(getattr(self, stage)):
                x = block(x, e, tap, f"{stage}.{i}")
            return x

        x = tap("head", self.head(tap("blocks", blocks) / self.input_scale.view(1, -1, 1, 1)))
        x = through("fine_in", x)
        y = through("middle_in", tap("down_b", self.down_b(x)))
        z = through("coarse", tap("down_c", self.down_c(y)))
        y = through("middle_out", tap("sum_b", y + nn.functional.pixel_shuffle(tap("up_b", self.up_b(z)), 2)))
        x = through("fine_out", tap("sum_a", x + nn.functional.pixel_shuffle(tap("up_a", self.up_a(y)), 2)))
        scale = torch.exp(self.scale_told(told) + self.scale_embedded(e)).float()
        return tap("tail", self.tail(x)).float() * scale.view(-1, 1, 1, 1)
