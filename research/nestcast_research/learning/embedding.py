"""The task of codes that keep classes together (encoders.py), by the objectives of neighbourhood.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from nestcast_research.data import labelled
from nestcast_research.learning.deformations import deformed
from nestcast_research.learning.encoders import ENCODED, Embedding
from nestcast_research.learning.neighbourhood import expected_correct, log_likelihood, scale_for, squared_distances
from nestcast_research.measuring import ranking
from nestcast_research.settings import EmbeddingSettings
from nestcast_train.codes.vectors import law
from nestcast_train.settings import Phase
from nestcast_train.slim import write_weights

OBJECTIVES = {"nca": expected_correct, "likelihood": log_likelihood}
NEIGHBOURS = (1, 3, 5, 7)
SEARCHED, ASKED = 10_000, 500  # pictures of a validation
SCALED = 2000  # whose code is scaled as fine-tuning starts


class Task:
    """Maximises Salakhutdinov and Hinton's Equation 17, or minimises the softmax's cross-entropy."""

    kind = Embedding

    def __init__(self, settings: EmbeddingSettings, folder: Path | None):
        if settings.objective not in (*OBJECTIVES, "softmax"):
            raise SystemExit(f"objective = {settings.objective!r}: not one of {', '.join(OBJECTIVES)}, softmax")
        self.settings = settings
        data = labelled.load(settings.data, folder, settings.axes)
        self.data = data if settings.held_out else data.with_held_out()
        self.labelled = self.data.some_labels(settings.labels, settings.seed)
        self.model = self.kind(settings)
        self.law = law(settings)

    def groups(self) -> list[dict]:
        return [{"name": "all", "params": list(self.model.parameters()), "base": self.settings.learning_rate}]

    def trained(self, stage: str) -> tuple[str, ...]:
        return ("all",)

    def batch(self, step: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Labelled pictures (B, D), each at most once, their classes, and pictures that are only reconstructed: the
        same if all have labels."""
        random = np.random.default_rng([self.settings.seed, step])
        drawn = self.labelled[random.permutation(len(self.labelled))[: self.settings.batch]]
        x = deformed(self.data.training[drawn], self.settings.deformation, random)
        if self.settings.labels == 1:
            return x, self.data.classes[drawn], x
        any_ = random.integers(0, len(self.data.training), self.settings.batch)
        return x, self.data.classes[drawn], self.data.training[any_]

    def loss(self, batch: tuple[torch.Tensor, torch.Tensor, torch.Tensor], phase: Phase) -> torch.Tensor:
        settings, model = self.settings, self.model.train()
        x, classes, free = batch
        code = model(x)
        if settings.objective == "softmax":
            return F.cross_entropy(model.classifier(code), classes)
        counted = code[:, : settings.classed or None]
        lengths = None if settings.cuts == "whole" else self.law.draw(len(x))
        gain = OBJECTIVES[settings.objective](squared_distances(counted, lengths), classes)
        if not settings.reconstruction:
            return -gain
        reconstructed = model.encoder.decode(code if free is x else model(free))
        error = F.binary_cross_entropy_with_logits(reconstructed, free, reduction="none").sum(1).mean()  # Eq. 18
        return -(1 - settings.reconstruction) * gain + settings.reconstruction * error

    def before_step(self) -> None: ...

    def after_step(self) -> None: ...

    @torch.no_grad()
    def validate(self, model: nn.Module) -> list[dict]:
        """Share of held-out pictures that the vote of 1, 3, 5, 7 labelled neighbours gives another class; without such
        pictures nothing."""
        if not len(self.data.held_out):
            return []
        model.calibrate(self.data.training)
        searched = self.labelled[:: max(1, len(self.labelled) // SEARCHED)]
        points, asked = encoded(model, self.data.training[searched]), encoded(model, self.data.held_out[:ASKED])
        of = ranking.Collection(self.data.classes[searched].numpy(), self.data.held_out_classes[:ASKED].numpy())
        kept = self.settings.classed or None
        errors = ranking.vote_errors(points[:, :kept], asked[:, :kept], of, NEIGHBOURS)
        return [{f"{count} neighbours": round(error, 4) for count, error in errors.items()}]

    def begin(self, start: dict) -> None:
        self.model.encoder.begin(start["model"])
        if self.settings.neighbours:
            counted = encoded(self.model, self.data.training[:SCALED])[:, : self.settings.classed or None]
            self.model.encoder.scale(scale_for(squared_distances(counted), self.settings.neighbours))

    def state(self) -> dict:
        return {}

    def load_state(self, saved: dict) -> None: ...

    def export(self, model: nn.Module, out: Path) -> None:
        """Writes the weights, matrices in 8 bits; without the decoder's where no unit is free for it alone."""
        model.calibrate(self.data.training)
        frame = self.data.frame.state() if self.data.frame else {}
        kept = {
            name: value
            for name, value in model.state_dict().items()
            if self.settings.classed or not name.startswith("encoder.up_")
        }
        write_weights(out / "weights.npz", {**kept, **frame})


@torch.no_grad()
def encoded(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """(N, D) -> (N, K), in parts that fit into memory."""
    model.eval()
    return torch.cat([model(part) for part in x.split(ENCODED)])
