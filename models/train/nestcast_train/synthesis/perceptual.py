"""The task of synthesis networks for the eye: a photo model's own, trained on for SSIMULACRA 2 with the coder frozen.

Windows and networks are those of synthesis.py. The loss is the logarithm of what SSIMULACRA 2 lacks to 100, and a share
of the square error by what the coder alone leaves, so that every rate and every photo counts alike.
"""

from __future__ import annotations

import numpy as np
import torch

from nestcast_train.coded.windows import Windows, to_rgb
from nestcast_train.settings import Phase
from nestcast_train.synthesis import synthesis
from nestcast_train.synthesis.ssimulacra import ssimulacra2

LEAST_MISSING = 2.0  # of SSIMULACRA 2 to 100: a window that misses less counts as one that misses this


class Task(synthesis.Task):
    """Synthesis networks for the eye in training (train.py)."""

    def loss(self, batch: Windows, phase: Phase) -> torch.Tensor:
        restored = self.restored(batch, self.model.networks[int(phase.stage)])
        with torch.autocast(restored.device.type, enabled=False):  # bfloat16 is too coarse for the comparison
            lacks = missing(to_rgb(restored, batch["axes"]), to_rgb(batch["target"], batch["axes"]))
            return (lacks.log() + self.settings.fidelity * synthesis.lost(restored, batch)).mean()

    def measured(self, one: Windows, restored: torch.Tensor) -> list[float]:
        """SSIMULACRA 2 and PSNR of one window, as the coder leaves it and as a decoder shows it."""
        original = to_rgb(one["target"], one["axes"])
        pair = one["planes"], restored
        scores = [ssimulacra2(to_rgb(planes, one["axes"]).clamp(0, 255).round(), original).item() for planes in pair]
        return [*scores, *super().measured(one, restored)]

    def summary(self, means: np.ndarray) -> dict[str, float]:
        linear, deep, linear_db, deep_db = means
        return {"linear": round(linear, 2), "gain": round(deep - linear, 3), "gain_db": round(deep_db - linear_db, 4)}


def missing(decoded: torch.Tensor, original: torch.Tensor) -> torch.Tensor:
    """(B,): of SSIMULACRA 2 to 100."""
    return (100 - ssimulacra2(decoded, original)).clamp(min=LEAST_MISSING)
