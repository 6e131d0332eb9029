"""What codes find among photographs: those of the same folder, and the originals of changed ones. The default of
`nestcast index` follows from it.

A folder is a collection, by one project's choice of pictures: two of desktop wallpapers, one of wallpapers by a
community's photographers, one of the Berkeley segmentation data set. Photo codes are trained on three of them, without
every 18th photo; nothing is trained on the fourth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from nestcast_research import stored
from nestcast_research.data.mnist import of_pictures
from nestcast_research.data.uncropped import uncropped
from nestcast_research.learning import projections
from nestcast_research.measuring import ranking
from nestcast_research.measuring.retrieval import RESEARCH, variants
from nestcast_research.pages import learned
from nestcast_research.places import package_folder
from nestcast_train.codes import code_package, pictures
from nestcast_train.codes.vectors import load as load_vectors
from nestcast_train.data import photos as photo_data

BUILT_IN = "thumb"  # the default of `nestcast index`
PACKAGES = {
    BUILT_IN: "autoencoder, nested dropout",
    "cifar-linear": "autoencoder, nested dropout, linear",
    "cifar-deep": "autoencoder, nested dropout, deep",
}
ANY_ORDER = "any order"  # the row of chance
LENGTHS = learned.LENGTHS[1:]  # that codes are cut at
AXES = 192  # that plain projections of photographs are found along, as `thumb`
NEIGHBOURHOOD = 10  # of the 646 photos, as 16,384 of a million
EVERY = 5  # of the photos that nothing is trained on, those that are changed
BEYOND = "crop of 20 %, all around"  # of these changes, what near-duplicates do not include

Encode = Callable[[torch.Tensor], torch.Tensor]  # bytes (N, 3, 32, 32) to bits (N, K)


@dataclass
class Photographs:
    """The collection and the queries."""

    thumbnails: torch.Tensor  # bytes (N, 3, 32, 32), each of a whole photo
    folders: np.ndarray  # (N,) numbers of folders, from 0
    changed: torch.Tensor  # bytes (Q, G, 3, 32, 32): a changed photo, then what it may be a crop of
    changes: list[str]  # (Q,)
    originals: np.ndarray  # (Q,) indices of photos

    @staticmethod
    def read(folder: Path) -> Photographs:
        open_ = photo_data.photos(folder)
        research = sorted((folder / RESEARCH).glob("*.jpg"))
        every, names = [*open_, *research], [*photo_data.OPEN, RESEARCH]
        files = [
            every[i] for i in np.random.default_rng(learned.SEED).permutation(len(every))
        ]  # of equally near codes the first is first
        unseen = [*open_[:: photo_data.HELD_OUT], *research][::EVERY]
        changed = [
            (index, name, picture)
            for index in map(files.index, unseen)
            for name, picture in variants(Image.open(files[index]).convert("RGB")).items()
            if name != BEYOND
        ]
        return Photographs(
            torch.from_numpy(np.stack([pictures.stretched(Image.open(file)) for file in files])),
            np.array([names.index(file.parent.name) for file in files]),
            torch.from_numpy(
                np.stack([np.stack([pictures.stretched(picture), *uncropped(picture)]) for _, _, picture in changed])
            ),
            [name for _, name, _ in changed],
            np.array([index for index, _, _ in changed]),
        )


def precisions(bits: torch.Tensor, folders: np.ndarray) -> dict[str, np.ndarray]:
    """Every photo, asked for among all others by Hamming distance: precision at 10 and average precision, of the same
    folder, (N,) each. bits (N, K), folders (N,)."""
    found = []
    for index, distance in enumerate(ranking.hamming(bits, bits)):
        order = np.argsort(distance, kind="stable")
        found.append(ranking.measures((folders == folders[index])[order[order != index]]))
    return {name: np.array([one[name] for one in found]) for name in ("precision at 10", "MAP")}


def folders_mean(values: np.ndarray, folders: np.ndarray) -> tuple[float, float]:
    """The mean over folders of the mean over its photos, so that a small folder counts as a large one, and its standard
    deviation by chance of the photos. values (N,), folders (N,)."""
    own = [values[folders == one] for one in np.unique(folders)]
    return float(np.mean([part.mean() for part in own])), float(
        np.sqrt(sum(part.var() / len(part) for part in own)) / len(own)
    )


def originals_found(bits: torch.Tensor, changed: torch.Tensor, of: Photographs) -> dict[str, tuple[float, float]]:
    """By change, the share of changed photos whose original is the nearest to any of the codes that are searched for:
    of all photos; and of those in the codes' neighbourhoods of 10 (section 5.1), as `search` looks for 16,384 of a
    million. bits (N, K), changed (Q, G, K)."""
    hits: dict[str, list[tuple[bool, bool]]] = {}
    for asked, name, original in zip(changed, of.changes, of.originals):
        nearest = ranking.hamming(bits, asked).min(0)
        seen = in_neighbourhoods(bits, asked, NEIGHBOURHOOD).nonzero()[0]
        hits.setdefault(name, []).append((nearest.argmin() == original, seen[nearest[seen].argmin()] == original))
    return {name: tuple(np.mean(own, 0)) for name, own in hits.items()}


def in_neighbourhoods(bits: torch.Tensor, asked: torch.Tensor, least: int) -> np.ndarray:
    """Whether each of the codes (N, K) is in the neighbourhood of any of those asked for (G, K), as
    neighbours.neighbourhood has it, (N,)."""
    differ = bits.numpy()[None] != asked.numpy()[:, None]  # (G, N, K)
    first = differ.argmax(2)
    shared = np.where(np.take_along_axis(differ, first[..., None], 2)[..., 0], first, bits.shape[1])
    depth = np.partition(shared, -least)[:, -least]  # `least` codes share at least this many bits
    return (shared >= depth[:, None]).any(0)


def measured(
    encode: Encode, lengths: tuple[int, ...], of: Photographs
) -> Iterator[tuple[int, dict[str, float], np.ndarray]]:
    """For each length that the codes are cut at: it, the measures, and every photo's precision at 10, (N,)."""
    with torch.no_grad():
        bits, changed = encode(of.thumbnails), encode(of.changed.flatten(0, 1))
    changed = changed.unflatten(0, of.changed.shape[:2])
    for length in lengths:
        found, shares = (
            precisions(bits[:, :length], of.folders),
            np.array(list(originals_found(bits[:, :length], changed[..., :length], of).values())),
        )
        means = {name: folders_mean(values, of.folders)[0] for name, values in found.items()}
        ways = zip(("of all", "of neighbourhoods"), shares.T)
        yield (
            length,
            means
            | {
                f"originals first {way}{of_}": value
                for way, own in ways
                for of_, value in (("", own.mean()), (", least", own.min()))
            },
            found["precision at 10"],
        )


def of_package(name: str) -> Encode:
    package = code_package.Package(package_folder(name))
    return lambda samples: torch.from_numpy(package.encode(samples.numpy()) > 0)


def of_model(one: learned.Learned) -> Encode:
    """A model of digits as its package has it: from any picture, stretched to a digit's size."""
    model, frame = code_package.read(one.read_settings(), stored.weights(one.name))
    frame = of_pictures(frame)
    bits = (lambda y: model.encode(y)) if one not in learned.EMBEDDINGS else (lambda y: model(y) > 0)
    return lambda samples: bits(frame.coordinates(samples.flatten(1) / 255))


def of_projections(folder: Path) -> Iterator[tuple[str, tuple[int, ...], Encode]]:
    """LSH, signs of principal components and ITQ, found on the windows of photos that `thumb` is trained on."""
    training = load_vectors("near-duplicates", folder, AXES)
    y, frame = training.training[:: max(1, len(training.training) // 8192)], training.frame
    given = lambda samples: frame.coordinates(samples.flatten(1) / 255)
    for bits in LENGTHS:
        found = {"LSH": projections.random_directions(y, bits, learned.SEED)}
        if bits <= AXES:
            found |= {
                "signs of principal components": projections.principal_directions(y, bits),
                "ITQ": projections.iterative_quantisation(y, bits, learned.TURNS, learned.SEED),
            }
        for name, projection in found.items():
            yield name, (bits,), lambda samples, of=projection: of.encode(given(samples))


def codes_of(folder: Path) -> Iterator[tuple[str, str, str, tuple[int, ...], Encode]]:
    """For each code: its name, its package or model, the training data, the lengths that it is cut at, and the code."""
    for name, code in PACKAGES.items():
        yield code, name, "photos", LENGTHS if name == BUILT_IN else (*LENGTHS, 1024), of_package(name)
    for one in learned.PHOTOS:
        yield one.family, one.name, "photos", LENGTHS if one.bits == LENGTHS[-1] else (one.bits,), of_model(one)
    for name, lengths, encode in of_projections(folder):
        yield name, "", "photos", lengths, encode
    for one in (*learned.HASHES, *learned.EMBEDDINGS):
        if one.bits in LENGTHS:
            yield (
                one.family,
                one.name,
                "digits and their classes" if one.labels else "digits",
                (one.bits,),
                of_model(one),
            )


def rows(folder: Path) -> list[dict]:
    """A row for each code and length; against the default's precision at 10, the difference and its standard deviation
    by chance of the photos."""
    of, found = Photographs.read(folder / "photos"), []
    for code, package, trained, lengths, encode in codes_of(folder):
        for length, means, each in measured(encode, lengths, of):
            found.append(({"code": code, "package": package, "trained on": trained, "bits": length}, means, each))
    (own,) = (each for head, _, each in found if (head["package"], head["bits"]) == (BUILT_IN, LENGTHS[-1]))
    table = []
    for head, means, each in found:
        more, deviation = folders_mean(each - own, of.folders)
        against = {"difference to the default": f"{more:.3f}", "deviation of the difference": f"{deviation:.3f}"}
        (first, value), *others = means.items()
        table.append({**head, first: f"{value:.3f}", **against, **{name: f"{value:.3f}" for name, value in others}})
    counts = np.bincount(of.folders)
    by_chance = folders_mean(((counts - 1) / (len(of.folders) - 1))[of.folders], of.folders)[0]
    return [{**dict.fromkeys(table[0], ""), "code": ANY_ORDER, "precision at 10": f"{by_chance:.3f}"}, *table]
