"""Learned codes for search on MNIST: the models, their training, their codes.

Every code searches the same pictures: 50,000 of the training part, asked for by the first 1,000 of the test part.
Settings were chosen on 10,000 others of the training part. Nearest neighbours are found among all 60,000, for all
10,000 of the test part.
"""

from __future__ import annotations

import dataclasses
import functools
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from nestcast_research import stored
from nestcast_research.data import labelled, texts
from nestcast_research.learning import projections
from nestcast_research.learning.embedding import encoded
from nestcast_research.learning.encoders import Embedding
from nestcast_research.measuring import ranking
from nestcast_research.places import RUNS, SETTINGS, WEIGHTS
from nestcast_train import train as training
from nestcast_train.codes import code_package
from nestcast_train.codes.vectors import Frame
from nestcast_train.settings import Settings, load
from nestcast_train.slim import read_weights

ASKED = 1000  # pictures of the test part
AXES = 64  # principal axes that projections are found along
POINTS_AXES = 30  # that nearest neighbours are found along, next to learned points
TURNS = 50  # of ITQ
SEED = 1
LENGTHS = (8, 16, 32, 64, 512)  # that codes are cut at
KNOWN = {
    0.01: 0.01,
    0.05: 0.01,
    0.1: 0.001,
}  # shares of labels of Figure 5, and 1 - lambda of what is regularised with them
TRAINED = (8, 16, 32, 64)  # that codes are trained for

Encode = Callable[[torch.Tensor], torch.Tensor]  # samples (N, 784) of 0..1 to a code (N, K)


@dataclass(frozen=True)
class Learned:
    """A model by its settings' file, its code's length where that is not the file's, and the family that it has in
    tables."""

    settings: str
    bits: int
    family: str
    labels: bool = False
    known: float | None = None  # share of training pictures whose class is known, where that is not the file's
    reconstruction: float | None = None  # 1 - lambda, where that is not the file's

    @property
    def name(self) -> str:
        return f"{self.settings}-{self.bits}" + (f"-{100 * self.known:.0f}" if self.known else "")

    @property
    def weights(self) -> Path:
        return WEIGHTS / f"{self.name}.npz"

    def read_settings(self) -> Settings:
        settings = load(SETTINGS / f"{self.settings}.toml")
        changed = {
            name: value for name, value in (("labels", self.known), ("reconstruction", self.reconstruction)) if value
        }
        return dataclasses.replace(settings, name=self.name, widths=(*settings.widths[:-1], self.bits), **changed)


HASHES = (
    *(Learned("bernoulli", bits, "Bernoulli VAE") for bits in TRAINED),
    *(Learned("gaussian", bits, "Gaussian VAE") for bits in TRAINED),
    Learned("bernoulli-nested", 512, "Bernoulli VAE, nested"),
)

EMBEDDINGS = (
    *(Learned("nca-bits", bits, "NCA, bits", labels=True) for bits in TRAINED),
    Learned("nca-bits-nested", 512, "NCA, bits, nested", labels=True),
)
STACKS = (
    Learned("stack-deep", 30, "what the paper's network starts from"),
    Learned("stack", 30, "what its variants start from"),
)
POINTS = (
    Learned("nca", 30, "nonlinear NCA", labels=True),
    Learned("nca-likelihood", 30, "nonlinear NCA, by log likelihood", labels=True),
    Learned("nca-deep-regularised", 30, "nonlinear NCA, regularised", labels=True),
    Learned("nca-deep-split", 50, "nonlinear NCA, split", labels=True),
    Learned("nca-today", 30, "nonlinear NCA, as of today", labels=True),
    Learned("nca-shallow", 30, "NCA, one hidden layer", labels=True),
    Learned("nca-regularised", 30, "NCA, one hidden layer, regularised", labels=True),
    Learned("nca-split", 50, "NCA, one hidden layer, split", labels=True),
    *(Learned("nca-few", 30, f"NCA, one hidden layer, {100 * known:.0f} % of labels", True, known) for known in KNOWN),
    *(
        Learned(
            "nca-few-regularised",
            30,
            f"NCA, one hidden layer, {100 * known:.0f} % of labels, regularised",
            True,
            known,
            reconstruction,
        )
        for known, reconstruction in KNOWN.items()
    ),
    Learned("nca-rectified", 30, "NCA, rectified, along 64 axes", labels=True),
    Learned("nca-convolutional", 64, "convolutional NCA", labels=True),
    Learned("nca-convolutional-today", 64, "convolutional NCA, as of today", labels=True),
    Learned("softmax-convolutional", 64, "softmax features of the same network", labels=True),
)
PLANES = (
    Learned("nca-linear", 2, "linear NCA", labels=True),
    Learned("nca-rectified", 2, "NCA, rectified", labels=True),
    Learned("nca-convolutional-plane", 2, "convolutional NCA", labels=True),
)
PICTURES = (
    Learned("nca-cifar", 64, "convolutional NCA", labels=True),
    Learned("softmax-cifar", 64, "softmax features of the same network", labels=True),
)
PHOTOS = (
    Learned("bernoulli-photos", 64, "Bernoulli VAE"),
    Learned("bernoulli-photos-nested", 512, "Bernoulli VAE, nested"),
)
TEXTS, FEATURES, CIFAR = (
    tuple(
        Learned(f"{latent}-{what}", bits, f"{latent.capitalize()} VAE")
        for latent in ("bernoulli", "gaussian")
        for bits in (8, 16, 32)
    )
    for what in ("texts", "features", "cifar")
)
ALL = (*HASHES, *EMBEDDINGS, *STACKS, *POINTS, *PLANES, *PICTURES, *PHOTOS, *TEXTS, *FEATURES, *CIFAR)


def train(data: Path, runs: tuple[Learned, ...] = ALL) -> None:
    """Trains all of them from nothing, each after the one that it starts from; before texts it makes the vocabulary."""
    if set(TEXTS) & set(runs):
        texts.write_vocabulary(texts.texts(data)[0][: -labelled.TEST_PACKAGES - labelled.HELD_OUT["packages"]])
    for one in runs:
        training.complete(one.read_settings(), data, RUNS / one.name)
        if (RUNS / one.name / "weights.npz").exists():
            shutil.copy(RUNS / one.name / "weights.npz", one.weights)


class Test:
    """The collection, in samples (N, D), for digits (50000, 784) in 0..1, and the queries; nearest neighbours are found
    among the held-out part too."""

    def __init__(self, data: Path, name: str = "digits"):
        self.data, (self.asked, wanted) = labelled.load(name, data), labelled.test(name, data)
        self.searched, classes = self.data.training, self.data.classes.numpy()
        self.some, self.wanted = ranking.Collection(classes, wanted[:ASKED].numpy()), wanted.numpy()
        self.neighbours = torch.cat([self.data.training, self.data.held_out])
        self.among = ranking.Collection(torch.cat([self.data.classes, self.data.held_out_classes]).numpy(), self.wanted)

    def bits(self, encode: Encode) -> tuple[torch.Tensor, torch.Tensor]:
        """Codes of the collection and of the first queries."""
        return encode(self.searched), encode(self.asked[:ASKED])


def embedding_model(one: Learned) -> tuple[Embedding, Frame | None]:
    state = read_weights(stored.weights(one.name))
    settings = one.read_settings()
    # others have no decoder
    model = Embedding(settings if settings.classed else dataclasses.replace(settings, reconstruction=0.0))
    model.load_state_dict({name: value for name, value in state.items() if not name.startswith("frame.")})
    return model.eval(), Frame.from_state(state) if "frame.mean" in state else None


def encoder(one: Learned) -> Encode:
    """To bits (N, K) of a binary code, else to points (N, K)."""
    if one in (*HASHES, *PHOTOS, *TEXTS, *FEATURES, *CIFAR):
        model, frame = code_package.read(one.read_settings(), stored.weights(one.name))
        return torch.no_grad()(lambda samples: model.encode(frame.coordinates(samples)))
    network, frame = embedding_model(one)
    binary = bool(network.settings.beta)
    points = lambda samples: encoded(network, frame.coordinates(samples) if frame else samples)
    return (lambda samples: points(samples) > 0) if binary else points


def rivals(test: Test, bits: int) -> dict[str, Encode]:
    """Plain projections, found on the collection: LSH at any length, the others up to the number of axes."""
    frame = Frame.of(test.searched, AXES)
    y = frame.coordinates(test.searched)
    found = {"LSH": projections.random_directions(y, bits, SEED)}
    if bits <= AXES:
        found["signs of principal components"] = projections.principal_directions(y, bits)
        found["ITQ"] = projections.iterative_quantisation(y, bits, TURNS, SEED)
    return {
        name: lambda samples, of=projection: of.encode(frame.coordinates(samples)) for name, projection in found.items()
    }


@functools.cache
def ordered() -> Encode:
    """The code of digits.toml: nested dropout over the bits of an autoencoder (Rippel, Gelbart and Adams), 128 of
    them."""
    model, frame = code_package.read(load(SETTINGS / "digits.toml"), stored.weights("digits"))
    return torch.no_grad()(lambda samples: model.encode(frame.coordinates(samples)) > 0)
