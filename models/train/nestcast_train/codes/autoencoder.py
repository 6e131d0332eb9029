"""Autoencoders of vectors under nested dropout: the paper's own models (Rippel, Gelbart and Adams, 2014).

    y (B, D) -> W1 -> ReLU -> ... -> Wn -> [threshold] -> code (B, K) -> cut after b -> ... -> y (B, D)
     \\- - - - - - skip - - - - - -/                                     \\- - - skip - - -/

Tied: the decoder's weights are the encoder's, transposed (section 4.3). Not tied, with one layer and no threshold, it
is the semi-linear autoencoder of section 3. The paper has neither the linear layers `skip` in parallel to the hidden
ones and gains, by which the decoder multiplies each unit, since the first are worth a hundred times the last.
"""

from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from torch import nn

from nestcast_train.codes.nested import Binarise, truncate
from nestcast_train.settings import AutoencoderSettings

START_GAIN = 0.3


class Autoencoder(nn.Module):
    def __init__(self, settings: AutoencoderSettings):
        super().__init__()
        self.settings = settings
        widths = settings.widths
        pairs = list(itertools.pairwise(widths))
        self.weights = nn.ParameterList(torch.randn(b, a) / a**0.5 for a, b in pairs)
        self.up_weights = nn.ParameterList([] if settings.tied else [torch.randn(b, a) / b**0.5 for a, b in pairs])
        self.biases = nn.ParameterList(torch.zeros(b) for _, b in pairs)
        self.up_biases = nn.ParameterList(torch.zeros(a) for a, _ in pairs)
        self.dropout = nn.Dropout(settings.hidden_dropout)
        self.binarise = Binarise(widths[-1], settings.beta) if settings.beta else nn.Identity()
        self.gains = nn.Parameter(torch.full(widths[-1:], START_GAIN).log()) if settings.gain_rate else None
        skips = 2 if settings.skip else 0  # the encoder's and the decoder's
        self.skips = nn.ParameterList(torch.randn(widths[-1], widths[0]) / widths[0] ** 0.5 for _ in range(skips))

    def activations(self, y: torch.Tensor) -> torch.Tensor:
        """The code before its threshold, (B, D) -> (B, K)."""
        beside = F.linear(y, self.skips[0]) if self.skips else 0
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases)):
            y = F.linear(y, weight, bias)
            if i + 1 < len(self.weights):
                y = self.dropout(F.relu(y))
        return y + beside

    def coding_layers(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Weight and bias of each layer from the input to the code, whose bits are 1 above 0."""
        *inner, last = zip(self.weights, self.biases)
        return [*inner, (last[0], last[1] - self.binarise.threshold)]

    def encode(self, y: torch.Tensor) -> torch.Tensor:
        """(B, D) -> (B, K): a binary unit is 1 - beta or -beta, so that its mean is 0, which is what a dropped unit is
        worth."""
        return self.binarise(self.activations(y)) - self.settings.beta

    @torch.no_grad()
    def calibrate(self, y: torch.Tensor) -> None:
        """Fixes the thresholds of a binary code at the quantiles of what `y` (B, D), a sample of the data, is encoded
        to."""
        if self.settings.beta:
            self.eval().binarise.calibrate(self.activations(y))

    def decode(self, code: torch.Tensor) -> torch.Tensor:
        """A code (B, K), cut or whole -> (B, D)."""
        code = code if self.gains is None else code * self.gains.exp()
        beside = code @ self.skips[1] if self.skips else 0
        layers = list(zip(self.up_weights if len(self.up_weights) else self.weights, self.up_biases))
        for i, (weight, bias) in reversed(list(enumerate(layers))):
            code = F.linear(code, weight.t(), bias)
            if i > 0:
                code = self.dropout(F.relu(code))
        return code + beside

    def forward(self, y: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """The reconstruction of the b-truncations, Equation 1; lengths: (B,)."""
        return self.decode(truncate(self.encode(y), lengths))

    def unit_weights(self) -> list[torch.Tensor]:
        """Parameters with a row for every unit of the code."""
        decoder = [
            *([self.up_weights[-1]] if len(self.up_weights) else []),
            *([] if self.gains is None else [self.gains]),
        ]
        return [self.weights[-1], self.biases[-1], *decoder, *self.skips]
