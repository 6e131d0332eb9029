"""The task of autoencoders (autoencoder.py): vectors of pixels or points, their loss and their validation."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn

from nestcast_train.codes import nested, pictures
from nestcast_train.codes.autoencoder import Autoencoder
from nestcast_train.settings import AutoencoderSettings, NestedSettings, Phase
from nestcast_train.slim import write_weights

HELD_OUT = 500  # vectors at the end, which nothing learns from
DARK = 0.05  # added to a picture's mean where samples are taken relative to it
CALIBRATION = 8192  # training vectors, about, that axes and thresholds are found on


class Frame:
    """Coordinates of vectors: elements, each with mean 0 and variance 1 in training (section 4), or coordinates along
    the leading principal axes, which hold most of the variance in fewer numbers, with mean 0 and variance 1 all
    together."""

    def __init__(
        self, mean: torch.Tensor, deviation: torch.Tensor, basis: torch.Tensor, total: float, relative: bool = False
    ):
        """mean (D,), deviation (A,), basis (A, D) with orthonormal rows or (0, D), where A = D; total: the sum of all
        elements' variances; relative: vectors are divided by their own mean, so that a picture that is lighter is the
        same one."""
        self.mean, self.deviation, self.basis, self.total, self.relative = mean, deviation, basis, total, relative

    @staticmethod
    def of(training: torch.Tensor, axes: int, relative: bool = False) -> Frame:
        training = evened(training) if relative else training
        mean = training.mean(0)
        if not axes:
            return Frame(mean, training.std(0).clamp(min=1e-6), torch.zeros(0, len(mean)), training.var(0).sum().item())
        centred = evenly(training) - mean
        covariance = centred.t() @ centred / len(centred)
        values, directions = torch.linalg.eigh(covariance)
        deviation = values.flip(0)[:axes].mean().sqrt().expand(axes).clone()
        return Frame(mean, deviation, directions.flip(1)[:, :axes].t().contiguous(), values.sum().item(), relative)

    def coordinates(self, vectors: torch.Tensor) -> torch.Tensor:
        centred = (evened(vectors) if self.relative else vectors) - self.mean
        return (centred @ self.basis.t() if len(self.basis) else centred) / self.deviation

    def original(self, coordinates: torch.Tensor) -> torch.Tensor:
        """Relative to its mean, which is lost, where the frame is relative."""
        scaled = coordinates * self.deviation
        return (scaled @ self.basis if len(self.basis) else scaled) + self.mean

    @property
    def importance(self) -> torch.Tensor:
        """(A,): the share of all variance that a coordinate's squared error of 1 is; of elements the mean of their own
        shares."""
        return (
            self.deviation.square() / self.total
            if len(self.basis)
            else torch.full_like(self.deviation, 1 / len(self.deviation))
        )

    def state(self) -> dict[str, torch.Tensor]:
        numbers = {"frame.total": torch.tensor(self.total), "frame.relative": torch.tensor(self.relative)}
        return {"frame.mean": self.mean, "frame.deviation": self.deviation, "frame.basis": self.basis, **numbers}

    @staticmethod
    def from_state(state: dict[str, torch.Tensor]) -> Frame:
        mean, deviation, basis, total = (state[f"frame.{name}"] for name in ("mean", "deviation", "basis", "total"))
        return Frame(mean, deviation, basis, total.item(), bool(state.get("frame.relative", False)))


def evened(vectors: torch.Tensor) -> torch.Tensor:
    """(N, D), samples in 0..1, by their own mean."""
    return vectors / (vectors.mean(1, keepdim=True) + DARK)


def evenly(vectors: torch.Tensor) -> torch.Tensor:
    """About CALIBRATION vectors, evenly from all."""
    return vectors[:: max(1, len(vectors) // CALIBRATION)]


class Vectors:
    """Training and held-out vectors (N, D), in coordinates."""

    def __init__(self, vectors: np.ndarray, axes: int = 0, held_out: np.ndarray | None = None):
        """Without `held_out` these are the last."""
        if held_out is None:
            vectors, held_out = vectors[:-HELD_OUT], vectors[-HELD_OUT:]
        training, held_out = (torch.from_numpy(part.astype(np.float32)) for part in (vectors, held_out))
        self.frame = Frame.of(training, axes)
        self.training, self.held_out = self.frame.coordinates(training), self.frame.coordinates(held_out)

    def batch(self, count: int, random: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """The vectors to encode and to reconstruct, (count, D) each: the same."""
        y = self.training[random.integers(0, len(self.training), count)]
        return y, y


class NearDuplicates(Vectors):
    """Windows of photos relative to their mean: near-duplicates are encoded, and what they were made of is to be
    reconstructed."""

    def __init__(self, folder: Path | None, axes: int):
        if folder is None:
            raise SystemExit("data = 'near-duplicates': name the folder of its photos with --data")
        self.windows = pictures.windows(folder)
        training = pictures.plain(torch.from_numpy(self.windows).float() / 255).flatten(1)
        held_out = torch.from_numpy(pictures.cifar(folder)[0][-HELD_OUT:] / np.float32(255))
        self.frame = Frame.of(training, axes, relative=True)
        self.training, self.held_out = self.frame.coordinates(training), self.frame.coordinates(held_out)

    def batch(self, count: int, random: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        drawn = random.integers(0, len(self.training), count)
        fine = torch.from_numpy(self.windows[drawn]).float() / 255
        changed = pictures.near_duplicates(fine, random).flatten(1)
        return self.frame.coordinates(changed), self.training[drawn]


DATA: dict[str, Callable[[Path | None, int], Vectors]] = {
    "near-duplicates": NearDuplicates
}  # another package adds its own


@functools.cache
def load(name: str, folder: Path | None, axes: int = 0) -> Vectors:
    """Vectors along `axes` principal axes; pictures have samples in 0..1."""
    if name not in DATA:
        raise SystemExit(f"data = {name!r}: not one of {', '.join(DATA)}")
    return DATA[name](folder, axes)


def law(settings: NestedSettings) -> nested.TruncationLaw:
    units = settings.widths[-1]
    laws = {
        "geometric": lambda: nested.TruncationLaw.geometric(units, settings.rho),
        "log-uniform": lambda: nested.TruncationLaw.log_uniform(units),
        "uniform": lambda: nested.TruncationLaw.uniform(units),
        "whole": lambda: nested.TruncationLaw.whole(units),
    }
    if settings.cuts not in laws:
        raise SystemExit(f"cuts = {settings.cuts!r}: not one of {', '.join(laws)}")
    return laws[settings.cuts]().mixed(settings.whole)


class Task:
    """The nested dropout problem, Equation 3, with the methods that the settings name."""

    kind = Autoencoder

    def __init__(self, settings: AutoencoderSettings, folder: Path | None):
        self.settings = settings
        self.vectors = load(settings.data, folder, settings.axes)
        self.importance = self.vectors.frame.importance
        self.model = self.kind(settings)
        self.law = law(settings)
        self.sweep = None
        if settings.sweep_window:
            weights = self.model.unit_weights()
            self.sweep = nested.UnitSweep(
                weights, settings.sweep_window, settings.sweep_tolerance, settings.sweep_patience
            )

    def groups(self) -> list[dict]:
        names = dict(self.model.named_parameters())
        gains = (
            [{"name": "gains", "params": [names.pop("gains")], "base": self.settings.gain_rate}]
            if "gains" in names
            else []
        )
        return [{"name": "all", "params": list(names.values()), "base": self.settings.learning_rate}, *gains]

    def trained(self, stage: str) -> tuple[str, ...]:
        return ("all", "gains")

    def batch(self, step: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.vectors.batch(self.settings.batch, np.random.default_rng([self.settings.seed, step]))

    def loss(self, batch: tuple[torch.Tensor, torch.Tensor], phase: Phase) -> torch.Tensor:
        settings, model = self.settings, self.model.train()
        given, y = batch
        lengths = self.law.draw(len(y), self.sweep.swept if self.sweep else 0)
        corrupted = nested.corrupt(given, settings.corruption) if settings.corruption else given
        loss = self.error(model(corrupted, lengths), y)
        if settings.invariance:
            moved = y + settings.noise * torch.randn_like(y) if given is y else given
            spread = model.activations(y).detach().std(0).clamp(min=1e-6)  # else an encoder escapes by small numbers
            loss = loss + settings.invariance * nested.invariance(lambda v: model.activations(v) / spread, y, moved)
        return loss

    def error(self, reconstructed: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Squared error as a share of the variance, without what lies off the axes."""
        return ((reconstructed - y).square() @ self.importance).mean()

    def before_step(self) -> None:
        if self.settings.decay:
            for weight in self.model.weights:
                nested.add_weight_decay(weight, self.settings.decay)

    def after_step(self) -> None:
        if self.sweep:
            self.sweep.after_step()

    @torch.no_grad()
    def validate(self, model: nn.Module) -> list[dict]:
        """Squared error of held-out vectors, as a share of the variance, at code lengths that double."""
        model.calibrate(evenly(self.vectors.training))
        model.eval()
        units, y = self.settings.widths[-1], self.vectors.held_out
        lengths = sorted({min(2**i, units) for i in range(units.bit_length() + 1)})
        rows = []
        for length in lengths:
            error = self.error(model(y, torch.full((len(y),), length)), y).item()
            rows.append({"length": length, "error": round(error, 5), "swept": self.sweep.swept if self.sweep else 0})
        return rows

    def begin(self, start: dict) -> None:
        weights = start["model"]
        deep_from_linear = self.settings.skip and not any(name.startswith("skips") for name in weights)
        self.model.load_state_dict(as_deep(self.model, weights) if deep_from_linear else weights)

    def state(self) -> dict:
        return {"sweep": self.sweep.state()} if self.sweep else {}

    def load_state(self, saved: dict) -> None:
        if self.sweep:
            self.sweep.load_state(saved["sweep"])

    def export(self, model: nn.Module, out: Path) -> None:
        """Writes the weights in 8 bits, with the frame."""
        model.calibrate(evenly(self.vectors.training))
        write_weights(out / "weights.npz", {**model.state_dict(), **self.vectors.frame.state()})


def as_deep(model: Autoencoder, linear: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Weights with which `model`, with layers in parallel to the hidden ones, gives what the linear autoencoder of
    these does."""
    own, last = dict(model.state_dict()), len(model.weights) - 1
    own["skips.0"], own["skips.1"] = linear["weights.0"], linear.get("up_weights.0", linear["weights.0"])
    for name in (f"weights.{last}", "up_weights.0"):
        own[name] = torch.zeros_like(own[name])
    own[f"biases.{last}"], own["up_biases.0"] = linear["biases.0"], linear["up_biases.0"]
    return {**own, **{name: value for name, value in linear.items() if name.startswith(("binarise", "gains"))}}
