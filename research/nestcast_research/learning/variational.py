"""Variational autoencoders whose latent variables become bits, and their nested form.

    y (B, D) -> ReLU -> ... -> latent (B, K) -> cut after b -> ReLU -> ... -> y (B, D)

Bernoulli latents (Mena, Nanculef: hashing with a variational autoencoder of Bernoulli latent variables, section 4) are
sampled by the binary concrete relaxation (Maddison, Mnih, Teh 2017, appendix B; Jang, Gu, Poole 2017) at a temperature
that falls; Gaussian ones are those of Chaidaroon and Fang (VDSH, 2017), thresholded at the median. Nested, which no
paper has: in each example the latents after b are dropped (Rippel, Gelbart, Adams 2014, section 2), in the
reconstruction and in the divergence, so that the loss is the bound of a model of b latents.
"""

from __future__ import annotations

import itertools
import math

import torch
import torch.nn.functional as F
from torch import nn

from nestcast_research.settings import HashingSettings
from nestcast_train.codes.nested import quantile, truncate

LEAST = 1e-6  # of a uniform sample's distance to 0 and 1


class Bernoulli:
    """q(z_k = 1 | y) = sigmoid(logit), prior 1/2. A dropped latent is worth 1/2; codes are given less 1/2."""

    numbers = 1  # that the encoder gives for a latent

    def sample(self, numbers: torch.Tensor, temperature: float) -> torch.Tensor:
        """Logits (B, K) -> relaxed bits less 1/2: sigmoid((logit + log u - log(1 - u)) / temperature), u uniform."""
        uniform = torch.rand_like(numbers).clamp(LEAST, 1 - LEAST)
        return ((numbers + uniform.logit()) / temperature).sigmoid() - 0.5

    def divergence(self, numbers: torch.Tensor) -> torch.Tensor:
        """KL(q || prior) of each latent in nats, (B, K), in closed form: log 2 less the entropy of q."""
        share = numbers.sigmoid()
        entropy = -(share * F.logsigmoid(numbers) + (1 - share) * F.logsigmoid(-numbers))
        return math.log(2) - entropy

    def centre(self, numbers: torch.Tensor) -> torch.Tensor:
        """Logits, which are thresholded, (B, K)."""
        return numbers

    def code(self, bits: torch.Tensor) -> torch.Tensor:
        """Zeros and ones (B, K) as the decoder takes them."""
        return bits - 0.5

    def thresholds(self, centres: torch.Tensor) -> torch.Tensor:
        """0: where a bit is as likely 1 as 0."""
        return torch.zeros(centres.shape[1])


class Gaussian:
    """q(z_k | y) = N(mean, variance), prior N(0, 1). A dropped latent is worth 0."""

    numbers = 2

    def sample(self, numbers: torch.Tensor, temperature: float) -> torch.Tensor:
        """Means and logarithms of variances (B, 2K) -> (B, K); there is no temperature."""
        mean, log_variance = numbers.chunk(2, 1)
        return mean + (log_variance / 2).exp() * torch.randn_like(mean)

    def divergence(self, numbers: torch.Tensor) -> torch.Tensor:
        mean, log_variance = numbers.chunk(2, 1)
        return (mean.square() + log_variance.exp() - 1 - log_variance) / 2

    def centre(self, numbers: torch.Tensor) -> torch.Tensor:
        return numbers.chunk(2, 1)[0]

    def code(self, bits: torch.Tensor) -> torch.Tensor:
        """The means of the halves of N(0, 1)."""
        return (2 * bits - 1) * math.sqrt(2 / math.pi)

    def thresholds(self, centres: torch.Tensor) -> torch.Tensor:
        """(K,): the medians of means (N, K)."""
        return quantile(centres, 0.5)


LATENTS = {"bernoulli": Bernoulli, "gaussian": Gaussian}


class VariationalAutoencoder(nn.Module):
    def __init__(self, settings: HashingSettings):
        super().__init__()
        if settings.latent not in LATENTS:
            raise SystemExit(f"latent = {settings.latent!r}: not one of {', '.join(LATENTS)}")
        self.settings, self.latent = settings, LATENTS[settings.latent]()
        *inner, bits = settings.widths
        down, up = [*inner, self.latent.numbers * bits], [bits, *reversed(inner)]
        self.encoder = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(down))
        self.decoder = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(up))
        self.register_buffer("threshold", torch.zeros(bits))

    def infer(self, y: torch.Tensor) -> torch.Tensor:
        """The numbers of q, (B, D) -> (B, K) or (B, 2K)."""
        return layers(self.encoder, y)

    def decode(self, code: torch.Tensor) -> torch.Tensor:
        """(B, K), cut or whole -> (B, D)."""
        return layers(self.decoder, code)

    def forward(self, y: torch.Tensor, lengths: torch.Tensor, temperature: float) -> tuple[torch.Tensor, torch.Tensor]:
        """The reconstruction (B, D), and the divergence in nats of the latents that are left, (B,); lengths: (B,)."""
        numbers = self.infer(y)
        sampled = truncate(self.latent.sample(numbers, temperature), lengths)
        return self.decode(sampled), truncate(self.latent.divergence(numbers), lengths).sum(1)

    def activations(self, y: torch.Tensor) -> torch.Tensor:
        """Numbers that are above 0 where a bit is 1, (B, D) -> (B, K)."""
        return self.latent.centre(self.infer(y)) - self.threshold

    def coding_layers(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Weight and bias of each layer from the input to the code, whose bits are 1 above 0."""
        units = len(self.threshold)  # the means of Gaussian latents come first
        *inner, last = [(layer.weight, layer.bias) for layer in self.encoder]
        return [*inner, (last[0][:units], last[1][:units] - self.threshold)]

    def encode(self, y: torch.Tensor) -> torch.Tensor:
        """(B, D) -> bits (B, K)."""
        return self.activations(y) > 0

    @torch.no_grad()
    def calibrate(self, y: torch.Tensor) -> None:
        """Fixes the thresholds on `y` (N, D), a sample of the data."""
        self.threshold.copy_(self.latent.thresholds(self.latent.centre(self.infer(y))))


def layers(stack: nn.ModuleList, x: torch.Tensor) -> torch.Tensor:
    for i, layer in enumerate(stack):
        x = layer(x) if i == 0 else layer(F.relu(x))
    return x
