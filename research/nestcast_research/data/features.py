"""Digits as a convolutional network sees them that learned from other pictures, as the paper on Bernoulli latents takes
one that learned from photos: what the second layer of softmax-cifar.toml gives. Its training had the classes of
CIFAR-10's pictures and saw no digit."""

from __future__ import annotations

import functools

import torch
import torch.nn.functional as F

from nestcast_research import stored
from nestcast_research.data.mnist import DIGIT
from nestcast_research.learning.encoders import ENCODED, Embedding
from nestcast_research.places import SETTINGS
from nestcast_train.codes.pictures import SIDE
from nestcast_train.settings import load
from nestcast_train.slim import read_weights

NETWORK = "softmax-cifar"
# of three: after each, ITQ's codes of 32 bits rank held-out digits with a MAP of 0.52, 0.49 and, of the hidden units,
# 0.36; pixels 0.45
LAYERS = 2
BORDER = (SIDE - DIGIT) // 2


@functools.cache
def network() -> Embedding:
    model = Embedding(load(SETTINGS / f"{NETWORK}.toml"))
    model.load_state_dict(read_weights(stored.weights(f"{NETWORK}-{model.settings.widths[-1]}")))
    return model.eval()


@torch.no_grad()
def features(digits: torch.Tensor) -> torch.Tensor:
    """Samples (N, 784) of 0..1 to (N, 2048) in -1..1; a digit gets a black border, and all three planes are the
    same."""
    found = []
    for part in digits.split(ENCODED):
        pictures = F.pad(part.view(-1, 1, DIGIT, DIGIT), [BORDER] * 4).expand(-1, 3, -1, -1)
        found.append(network().encoder.convolved(pictures.flatten(1), LAYERS).flatten(1))
    return torch.cat(found)
