"""Nested dropout and what belongs to it (Rippel, Gelbart and Adams, 2014, sections 2 and 4).

A code has K units. In every example the units after b are dropped, and b is drawn from p_B. Unit k can rely on the
units before it and on none after it, so the first units matter most.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import nn


class TruncationLaw:
    """p_B: the probability that a code is cut after unit b, b = 1..K."""

    def __init__(self, shares: torch.Tensor):
        """shares: (K,) non-negative, of any sum."""
        self.shares = shares.double() / shares.sum()

    @staticmethod
    def geometric(units: int, rho: float) -> TruncationLaw:
        """p_B(b) = rho^(b-1) (1 - rho), section 2; the share beyond the last unit counts as the whole code."""
        shares = (1 - rho) * rho ** torch.arange(units, dtype=torch.float64)
        shares[-1] = rho ** (units - 1)
        return TruncationLaw(shares)

    @staticmethod
    def log_uniform(units: int) -> TruncationLaw:
        """Every octave of code lengths is as likely as every other."""
        return TruncationLaw((1 + 1 / torch.arange(1, units + 1, dtype=torch.float64)).log())

    @staticmethod
    def uniform(units: int) -> TruncationLaw:
        """Every code length is as likely as every other."""
        return TruncationLaw(torch.ones(units))

    @staticmethod
    def whole(units: int) -> TruncationLaw:
        """No unit is ever dropped: the standard autoencoder (section 2.1)."""
        return TruncationLaw(torch.eye(units)[-1])

    def mixed(self, whole: float) -> TruncationLaw:
        """This law for all but the share `whole` of the codes, which are not cut."""
        shares = (1 - whole) * self.shares
        shares[-1] += whole
        return TruncationLaw(shares)

    def survival(self, swept: int = 0) -> torch.Tensor:
        """(K - swept,): P(b >= k) of the units after the first `swept`, given that one of them is seen."""
        shares = self.shares[swept:]
        return shares.flip(0).cumsum(0).flip(0) / shares.sum()

    def draw(self, count: int, swept: int = 0, generator: torch.Generator | None = None) -> torch.Tensor:
        """(count,) code lengths. Only cuts that keep a unit after the first `swept` are drawn."""
        return swept + 1 + self.shares[swept:].float().multinomial(count, replacement=True, generator=generator)


def truncate(code: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """code (B, K), lengths (B,) -> the b-truncation: the units after each example's length are 0."""
    return code * (torch.arange(code.shape[1]) < lengths[:, None])


class UnitSweep:
    """Unit sweeping, section 4.1: a unit that has converged is fixed, and later units are cut more often.

    A unit has converged when its weights moved by less than `tolerance` of their norm within `window` steps, at the
    latest after `patience` windows.
    """

    def __init__(self, weights: list[torch.Tensor], window: int, tolerance: float, patience: int):
        """weights: (K, ...) each; row k belongs to unit k."""
        self.weights, self.window, self.tolerance, self.patience = weights, window, tolerance, patience
        self.swept, self.steps, self.waited = 0, 0, 0
        self.before = [weight.detach().clone() for weight in weights]
        self.fixed = [weight.detach().clone() for weight in weights]

    @torch.no_grad()
    def after_step(self) -> None:
        """Takes back what the optimiser did to fixed units, and at a window's end fixes what has converged."""
        for weight, fixed in zip(self.weights, self.fixed):
            weight[: self.swept] = fixed[: self.swept]
        self.steps += 1
        if self.steps % self.window:
            return
        self.waited += 1
        while self.swept < len(self.weights[0]) - 1 and (self.waited >= self.patience or self.moved() < self.tolerance):
            for weight, fixed in zip(self.weights, self.fixed):
                fixed[self.swept] = weight[self.swept]
            self.swept += 1
            self.waited = 0
        self.before = [weight.detach().clone() for weight in self.weights]

    def moved(self) -> float:
        """The largest relative change, in this window, of the first unit that is not fixed."""
        pairs = ((weight[self.swept], before[self.swept]) for weight, before in zip(self.weights, self.before))
        return max(((now - then).norm() / then.norm().clamp(min=1e-12)).item() for now, then in pairs)

    def state(self) -> dict:
        return {
            "swept": self.swept,
            "steps": self.steps,
            "waited": self.waited,
            "before": self.before,
            "fixed": self.fixed,
        }

    def load_state(self, state: dict) -> None:
        for name, value in state.items():
            setattr(self, name, value)


@torch.no_grad()
def add_weight_decay(weight: torch.Tensor, ratio: float) -> torch.Tensor:
    """Adaptive L1 weight decay, section 4.2; called between `backward` and the optimiser's step.

    weight: (K, D), row k belongs to unit k. Adds lambda_k sign(weight_k) to its gradient, with lambda_k such that this
    is `ratio` of the norm of the reconstruction's gradient: one lambda for all would be all that late units, rarely
    seen, learn from. Returns the coefficients (K,).
    """
    penalty = weight.sign()
    coefficients = ratio * weight.grad.norm(dim=1) / penalty.norm(dim=1).clamp(min=1e-12)
    weight.grad += coefficients[:, None] * penalty
    return coefficients


class Binarise(nn.Module):
    """Code binarisation, section 4.3: every unit is 1 for a share `beta` of the data, x_k ~ Bern(beta).

    In training the threshold is the quantile of the batch, afterwards the one that `calibrate` found. The gradient
    passes the threshold unchanged where a value is within `WINDOW` deviations of its unit's threshold; values farther
    away would not flip.
    """

    WINDOW = 1.0

    def __init__(self, units: int, beta: float):
        super().__init__()
        self.beta = beta
        self.register_buffer("threshold", torch.zeros(units))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, K) -> zeros and ones of the same shape."""
        if not self.training:
            return (x > self.threshold).to(x.dtype)
        with torch.no_grad():
            threshold = quantile(x, 1 - self.beta)
            spread = self.WINDOW * x.std(0).clamp(min=1e-6)
        bits = (x > threshold).to(x.dtype)
        straight = ((x - threshold) / spread).clamp(-1, 1) / 2
        return bits + straight - straight.detach()

    @torch.no_grad()
    def calibrate(self, x: torch.Tensor) -> None:
        """Fixes the thresholds at the quantiles of x (B, K)."""
        self.threshold.copy_(quantile(x, 1 - self.beta))


def quantile(x: torch.Tensor, share: float) -> torch.Tensor:
    """For every column, the value that a share of the rows does not exceed."""
    place = max(1, round(share * len(x))) - 1
    columns = np.partition(x.t().contiguous().numpy(), place, axis=1)  # Faster than torch.kthvalue.
    return torch.from_numpy(columns[:, place].copy())


def invariance(encode: Callable[[torch.Tensor], torch.Tensor], y: torch.Tensor, moved: torch.Tensor) -> torch.Tensor:
    """Code invariance, Equation 14: how far codes move when inputs (B, D) do, relative to |moved - y|^2. With moved - y
    normal noise it is a stochastic squared norm of the encoder's Jacobian; with near-duplicates it is of what they
    change."""
    change = encode(moved) - encode(y)
    return (change.square().sum(1) / (moved - y).square().sum(1)).mean()


def corrupt(y: torch.Tensor, share: float) -> torch.Tensor:
    """Input corruption, section 4: each element becomes 0 with probability `share`; inputs have zero mean."""
    return y * (torch.rand_like(y) >= share)
