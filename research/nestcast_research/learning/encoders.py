"""Encoders whose codes are compared by distance: the dense one of Salakhutdinov and Hinton (2007), the convolutional
one of Ren, Yu, Zhang and Huang (2014), and what makes bits of either."""

from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from torch import nn

from nestcast_research.settings import EmbeddingSettings
from nestcast_train.codes.nested import Binarise

CHANNELS, FILTER = 32, 5  # Ren et al., section IV.A
ENCODED = 2000  # pictures at a time


class Dense(nn.Module):
    """Hidden layers, logistic or rectified, and linear code units; unrolled (figure 3), the way back with weights of
    its own."""

    def __init__(self, settings: EmbeddingSettings):
        super().__init__()
        pairs = list(zip(settings.widths, settings.widths[1:]))
        self.activation = {"logistic": torch.sigmoid, "rectified": F.relu}[settings.activation]
        self.weights = nn.ParameterList(torch.randn(b, a) * (2 / a) ** 0.5 for a, b in pairs)
        self.biases = nn.ParameterList(torch.zeros(b) for _, b in pairs)
        unrolled = pairs if settings.reconstruction else []
        self.up_weights = nn.ParameterList(torch.randn(b, a) / b**0.5 for a, b in unrolled)
        self.up_biases = nn.ParameterList(torch.zeros(a) for a, _ in unrolled)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, D) -> (B, K)."""
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases)):
            x = F.linear(x if i == 0 else self.activation(x), weight, bias)
        return x

    def decode(self, code: torch.Tensor) -> torch.Tensor:
        """(B, K) -> (B, D): logits of samples in 0..1."""
        for i in reversed(range(len(self.up_weights))):
            code = F.linear(code, self.up_weights[i].t(), self.up_biases[i])
            code = self.activation(code) if i else code
        return code

    def begin(self, machines: dict[str, torch.Tensor]) -> None:
        """Unrolls a stack of Boltzmann machines (boltzmann.py) of the same widths, but for a wider code: its further
        units stay as they are."""
        with torch.no_grad():
            for i, weight in enumerate(self.weights):
                pretrained = machines[f"weights.{i}"]
                weight[: len(pretrained)] = pretrained
                self.biases[i][: len(pretrained)] = machines[f"biases.{i}"]
                if len(self.up_weights):
                    self.up_weights[i].copy_(weight)
                    self.up_biases[i].copy_(machines[f"up_biases.{i}"])

    @torch.no_grad()
    def scale(self, factor: float) -> None:
        """Multiplies the code, and divides by as much on the way back."""
        self.weights[-1] *= factor
        self.biases[-1] *= factor
        if len(self.up_weights):
            self.up_weights[-1] /= factor


class Convolutional(nn.Module):
    """Three times 32 filters of 5x5 and max pooling of 3x3 by steps of 2, then two dense layers, with tanh after each
    but the last; `widths` are the input's, the hidden layer's and the code's. Pictures are square, of 1 or 3 planes."""

    def __init__(self, settings: EmbeddingSettings):
        super().__init__()
        inputs, hidden, units = settings.widths
        self.planes = 3 if inputs % 3 == 0 else 1
        self.side = round((inputs / self.planes) ** 0.5)
        last = self.side
        for _ in range(3):
            last = -(-last // 2)
        channels = [self.planes, CHANNELS, CHANNELS, CHANNELS]
        self.filters = nn.ModuleList(
            nn.Conv2d(a, b, FILTER, padding=FILTER // 2) for a, b in itertools.pairwise(channels)
        )
        self.hidden = nn.Linear(CHANNELS * last**2, hidden)
        self.code = nn.Linear(hidden, units)
        self.to(memory_format=torch.channels_last)  # twice as fast

    def convolved(self, x: torch.Tensor, layers: int = 3) -> torch.Tensor:
        """(B, D) -> (B, 32, S, S): after `layers` of the layers with filters, in -1..1."""
        x = x.view(-1, self.planes, self.side, self.side) - 0.5
        for layer in self.filters[:layers]:
            x = F.max_pool2d(
                layer(x), 3, stride=2, padding=1
            ).tanh()  # the same as of tanh, because that rises; a quarter of the work
        return x

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, D) -> (B, K)."""
        return self.code(self.hidden(self.convolved(x).flatten(1)).tanh())


NETWORKS = {"dense": Dense, "convolutional": Convolutional}


class Embedding(nn.Module):
    """An encoder, real or with bits, and, for the softmax rival, a classifier after it."""

    def __init__(self, settings: EmbeddingSettings):
        super().__init__()
        if settings.network not in NETWORKS:
            raise SystemExit(f"network = {settings.network!r}: not one of {', '.join(NETWORKS)}")
        self.settings = settings
        self.encoder = NETWORKS[settings.network](settings)
        units = settings.widths[-1]
        self.binarise = Binarise(units, settings.beta) if settings.beta else nn.Identity()
        self.classifier = nn.Linear(units, settings.classes) if settings.objective == "softmax" else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, D) -> (B, K): zeros and ones where `beta` is set; within -1..1 before a classifier."""
        code = self.binarise(self.encoder(x))
        return code.tanh() if self.classifier else code

    def coding_layers(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Weight and bias of each layer of a dense encoder; bits are 1 above 0."""
        *inner, last = zip(self.encoder.weights, self.encoder.biases)
        return [*inner, (last[0], last[1] - self.binarise.threshold)]

    @torch.no_grad()
    def calibrate(self, x: torch.Tensor) -> None:
        """Fixes the thresholds of a binary code at the quantiles of what `x` (N, D) is encoded to. It uses all of
        MNIST: every second digit is fainter, so no sample at even steps would do."""
        if self.settings.beta:
            self.eval().binarise.calibrate(torch.cat([self.encoder(part) for part in x.split(ENCODED)]))
