"""Pictures and models that tests share, those of the research too."""

from __future__ import annotations

import numpy as np
import torch
from PIL import Image

from nestcast_train.coded import coder
from nestcast_train.codes import vectors
from nestcast_train.codes.autoencoder import Autoencoder
from nestcast_train.codes.pictures import SIDE
from nestcast_train.codes.vectors import Frame
from nestcast_train.places import CODEC_TABLES
from nestcast_train.settings import AutoencoderSettings

TABLES = coder.Tables.read(CODEC_TABLES / "photo/tables.bin")
SMALL = AutoencoderSettings(
    "autoencoder",
    "small",
    axes=12,
    widths=(12, 20, 32),
    tied=False,
    skip=True,
    gain_rate=0.1,
    beta=0.5,
    hidden_dropout=0.0,
    package={
        "version": "0.0.0",
        "licence": "none",
        "decoder": True,
        "data": [{"name": "noise", "files": 1, "licence": "none"}],
    },
)


def photo(height: int, width: int, seed: int) -> np.ndarray:
    """Soft blobs, hard edges and grain."""
    random = np.random.default_rng(seed)
    blobs = Image.fromarray(random.integers(0, 200, (height // 32, width // 32, 3), np.uint8)).resize(
        (width, height), Image.BICUBIC
    )
    y, x = np.mgrid[:height, :width]
    edges = 40 * ((x // 37 + y // 53) % 3 == 0)
    return np.clip(np.asarray(blobs) + edges[..., None] + random.normal(0, 4, (height, width, 1)), 0, 255).astype(
        np.uint8
    )


def some_pictures(count: int) -> torch.Tensor:
    """(count, 3072) in 0..1, smooth."""
    coarse = torch.rand(count, 3, 4, 4)
    return torch.nn.functional.interpolate(coarse, (SIDE, SIDE), mode="bilinear").flatten(1)


def small_model(settings: AutoencoderSettings, relative: bool = False) -> tuple[Autoencoder, Frame]:
    """With thresholds, biases and gains that are not what a model starts with."""
    torch.manual_seed(1)
    training = some_pictures(200)
    basis = torch.linalg.qr(torch.randn(training.shape[1], settings.axes)).Q.t().contiguous()
    mean = (vectors.evened(training) if relative else training).mean(0)
    frame = Frame(mean, torch.full((settings.axes,), 0.2), basis, 20.0, relative)
    model = Autoencoder(settings)
    with torch.no_grad():
        for bias in [*model.biases, *model.up_biases]:
            bias.normal_()
        if model.gains is not None:
            model.gains.normal_()
    model.calibrate(frame.coordinates(training))
    return model.eval(), frame
