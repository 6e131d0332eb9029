"""Every number of a training run, in one dataclass, read from one TOML file."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Settings:
    """Settings of one run; `photo.toml` holds those of the shipped model."""

    name: str = "photo"
    seed: int = 1
    # Transform.
    levels: int = 6  # wavelet decomposition levels; LL of 2**6 pixels
    step: float = 4.0  # finest quantiser step, in 8-bit RGB levels, for a unit-norm basis function
    planes: int = 12  # bit planes above the finest step that a cut may fall in
    # Networks: channels at 1/4, 1/8 and 1/16 resolution, bottleneck blocks at each.
    analysis_channels: tuple[int, int, int] = (48, 64, 96)
    analysis_blocks: tuple[int, int, int] = (1, 1, 1)
    synthesis_channels: tuple[int, int, int] = (64, 96, 128)
    synthesis_blocks: tuple[int, int, int] = (2, 2, 2)
    # p_B: how the receivers' bandwidth (the stream position) is drawn, Equation 16.
    cuts: str = "log-uniform"  # "log-uniform" | "geometric" | "histogram"
    cut_range: tuple[float, float] = (0.0, 7.0)  # in planes; 0 = the whole stream
    geometric_p: float = 0.02  # per piece, head first (the paper's law)
    histogram: str = ""  # table of bandwidths with their shares, as benches/data/bandwidths.csv
    interval: float = 0.04  # seconds that a receiver of the histogram has for a picture
    pixels: int = 768 * 512  # of that picture
    # Objective.
    slope: float = 0.27  # dD/dR at the end of a plane, in squared steps per bit
    least_rate: float = 0.1  # bits per pixel; cuts below weigh no more than this one
    similarity: float = 0.0  # share of 1 - MS-SSIM in the distortion; the rest is squared error
    similarity_worth: float = 3500.0  # squared error, summed over R, G and B, that 1 - MS-SSIM = 1 is worth
    linear_weight: float = 0.3  # weight of the linear decoder's distortion beside the deep one's
    start: str = ""  # checkpoint whose weights the run starts from; none: the untrained model
    # Phases: the linear core and the rate model; the deep synthesis; all together with the analysis.
    core_steps: int = 3000
    synthesis_steps: int = 14000
    joint_steps: int = 4000
    # Optimiser; every phase falls along a cosine to 3 %.
    batch: int = 4
    crop: int = 192
    learning_rate: float = 6e-4  # networks; the joint phase has a third of all rates
    core_rate: float = 3e-4  # wavelet taps
    step_rate: float = 2e-3  # logarithms of the quantiser steps
    table_rate: float = 5e-3  # rate model and reconstruction points
    clip: float = 1.0
    checkpoint_every: int = 1000
    device: str = "cpu"
    # Export: the ranges of the networks in int8 come from so many training crops. In real bytes all of the analysis's correction,
    # and of what the steps' ratios learned, was too much (README): so much of them is used.
    calibration: int = 96
    analysis_share: float = 0.5
    step_share: float = 1.0

    @property
    def steps(self) -> int:
        """Steps of all phases."""
        return self.core_steps + self.synthesis_steps + self.joint_steps


@dataclasses.dataclass(frozen=True)
class Restoration:
    """Settings of a run of train_restorer.py; `restorer.toml` holds those of the second synthesis."""

    name: str = "restorer"
    seed: int = 1
    step: float = 4.0  # as in Settings
    channels: tuple[int, int, int] = (64, 96, 128)
    blocks: tuple[int, int, int] = (2, 2, 2)
    start: str = ""  # checkpoint that the run's weights start from: of train.py, or of such a run; none: from nothing
    filters: str = ""  # class filters (filters.py) that the planes have passed; none: the planes as they are
    cut_range: tuple[float, float] = (0.0, 7.0)
    by_size: float = 0.5  # share of cuts that fall into units in proportion to their size, as the ends of bytes do
    steps: int = 250_000  # of the one cosine
    rise: int = 1000  # steps of the learning rate's rise before it
    batch: int = 3
    crop: int = 256  # a multiple of 32
    learning_rate: float = 4e-4
    clip: float = 1.0
    average: float = 0.9995  # of the weights that are validated and exported, by step
    validate_every: int = 1000
    checkpoint_minutes: float = 10


def load(path: str | Path, kind: type = Settings):
    """Read `kind` from a TOML file; unknown keys are an error."""
    with open(path, "rb") as file:
        values = tomllib.load(file)
    known = {field.name for field in dataclasses.fields(kind)}
    unknown = set(values) - known
    if unknown:
        raise SystemExit(f"{path}: unknown settings {sorted(unknown)}")
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})
