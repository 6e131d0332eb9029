"""The measurements that codes.html shows (learned.py says of what)."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from nestcast_research import stored
from nestcast_research.data import labelled, texts
from nestcast_research.data.mnist import DIGIT
from nestcast_research.learning import projections
from nestcast_research.learning.embedding import encoded
from nestcast_research.measuring import photographs, ranking
from nestcast_research.pages import figures, learned
from nestcast_train.codes import code_package
from nestcast_train.codes.vectors import Frame
from nestcast_train.places import ROOT

RADII = range(11)
BALL_BITS = 32  # of the codes whose balls are searched and whose activations are shown
WORDS_OF_BIT = 8
BINS = 20  # of a histogram
SCATTERED = 1000  # digits that are drawn in a plane
MARGINS, MARGIN_STEPS = 3000, 60  # digits that large margins are found on, and steps
STYLES, STEPS_OF_STYLE = 3, 7  # free units of a split code that are drawn, and values of each
LAST_SHARE = 2.0  # standard deviations that the last value is from the mean
HIDDEN, CLASSIFIER_STEPS, CLASSIFIER_BATCH, CLASSIFIER_RATE = 256, 600, 256, 2e-3
NEIGHBOURS = (1, 3, 5, 7, 10)
TIMES = ROOT / "benches/results/retrieval/queries.csv"  # of `cargo xtask measure retrieval`
TIMED_CODES, TIMED_RANGE = "100000", "32"  # codes in the index, and R of ordered retrieval


def row(family: str, bits: int, labels: bool, found: dict[str, float]) -> dict:
    return {
        "code": family,
        "bits": bits,
        "bytes": bits // 8,
        "labels": "yes" if labels else "no",
        **{name: f"{value:.3f}" for name, value in found.items()},
    }


def table(test: learned.Test, runs: tuple[learned.Learned, ...]) -> list[dict]:
    """Every code at every length, in the order of lengths."""
    rows = []
    for one in runs:
        searched, asked = test.bits(learned.encoder(one))
        nested = one.settings.endswith("nested")
        for bits in learned.LENGTHS if nested else (one.bits,):
            rows.append(
                row(one.family, bits, one.labels, ranking.ranked(searched[:, :bits], asked[:, :bits], test.some))
            )
    searched, asked = test.bits(learned.ordered())
    for bits in (bits for bits in learned.LENGTHS if bits <= searched.shape[1]):
        rows.append(
            row(
                "autoencoder, nested dropout",
                bits,
                False,
                ranking.ranked(searched[:, :bits], asked[:, :bits], test.some),
            )
        )
    for bits in learned.LENGTHS:
        for name, encode in learned.rivals(test, bits).items():
            rows.append(row(name, bits, False, ranking.ranked(*test.bits(encode), test.some)))
    times = query_times()
    return [
        one | times.get(one["bits"], dict.fromkeys(times[32], ""))
        for one in sorted(rows, key=lambda one: (one["bits"], -float(one["MAP"])))
    ]


def query_times() -> dict[int, dict[str, str]]:
    """Microseconds of a query that is not in the index, by bits of its codes, in order and one by one."""
    with open(TIMES, encoding="utf-8") as file:
        timed = [row for row in csv.DictReader(file) if (row["count"], row["queries"]) == (TIMED_CODES, "new")]
    of = lambda method, parameter: {
        int(row["bits"]): row["us"] for row in timed if (row["method"], row["parameter"]) == (method, parameter)
    }
    ordered, scan = of("ordered", TIMED_RANGE), of("linear", "")
    return {bits: {"us in order": ordered[bits], "us one by one": scan[bits]} for bits in ordered}


@dataclass
class Points:
    """How nearest neighbours are found: units, whether classes were used in training, and among which pictures; all
    where there is none."""

    units: int
    labels: bool
    encode: learned.Encode
    members: torch.Tensor | None = None


def hash_rows(test: learned.Test, runs: tuple[learned.Learned, ...]) -> list[dict]:
    """The rows of codes of another collection than digits."""
    rows = []
    for one in runs:
        rows.append(row(one.family, one.bits, one.labels, ranking.ranked(*test.bits(learned.encoder(one)), test.some)))
    for bits in dict.fromkeys(one.bits for one in runs):
        for name, encode in learned.rivals(test, bits).items():
            rows.append(row(name, bits, False, ranking.ranked(*test.bits(encode), test.some)))
    return sorted(rows, key=lambda one: (one["bits"], -float(one["MAP"])))


@torch.no_grad()
def word_rows() -> list[dict]:
    """Table 7: the words that a bit of Bernoulli latents adds most to the decoded text, with the other bits unknown."""
    one = next(one for one in learned.TEXTS if one.bits == BALL_BITS)
    model, frame = code_package.read(one.read_settings(), stored.weights(one.name))
    with open(texts.VOCABULARY, encoding="utf-8") as file:
        words = [row["word"] for row in csv.DictReader(file)]
    alone = model.latent.code(torch.eye(one.bits) / 2 + 0.5)  # 1 for the bit, 1/2 for all others
    added = frame.original(model.decode(alone)) - frame.original(model.decode(torch.zeros(1, one.bits)))
    return [
        {"bit": bit, "words": " ".join(words[i] for i in added[bit].topk(WORDS_OF_BIT).indices.tolist())}
        for bit in range(one.bits)
    ]


def points_of(test: learned.Test, one: learned.Learned) -> dict[str, Points]:
    """Points by name; both parts of a split code. Neighbours are those whose class was known in training."""
    encode, settings = learned.encoder(one), one.read_settings()
    members = test.data.some_labels(settings.labels, settings.seed) if settings.labels < 1 else None
    if not settings.classed:
        return {one.family: Points(one.bits, True, encode, members)}
    classed, others = settings.classed, one.bits - settings.classed
    parts = (lambda samples: encode(samples)[:, :classed]), (lambda samples: encode(samples)[:, classed:])
    return {
        one.family: Points(classed, True, parts[0], members),
        f"{one.family}, the other {others} units": Points(others, True, parts[1], members),
    }


def pixels(test: learned.Test) -> dict[str, Points]:
    """Pixels, to compare codes of few labels with, among the same digits."""
    few = {one.known: one.read_settings() for one in learned.POINTS if one.known}
    return {
        f"pixels, {100 * known:.0f} % of labels": Points(
            DIGIT**2, False, lambda samples: samples, test.data.some_labels(known, settings.seed)
        )
        for known, settings in few.items()
    }


def points_table(test: learned.Test) -> list[dict]:
    """Share of all 10,000 test digits that the vote of nearest neighbours gives another class, in per cent."""
    frame = Frame.of(test.searched, learned.POINTS_AXES)
    found = {"principal axes": Points(learned.POINTS_AXES, False, frame.coordinates)} | pixels(test)
    for one in learned.POINTS:
        found |= points_of(test, one)
    rows = []
    for name, points in found.items():
        members = slice(None) if points.members is None else points.members
        among = ranking.Collection(test.among.classes[members], test.wanted)
        errors = ranking.vote_errors(
            points.encode(test.neighbours[members]), points.encode(test.asked), among, NEIGHBOURS
        )
        known = {
            "units": points.units,
            "labels": "yes" if points.labels else "no",
            "neighbours among": len(among.classes),
        }
        rows.append(
            {"points": name, **known, **{f"{count}-NN": f"{100 * error:.2f}" for count, error in errors.items()}}
        )
    return rows


def compared() -> list[learned.Learned]:
    """The Bernoulli and the Gaussian code that balls and histograms are of."""
    return [one for one in learned.HASHES if one.bits == BALL_BITS]


def ball_rows(test: learned.Test) -> list[dict]:
    rows = []
    for one in compared():
        for found in ranking.balls(*test.bits(learned.encoder(one)), test.some, RADII):
            rows.append(
                {"code": one.family, "bits": one.bits, **{name: f"{value:.4g}" for name, value in found.items()}}
            )
    return rows


@torch.no_grad()
def activation_rows(test: learned.Test) -> list[dict]:
    """Figures 6 and 7: shares of activations before the threshold, sigmoids of logits or means, and of bits' shares of
    ones after it."""
    rows = []
    for one in compared():
        model, frame = code_package.read(one.read_settings(), stored.weights(one.name))
        numbers = model.latent.centre(model.infer(frame.coordinates(test.searched)))
        before = numbers.sigmoid() if model.latent.numbers == 1 else numbers
        ones = (numbers > model.threshold).float().mean(0)
        low, high = (0.0, 1.0) if model.latent.numbers == 1 else (-3.0, 3.0)
        shares = [
            np.histogram(values.clamp(a, b).numpy(), BINS, (a, b))[0] / values.numel()
            for values, a, b in ((before, low, high), (ones, 0.0, 1.0))
        ]
        for i in range(BINS):
            at = low + (i + 0.5) * (high - low) / BINS
            rows.append(
                {
                    "code": one.family,
                    "activation": f"{at:.3f}",
                    "share": f"{shares[0][i]:.4f}",
                    "share of ones": f"{(i + 0.5) / BINS:.3f}",
                    "share of bits": f"{shares[1][i]:.4f}",
                }
            )
    return rows


def classifier(x: torch.Tensor, classes: torch.Tensor) -> nn.Module:
    """A hidden layer of 256 and a softmax, on representations (N, K) and their classes (N,), as for Table 8."""
    torch.manual_seed(learned.SEED)
    model = nn.Sequential(nn.Linear(x.shape[1], HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 10))
    adam = torch.optim.Adam(model.parameters(), CLASSIFIER_RATE)
    for _ in range(CLASSIFIER_STEPS):
        drawn = torch.randint(len(x), (CLASSIFIER_BATCH,))
        adam.zero_grad()
        F.cross_entropy(model(x[drawn]), classes[drawn]).backward()
        adam.step()
    return model


def classifier_rows(test: learned.Test) -> list[dict]:
    """Table 8: share of the 10,000 test digits that a classifier is right about, by the representation that it is
    trained and tested on."""
    rows, wanted = [], torch.from_numpy(test.wanted)
    for one in compared():
        (before, behind), (asked_before, asked_behind) = (
            representations(one, samples) for samples in (test.searched, test.asked)
        )
        models = {"before": classifier(before, test.data.classes), "behind": classifier(behind, test.data.classes)}
        right = lambda name, x: f"{(models[name](x).argmax(1) == wanted).float().mean().item():.3f}"
        own = {"before the threshold": right("before", asked_before), "behind it": right("behind", asked_behind)}
        rows.append(
            {
                "code": one.family,
                "bits": one.bits,
                **own,
                "trained before, tested behind": right("before", asked_behind),
            }
        )
    return rows


@torch.no_grad()
def representations(one: learned.Learned, samples: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Representations before and after the threshold, (N, K) each, as the decoder gets them: probabilities less 1/2 or
    means, and bits."""
    model, frame = code_package.read(one.read_settings(), stored.weights(one.name))
    centres = model.latent.centre(model.infer(frame.coordinates(samples)))
    before = model.latent.code(centres.sigmoid()) if model.latent.numbers == 1 else centres
    return before, model.latent.code((centres > model.threshold).float())


def scatter_rows(test: learned.Test) -> list[dict]:
    """Where the first test digits lie in a plane: pixels along two principal axes, two discriminants and those of large
    margins, and codes of two units."""
    frame = Frame.of(test.searched, learned.AXES)
    pixels, asked = frame.coordinates(test.searched), frame.coordinates(test.asked[:SCATTERED])
    planes = {
        "pixels, principal axes": projections.principal_directions(pixels, 2).points(asked),
        "pixels, discriminants": projections.discriminants(pixels, test.data.classes, 2).points(asked),
        "pixels, LMNN": projections.large_margins(
            pixels[:MARGINS], test.data.classes[:MARGINS], 2, MARGIN_STEPS
        ).points(asked),
    }
    planes |= {one.family: learned.encoder(one)(test.asked[:SCATTERED]) for one in learned.PLANES}
    places = {
        f"{name}, {axis}": points[:, i].tolist() for name, points in planes.items() for i, axis in enumerate("xy")
    }
    classes = test.wanted[:SCATTERED].tolist()
    return [
        {"class": classes[i], **{name: f"{values[i]:.4g}" for name, values in places.items()}}
        for i in range(len(classes))
    ]


def picture_rows(data: Path) -> list[dict]:
    """Share of the 500 held-out pictures of CIFAR-10 that nearest neighbours give another class, in per cent."""
    of = labelled.load("cifar", data)
    among = ranking.Collection(of.classes.numpy(), of.held_out_classes.numpy())
    points: dict[str, learned.Encode] = {
        "pixels": lambda samples: samples,
        "principal axes": Frame.of(of.training, learned.AXES).coordinates,
    }
    points |= {one.family: learned.encoder(one) for one in learned.PICTURES}
    rows = []
    for name, encode in points.items():
        searched, asked = encode(of.training), encode(of.held_out)
        errors = ranking.vote_errors(searched, asked, among, NEIGHBOURS)
        rows.append(
            {
                "points": name,
                "units": searched.shape[1],
                **{f"{count}-NN": f"{100 * error:.1f}" for count, error in errors.items()},
            }
        )
    return rows


@torch.no_grad()
def styles(test: learned.Test) -> np.ndarray:
    """Figure 6 of Salakhutdinov and Hinton: a test digit of each class (rows) and free unit, decoded from its own split
    code with that unit alone moved (columns), in pixels of 0..1, (10 STYLES, 2 + STEPS_OF_STYLE, 28, 28); the first
    column is the digit, the last white. The units are those that vary most."""
    (one,) = (one for one in learned.POINTS if one.settings == "nca-deep-split")
    model, _ = learned.embedding_model(one)
    searched = encoded(model, test.searched)
    deviation, mean = searched.std(0), searched.mean(0)
    free = one.read_settings().classed + deviation[one.read_settings().classed :].argsort(descending=True)[:STYLES]
    rows = []
    for digit in range(10):
        given = test.asked[int((test.wanted == digit).argmax())][None]
        for unit in free.tolist():
            code = encoded(model, given).repeat(STEPS_OF_STYLE, 1)
            code[:, unit] = mean[unit] + deviation[unit] * torch.linspace(-LAST_SHARE, LAST_SHARE, STEPS_OF_STYLE)
            rows.append(torch.cat([given, model.encoder.decode(code).sigmoid(), torch.ones_like(given)]))
    return torch.stack(rows).view(10 * STYLES, -1, DIGIT, DIGIT).numpy()


def measure(data: Path) -> None:
    """Every number of the page, from the runs' weights."""
    test = learned.Test(data)
    figures.write_table("codes-table.csv", table(test, (*learned.HASHES, *learned.EMBEDDINGS)))
    figures.write_table("codes-neighbours.csv", points_table(test))
    figures.write_table("codes-scatter.csv", scatter_rows(test))
    figures.write_table("codes-pictures.csv", picture_rows(data))
    figures.write_table("codes-photographs.csv", photographs.rows(data))
    figures.write_table("codes-texts.csv", hash_rows(learned.Test(data, "packages"), learned.TEXTS))
    figures.write_table("codes-features.csv", hash_rows(learned.Test(data, "features"), learned.FEATURES))
    figures.write_table("codes-cifar.csv", hash_rows(learned.Test(data, "cifar"), learned.CIFAR))
    figures.write_table("codes-words.csv", word_rows())
    shown = styles(test)
    figures.save_tiles(
        shown.reshape(-1, DIGIT, DIGIT)[..., None].repeat(3, -1), STYLES * shown.shape[1], "codes-styles.png"
    )
    figures.write_table("codes-classifier.csv", classifier_rows(test))
    figures.write_table("codes-balls.csv", ball_rows(test))
    figures.write_table("codes-activations.csv", activation_rows(test))
