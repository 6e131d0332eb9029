"""Pretraining by a stack of restricted Boltzmann machines (Salakhutdinov, Hinton 2007, section 3): a task of its own,
whose checkpoint a dense encoder (encoders.py) starts from.

The gradient of the mean of F(x) - F(x~), with x~ what one Gibbs step makes of x, is that of contrastive divergence (Eq.
11): F(x) = -log sum_h exp(-E(x, h)) is the free energy. Samples x~ are constants to it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from nestcast_research.data import labelled
from nestcast_research.settings import BoltzmannSettings
from nestcast_train.settings import Phase


class Stack(nn.Module):
    """Machine i has widths[i] visible units, binary, and widths[i + 1] hidden ones: binary (Eq. 7, 8), of the last
    Gaussian of variance 1 (Eq. 12, 13 with the roles of h and x reversed)."""

    def __init__(self, settings: BoltzmannSettings):
        super().__init__()
        self.settings = settings
        pairs = list(zip(settings.widths, settings.widths[1:]))
        self.weights = nn.ParameterList(settings.deviation * torch.randn(b, a) for a, b in pairs)
        self.biases = nn.ParameterList(torch.zeros(b) for _, b in pairs)
        self.up_biases = nn.ParameterList(torch.zeros(a) for a, _ in pairs)

    def hidden(self, machine: int, x: torch.Tensor) -> torch.Tensor:
        """(B, visible) -> (B, hidden): probabilities of binary units, means of Gaussian ones."""
        sums = F.linear(x, self.weights[machine], self.biases[machine])
        return sums if self.gaussian(machine) else sums.sigmoid()

    def features(self, machine: int, x: torch.Tensor) -> torch.Tensor:
        """What a machine has for data, (B, widths[0]) -> (B, widths[machine]): probabilities of the units of those
        below."""
        for below in range(machine):
            x = self.hidden(below, x)
        return x

    def gaussian(self, machine: int) -> bool:
        return machine + 1 == len(self.weights)

    def free_energy(self, machine: int, x: torch.Tensor) -> torch.Tensor:
        """(B, visible) -> (B,), up to a constant."""
        sums = F.linear(x, self.weights[machine], self.biases[machine])
        summed_out = sums.square() / 2 if self.gaussian(machine) else F.softplus(sums)
        return -x @ self.up_biases[machine] - summed_out.sum(1)

    @torch.no_grad()
    def gibbs(self, machine: int, x: torch.Tensor) -> torch.Tensor:
        """One step, x -> h -> x~: h is sampled, x~ are probabilities."""
        hidden = self.hidden(machine, x)
        sampled = hidden + torch.randn_like(hidden) if self.gaussian(machine) else torch.bernoulli(hidden)
        return F.linear(sampled, self.weights[machine].t(), self.up_biases[machine]).sigmoid()


class Task:
    """A phase trains one machine, `stage` its number; those below it are fixed."""

    def __init__(self, settings: BoltzmannSettings, folder: Path | None):
        self.settings = settings
        self.data = labelled.load(settings.data, folder)
        self.model = Stack(settings)

    def groups(self) -> list[dict]:
        parts = zip(self.model.weights, self.model.biases, self.model.up_biases)
        rates = [self.settings.learning_rate] * (len(self.model.weights) - 1) + [self.settings.gaussian_rate]
        return [
            {"name": str(i), "params": list(part), "base": rate} for i, (part, rate) in enumerate(zip(parts, rates))
        ]

    def trained(self, stage: str) -> tuple[str, ...]:
        return (stage,)

    def batch(self, step: int) -> torch.Tensor:
        random = np.random.default_rng([self.settings.seed, step])
        return self.data.training[random.integers(0, len(self.data.training), self.settings.batch)]

    def loss(self, batch: torch.Tensor, phase: Phase) -> torch.Tensor:
        machine = int(phase.stage)
        with torch.no_grad():
            x = self.model.features(machine, batch)
        energy = (
            self.model.free_energy(machine, x) - self.model.free_energy(machine, self.model.gibbs(machine, x))
        ).mean()
        return energy + self.settings.decay / 2 * self.model.weights[machine].square().sum()

    def before_step(self) -> None: ...

    def after_step(self) -> None: ...

    @torch.no_grad()
    def validate(self, model: nn.Module) -> list[dict]:
        """Squared error of one Gibbs step on held-out pictures, by machine, as a share of the variance."""
        rows = []
        for machine in range(len(model.weights)):
            x = model.features(machine, self.data.held_out)
            error = (model.gibbs(machine, x) - x).square().sum() / (x - x.mean(0)).square().sum()
            rows.append({"machine": machine, "error": round(error.item(), 4)})
        return rows

    def begin(self, start: dict) -> None:
        self.model.load_state_dict(start["model"])

    def state(self) -> dict:
        return {}

    def load_state(self, saved: dict) -> None: ...

    def export(self, model: nn.Module, out: Path) -> None:
        """Nothing: encoders start from the checkpoint."""
