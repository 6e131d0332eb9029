"""The task of the synthesis for the eye of streams with gains: through the post-filter, with the coder frozen.

As synthesis/perceptual.py, but the coder runs while it learns (coder.py), with the rule's gains, of any strength, and
some noise, so that the network serves whatever chooses gains.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import torch

from nestcast_train.coded.filtered import Filtered
from nestcast_train.coded.post_filter import PostFilter
from nestcast_train.coded.windows import Windows, draw_cut
from nestcast_train.export import manifest
from nestcast_train.export.quantise import PLANES, Observer, Ranges
from nestcast_train.gains.coder import Coder
from nestcast_train.gains.gains import FOUND, frozen_coder, planes_of
from nestcast_train.gains.network import REGION, ruled
from nestcast_train.gains.pictures import Crops, Pictures
from nestcast_train.photo.model import Correction
from nestcast_train.settings import MaskedSettings, Phase, phase_at
from nestcast_train.synthesis import perceptual, synthesis

VALIDATION_SIZE = 384, 576
VALIDATION_STRENGTHS = (0.0, 0.35)  # of the rule
VALIDATION_CUTS = (0.8, 2.0, 2.8, 3.5, 4.4, 5.5)


class Task(perceptual.Task):
    """The network in training (train.py)."""

    def __init__(self, settings: MaskedSettings, folder: Path | None):
        if folder is None:
            raise SystemExit(f"name the folder with `photos` and {FOUND} (gains/pictures.py) with --data")
        self.settings, device = settings, torch.get_default_device()
        self.pictures = Pictures(folder / "photos", folder / FOUND, device, settings.crop)
        self.filter = Filtered(PostFilter.read(settings.path(settings.coder) / manifest.POST_FILTER))
        self.model = synthesis.Syntheses(settings).to(device, memory_format=torch.channels_last)
        self.coder = frozen_coder(settings, (settings.crop, settings.crop))
        self.wide = frozen_coder(settings, VALIDATION_SIZE)

    def batch(self, step: int) -> tuple[Crops, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Crops, their cuts within the range of the phase's network, the strength of their gains, and the noise of
        these (B, h, w)."""
        settings, drawn = self.settings, np.random.default_rng([self.settings.seed, step])
        phase, _ = phase_at(settings, min(step, settings.steps - 1))  # train.py asks for one after the last, too
        count, regions = settings.batch, settings.crop // REGION
        crops = self.pictures.crops(count, settings.crop, random.Random(f"{settings.seed} {step}"))
        cuts = [draw_cut(settings, drawn, settings.within(int(phase.stage))) for _ in range(count)]
        strengths = drawn.uniform(*settings.strengths, count)
        noise = drawn.normal(0, settings.noise, (count, regions, regions)) * drawn.random((count, 1, 1))
        return crops, *(torch.from_numpy(np.asarray(part, np.float32)) for part in (cuts, strengths, noise))

    def loss(self, batch: tuple[Crops, torch.Tensor, torch.Tensor, torch.Tensor], phase: Phase) -> torch.Tensor:
        crops, *told = batch
        with torch.no_grad(), torch.autocast(crops.rgb.device.type, enabled=False):
            windows = self.windows(self.coder, crops, *(part.to(crops.rgb.device) for part in told))
        return super().loss(windows, phase)

    def windows(
        self, coder: Coder, crops: Crops, cut: torch.Tensor, strength: torch.Tensor, noise: torch.Tensor | float = 0.0
    ) -> Windows:
        """What a decoder has of crops at cuts (B,), with gains of the rule of these strengths (B,)."""
        planes = planes_of(crops)
        bands = coder.decompose(planes, crops.rotations)
        gains = ruled(coder.rule(bands), strength) + noise
        decoded = coder.code(bands, (4 * gains).round() / 4, cut, priced=False)
        linear = coder.compose(decoded.bands, crops.rotations)
        return {
            "planes": linear,
            "target": planes,
            "cut": cut,
            "error": (linear - planes).square().sum(1).mean((1, 2)).clamp(min=1e-3),
            "axes": crops.axes,
            "significant": significance(decoded.bands),
        }

    @torch.no_grad()
    def validate(self, model: synthesis.Syntheses) -> list[dict]:
        """SSIMULACRA 2 of the linear decoder without its filter, and what the network with the filter adds; means over
        the held-out photos."""
        rows, middles = [], self.pictures.middles(VALIDATION_SIZE)
        for strength in VALIDATION_STRENGTHS:
            for cut in VALIDATION_CUTS:
                found = []
                for crops in middles:
                    one = self.windows(self.wide, crops, torch.full((1,), cut), torch.full((1,), strength))
                    found.append(self.measured(one, self.restored(one, model.of(cut))))
                rows.append({"strength": strength, "cut": cut, **self.summary(np.mean(found, 0))})
        return rows

    @torch.no_grad()
    def ranges(self, network: Correction, within: tuple[float, float]) -> Ranges:
        """As those of synthesis.py."""
        observer, (low, high), settings = Observer(self.settings.seed, PLANES), within, self.settings
        for i in range(settings.calibration):
            cut = torch.tensor([low + (high - low) * (i + 0.5) / settings.calibration])
            crops = self.pictures.crops(1, settings.crop, random.Random(f"{settings.seed} range {i}"))
            strength = torch.tensor([settings.strengths[i % 2]])
            network(self.windows(self.coder, crops, cut, strength)["planes"], cut, observer)
        return observer.ranges()


def significance(bands: list[torch.Tensor]) -> torch.Tensor:
    """(B, 3, H / 4, W / 4), as `post_filter.significance`."""
    found = 0
    for level in (3, 2, 1):
        band = (bands[level - 1] != 0).unflatten(1, (3, 3)).any(2).float()
        if level == 1:
            band = torch.nn.functional.max_pool2d(band, 2)
        elif level == 3:
            band = band.repeat_interleave(2, 2).repeat_interleave(2, 3)
        found = torch.where(band > 0, torch.full_like(band, 4 - level), found)
    return found
