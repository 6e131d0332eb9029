"""The numbers of the research's trainings."""

from __future__ import annotations

import dataclasses

from nestcast_train.settings import NestedSettings, Settings


@dataclasses.dataclass(frozen=True)
class HashingSettings(NestedSettings):
    """Variational autoencoders whose latents become bits (variational.py, hashing.py)."""

    data: str = "digits"  # one of labelled.py's; or near-duplicates (vectors.py)
    axes: int = 64  # principal axes that inputs are given along
    latent: str = "bernoulli"  # or gaussian
    cuts: str = "whole"
    variance: float = 0.1  # of the reconstruction's noise: the weight of the divergence; an axis has 1 on average
    # of the binary concrete samples, at the start and at the end; between them geometric
    temperatures: tuple[float, float] = (1.0, 0.3)
    package: dict = dataclasses.field(default_factory=dict)  # as in AutoencoderSettings; there is no decoder


@dataclasses.dataclass(frozen=True)
class BoltzmannSettings(Settings):
    """A stack of restricted Boltzmann machines (boltzmann.py)."""

    data: str = "digits"  # one of labelled.py's
    widths: tuple[int, ...] = (784, 500, 500, 2000, 30)
    deviation: float = 0.05  # of the weights at the start
    gaussian_rate: float = 1e-4  # learning rate of the last machine
    decay: float = 0.0002  # of squared weights


@dataclasses.dataclass(frozen=True)
class EmbeddingSettings(NestedSettings):
    """Codes that keep classes together (encoders.py, embedding.py)."""

    data: str = "digits"  # labelled.py says what there is
    axes: int = 0  # principal axes that inputs are given along; 0: inputs are samples in 0..1
    network: str = "dense"  # or convolutional
    activation: str = "logistic"  # of a dense network's hidden layers; or rectified
    objective: str = "nca"  # Equation 5 | "likelihood", Equation 6 | "softmax", the rival
    classes: int = 10
    classed: int = 0  # units that the objective sees, section 5.1; 0: all
    # that the median point chooses among as fine-tuning starts, by which a pretrained code is scaled; 0: as it is
    neighbours: float = 0.0
    # whether pictures are held out; without them nothing validates, and the number of steps is one found with them
    held_out: bool = True
    reconstruction: float = 0.0  # 1 - lambda of Equation 16, of the cross-entropy of the reconstruction
    labels: float = 1.0  # share of the training pictures whose class is known
    deformation: float = (
        0.0  # how much training pictures are deformed at random, as a share of what deformations.py has; 0: not at all
    )
    beta: float = 0.0  # share of ones of a binary code, as in AutoencoderSettings; 0: a real code
    cuts: str = "whole"
