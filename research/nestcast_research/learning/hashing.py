"""The task of variational autoencoders for hashing (variational.py): their bound, and how well the bits find classes
they never saw."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import nn

from nestcast_research.data import labelled
from nestcast_research.learning.variational import VariationalAutoencoder
from nestcast_research.measuring import ranking
from nestcast_research.settings import HashingSettings
from nestcast_train.codes import vectors
from nestcast_train.codes.vectors import law
from nestcast_train.settings import Phase
from nestcast_train.slim import write_weights

SEARCHED, ASKED = 10_000, 500  # pictures of a validation


class Task:
    """Minimises the squared error and the divergence: the bound of a model whose reconstruction has normal noise of
    `variance`, times that."""

    kind = VariationalAutoencoder

    def __init__(self, settings: HashingSettings, folder: Path | None):
        self.settings = settings
        near = settings.data == "near-duplicates"
        self.data = (
            vectors.load(settings.data, folder, settings.axes)
            if near
            else labelled.load(settings.data, folder, settings.axes)
        )
        self.model = self.kind(settings)
        self.law = law(settings)

    def groups(self) -> list[dict]:
        return [{"name": "all", "params": list(self.model.parameters()), "base": self.settings.learning_rate}]

    def trained(self, stage: str) -> tuple[str, ...]:
        return ("all",)

    def batch(self, step: int) -> tuple[torch.Tensor, torch.Tensor, float]:
        """The vectors to encode and to reconstruct, (B, D) each, and the temperature of the step."""
        random = np.random.default_rng([self.settings.seed, step])
        return *self.data.batch(self.settings.batch, random), temperature(self.settings, step)

    def loss(self, batch: tuple[torch.Tensor, torch.Tensor, float], phase: Phase) -> torch.Tensor:
        given, y, temperature_ = batch
        reconstructed, divergence = self.model.train()(given, self.law.draw(len(y)), temperature_)
        error = (reconstructed - y).square().sum(1) / 2
        return (error + self.settings.variance * divergence).mean()

    def before_step(self) -> None: ...

    def after_step(self) -> None: ...

    @torch.no_grad()
    def validate(self, model: nn.Module) -> list[dict]:
        """MAP of held-out pictures among training pictures, at code lengths that double; where there are classes."""
        model.eval().calibrate(self.data.training)
        if not isinstance(self.data, labelled.Labelled):
            return [{}]
        codes, asked = model.encode(self.data.training[:SEARCHED]), model.encode(self.data.held_out[:ASKED])
        of = ranking.Collection(self.data.classes[:SEARCHED].numpy(), self.data.held_out_classes[:ASKED].numpy())
        bits = self.settings.widths[-1]
        lengths = [bits] if self.settings.cuts == "whole" else [8 * 2**i for i in range((bits // 8).bit_length())]
        found = ((length, ranking.ranked(codes[:, :length], asked[:, :length], of)) for length in lengths)
        return [
            {"length": length, **{name: round(value, 4) for name, value in measures.items()}}
            for length, measures in found
        ]

    def begin(self, start: dict) -> None:
        self.model.load_state_dict(start["model"])

    def state(self) -> dict:
        return {}

    def load_state(self, saved: dict) -> None: ...

    def export(self, model: nn.Module, out: Path) -> None:
        """Writes the weights in 8 bits."""
        model.calibrate(self.data.training)
        write_weights(out / "weights.npz", {**model.state_dict(), **self.data.frame.state()})


def temperature(settings: HashingSettings, step: int) -> float:
    """The temperature of a step, from the first to the last of `temperatures`, by the same factor each step."""
    first, last = settings.temperatures
    return first * (last / first) ** min(1.0, step / max(1, settings.steps - 1))
