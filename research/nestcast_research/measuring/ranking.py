"""How well codes find members of the same class: mean average precision, precision, recall, balls of a radius, nearest
neighbours' vote."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

CHUNK = 250  # queries at a time
PRECISION_AT = (10, 100)
RECALL_AT = 100


@dataclass
class Collection:
    """The classes of the collection, (N,), and of the queries, (Q,)."""

    classes: np.ndarray
    wanted: np.ndarray


def hamming(codes: torch.Tensor, queries: torch.Tensor) -> np.ndarray:
    """Bits (N, K), (Q, K) -> distances (Q, N)."""
    signs, asked = 2.0 * codes.float() - 1, 2.0 * queries.float() - 1
    return ((codes.shape[1] - asked @ signs.t()) / 2).round().to(torch.int16).numpy()


def ranked(codes: torch.Tensor, queries: torch.Tensor, of: Collection) -> dict[str, float]:
    """MAP over the whole Hamming ranking, precision at 10 and 100, recall at 100; among equally near codes the first in
    the collection is first."""
    sums: dict[str, float] = {}
    for start in range(0, len(queries), CHUNK):
        distance = hamming(codes, queries[start : start + CHUNK])
        for row, label in zip(distance, of.wanted[start : start + CHUNK]):
            same = (of.classes == label)[np.argsort(row, kind="stable")]
            for name, value in measures(same).items():
                sums[name] = sums.get(name, 0.0) + value / len(queries)
    return sums


def measures(same: np.ndarray) -> dict[str, float]:
    """The measures of one ranking. same (N,), nearest first: whether each is of the query's class."""
    places = same.nonzero()[0]
    if not len(places):
        return {"MAP": 0.0, **{f"precision at {depth}": 0.0 for depth in PRECISION_AT}, f"recall at {RECALL_AT}": 0.0}
    average = float((np.arange(1, len(places) + 1) / (places + 1)).mean())
    precision = {f"precision at {depth}": float(same[:depth].mean()) for depth in PRECISION_AT}
    return {"MAP": average, **precision, f"recall at {RECALL_AT}": float(same[:RECALL_AT].sum() / len(places))}


def balls(codes: torch.Tensor, queries: torch.Tensor, of: Collection, radii: range) -> list[dict[str, float]]:
    """For all codes within each radius: the mean precision (0 where none is found), the mean recall, and the mean
    number found."""
    rows = {radius: np.zeros(3) for radius in radii}
    for start in range(0, len(queries), CHUNK):
        distance = hamming(codes, queries[start : start + CHUNK])
        same = of.classes[None] == of.wanted[start : start + CHUNK, None]
        for radius, sums in rows.items():
            inside = distance <= radius
            hits, found = (inside & same).sum(1), inside.sum(1)
            sums += [(hits / np.maximum(found, 1)).sum(), (hits / np.maximum(same.sum(1), 1)).sum(), found.sum()]
    names = ("precision", "recall", "found")
    return [{"radius": radius, **dict(zip(names, sums / len(queries)))} for radius, sums in rows.items()]


def vote_errors(points: torch.Tensor, asked: torch.Tensor, of: Collection, counts: tuple[int, ...]) -> dict[int, float]:
    """For each of `counts`: the share of queries (Q, D) that the vote of this many nearest points (N, D), by Euclidean
    distance, gives another class. Of classes with equal votes the one with the nearest member wins. Bits are points
    too."""
    classes, wrong = torch.from_numpy(of.classes.astype(np.int64)), dict.fromkeys(counts, 0)
    points, asked = points.float(), asked.float()
    norms = points.square().sum(1)
    for start in range(0, len(asked), CHUNK):
        part = asked[start : start + CHUNK]
        nearest = (norms - 2 * part @ points.t()).topk(max(counts), largest=False).indices
        votes = classes[nearest]
        for count in counts:
            winner = torch.tensor([first_of_most(row) for row in votes[:, :count].tolist()])
            wrong[count] += int((winner != torch.from_numpy(of.wanted[start : start + CHUNK].astype(np.int64))).sum())
    return {count: number / len(asked) for count, number in wrong.items()}


def first_of_most(votes: list[int]) -> int:
    """The class with most votes; among equals the first."""
    return max(dict.fromkeys(votes), key=votes.count)
