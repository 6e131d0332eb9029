"""Autoencoders of vectors under nested dropout: the paper's own models (Rippel, Gelbart and Adams, 2014).

    y (B, D) -> W1 -> ReLU -> ... -> Wn -> [threshold] -> code (B, K) -> cut behind b -> ... -> y (B, D)

Tied: the decoder's weights are the encoder's, transposed (section 4.3). Not tied, with one layer and no threshold, it is the
semi-linear autoencoder of section 3.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from nested import Binarise, truncate
from settings import AutoencoderSettings


class Autoencoder(nn.Module):
    def __init__(self, settings: AutoencoderSettings):
        super().__init__()
        self.settings = settings
        widths = settings.widths
        pairs = list(zip(widths, widths[1:]))
        self.weights = nn.ParameterList(torch.randn(b, a) / a**0.5 for a, b in pairs)
        self.up_weights = nn.ParameterList([] if settings.tied else [torch.randn(b, a) / b**0.5 for a, b in pairs])
        self.biases = nn.ParameterList(torch.zeros(b) for _, b in pairs)
        self.up_biases = nn.ParameterList(torch.zeros(a) for a, _ in pairs)
        self.dropout = nn.Dropout(settings.hidden_dropout)
        self.binarise = Binarise(widths[-1], settings.beta) if settings.beta else nn.Identity()

    def activations(self, y: torch.Tensor) -> torch.Tensor:
        """The code before its threshold, (B, D) -> (B, K)."""
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases)):
            y = F.linear(y, weight, bias)
            if i + 1 < len(self.weights):
                y = self.dropout(F.relu(y))
        return y

    def encode(self, y: torch.Tensor) -> torch.Tensor:
        return self.binarise(self.activations(y))

    def decode(self, code: torch.Tensor) -> torch.Tensor:
        """A code (B, K), cut or whole -> (B, D)."""
        layers = list(zip(self.up_weights if len(self.up_weights) else self.weights, self.up_biases))
        for i, (weight, bias) in reversed(list(enumerate(layers))):
            code = F.linear(code, weight.t(), bias)
            if i > 0:
                code = self.dropout(F.relu(code))
        return code

    def forward(self, y: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """The reconstruction of the b-truncations, Equation 1; lengths: (B,)."""
        return self.decode(truncate(self.encode(y), lengths))

    def unit_weights(self) -> list[torch.Tensor]:
        """Parameters with a row for every unit of the code."""
        return [self.weights[-1], self.biases[-1], *([self.up_weights[-1]] if len(self.up_weights) else [])]
