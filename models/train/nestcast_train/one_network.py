"""What tasks have in common that train networks from their beginning or from a photo model's synthesis."""

from __future__ import annotations

import torch
from torch import nn


class OneNetwork:
    """Such a task without its data, its loss and its export (train.py)."""

    settings: object  # that have a learning_rate
    model: nn.Module  # that has load_photo

    def groups(self) -> list[dict]:
        return [{"name": "all", "params": list(self.model.parameters()), "base": self.settings.learning_rate}]

    def trained(self, stage: str) -> tuple[str, ...]:
        return ("all",)

    def before_step(self) -> None: ...

    def after_step(self) -> None: ...

    def begin(self, start: dict) -> None:
        """With the weights of another such run, or with the synthesis of a photo model."""
        photo = photo_synthesis(start["model"])
        if photo:
            self.model.load_photo(photo)
        else:
            self.model.load_state_dict(start["model"])

    def state(self) -> dict:
        return {}

    def load_state(self, saved: dict) -> None: ...


def photo_synthesis(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The synthesis among a photo model's weights; of others, nothing."""
    prefix = "synthesis."
    return {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}
