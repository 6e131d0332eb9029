"""Class filters behind the linear decoder: python filters.py --packed PACKED --out FILTERS.npz.

Every pixel of a plane gets a linear filter of few taps, from a table, by what the decoder knows there: how much the plane changes
against the cut's step, in which direction, on which levels a coefficient is significant, and where in the wavelet's grid the pixel
lies. A tap is the clipped difference of two opposite neighbours to the pixel. Least squares; between the cuts of the tables, in between.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import coder
from coder import Known
from model import PLANE_SCALE

CUTS = (1.0, 3.0, 5.0)  # that there is a table for
LIMITS = (0.04, 0.08, 0.16, 0.32, 0.64, 1.2, 2.4, 4.8)  # of activity, in steps of the cut
CLEAR = 1.5  # times as much change one way as across it is a direction
DIRECTIONS, SIGNIFICANCE, PHASES = 5, 4, 4
CLASSES = (len(LIMITS) + 1) * DIRECTIONS * SIGNIFICANCE * PHASES
CROSS = ((0, 1), (1, 0))
NEAR = ((0, 1), (0, 2), (1, 0), (2, 0), (1, 1), (1, -1))
ALL = (*NEAR, (1, 2), (1, -2), (2, 1), (2, -1), (2, 2), (2, -2))
# Of each component's filter: from which component, which neighbours.
TAPS = (((0, ALL),), ((1, NEAR), (0, NEAR), (2, CROSS)), ((2, NEAR), (0, NEAR), (1, CROSS)))
ONE = 256  # a coefficient is a byte, in 1/256
RIDGE = 1e-5  # of all classes together, towards the filter that serves all


def step_of(cut: float, step: float = 4.0) -> float:
    """The quantiser's step at a cut for a coefficient of norm 1, in planes."""
    return step / PLANE_SCALE * 2.0**cut


def moved(padded: np.ndarray, border: int, dy: int, dx: int) -> np.ndarray:
    height, width = (n - 2 * border for n in padded.shape)
    return padded[border + dy : border + dy + height, border + dx : border + dx + width]


def mean5(values: np.ndarray) -> np.ndarray:
    """Means of 5 by 5."""
    for axis in (0, 1):
        wide = [(2, 2) if axis == i else (0, 0) for i in (0, 1)]
        padded = np.swapaxes(np.pad(values, wide, mode="edge"), 0, axis)
        values = np.swapaxes(sum(padded[i : len(padded) - 4 + i] for i in range(5)) / 5, 0, axis)
    return values


def classes(planes: np.ndarray, known: list[Known], cut: float, component: int) -> np.ndarray:
    """(H, W) numbers of the filters; planes start at even pixels of the photo."""
    plane = np.pad(planes[component], 1, mode="edge")
    change = [mean5(np.abs(moved(plane, 1, -y, -x) - moved(plane, 1, y, x))) / 2 for y, x in ((0, 1), (1, 0), (1, 1), (1, -1))]
    activity = np.digitize((change[0] + change[1]) / 2 / step_of(cut), LIMITS)

    def ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.maximum(a, b) / np.maximum(np.minimum(a, b), 1e-3)

    upright, diagonal = ratio(*change[:2]), ratio(*change[2:])
    ways = np.where(upright >= diagonal, np.where(change[0] > change[1], 1, 2), np.where(change[2] > change[3], 3, 4))
    direction = np.where(np.maximum(upright, diagonal) < CLEAR, 0, ways)
    significant = np.zeros(planes.shape[1:], int)
    for level in (3, 2, 1):
        band = known[level - 1].significant[3 * component : 3 * component + 3].any(0)
        significant = np.where(band.repeat(2**level, 0).repeat(2**level, 1), SIGNIFICANCE - level, significant)
    height, width = planes.shape[1:]
    phase = np.arange(height)[:, None] % 2 * 2 + np.arange(width) % 2
    return ((activity * DIRECTIONS + direction) * SIGNIFICANCE + significant) * PHASES + phase


def taps(planes: np.ndarray, cut: float, component: int) -> np.ndarray:
    """(taps, H, W): clipped differences of opposite neighbours to the pixel, summed."""
    most, out = np.float32(step_of(cut)), []
    for source, neighbours in TAPS[component]:
        here, padded = planes[source], np.pad(planes[source], 2, mode="reflect")
        for y, x in neighbours:
            pair = (np.clip(moved(padded, 2, sign * y, sign * x) - here, -most, most) for sign in (1, -1))
            out.append(sum(pair))
    return np.stack(out)


class Filters:
    """tables: by component, (cuts, classes, taps) bytes."""

    def __init__(self, tables: list[np.ndarray]):
        self.tables = tables

    @staticmethod
    def read(path: str | Path) -> Filters:
        with np.load(path) as file:
            tables = [file[f"component{i}"] for i in range(3)]
        if any(table.shape != (len(CUTS), CLASSES, sum(len(n) for _, n in own)) for table, own in zip(tables, TAPS)):
            raise SystemExit(f"{path}: not the filters of this version")
        return Filters(tables)

    def write(self, path: str | Path) -> None:
        np.savez_compressed(path, **{f"component{i}": table for i, table in enumerate(self.tables)})

    def apply(self, planes: np.ndarray, known: list[Known], cut: float) -> np.ndarray:
        """(3, H, W) planes, filtered."""
        out = planes.astype(np.float32)
        for component, table in enumerate(self.tables):
            own = sum(share * table[i].astype(np.float32) for i, share in between(cut)) / np.float32(ONE)
            chosen = own.T[:, classes(planes, known, cut, component)]  # (taps, H, W)
            out[component] += (chosen * taps(planes, cut, component)).sum(0)
        return out


def between(cut: float) -> list[tuple[int, float]]:
    """The tables for a cut, and their shares."""
    at = float(np.interp(cut, CUTS, np.arange(len(CUTS))))
    first = min(int(at), len(CUTS) - 2)
    return [(first, 1 - at + first), (first + 1, at - first)]


class Equations:
    """The normal equations of all filters, from any number of windows."""

    def __init__(self):
        sizes = [sum(len(neighbours) for _, neighbours in own) for own in TAPS]
        self.squares = [np.zeros((len(CUTS), CLASSES, n, n)) for n in sizes]
        self.products = [np.zeros((len(CUTS), CLASSES, n)) for n in sizes]

    def add(self, planes: np.ndarray, known: list[Known], cut: float, target: np.ndarray, weight: float) -> None:
        for component in range(3):
            number = classes(planes, known, cut, component).ravel()
            order = np.argsort(number, kind="stable")
            given = taps(planes, cut, component).reshape(-1, number.size).T[order]
            missing = (target[component] - planes[component]).ravel()[order]
            ends = np.searchsorted(number[order], np.arange(CLASSES + 1))
            for one in np.flatnonzero(np.diff(ends)):
                own = slice(ends[one], ends[one + 1])
                square, product = given[own].T @ given[own], given[own].T @ missing[own]
                for table, share in between(cut):
                    self.squares[component][table, one] += weight * share * square
                    self.products[component][table, one] += weight * share * product

    def solve(self, ridge: float = RIDGE) -> Filters:
        tables = []
        for square, product in zip(self.squares, self.products):
            some = 1e-9 * np.eye(square.shape[-1])
            everything = square.sum(1)
            for_all = np.linalg.solve(everything + some, product.sum(1)[..., None])
            pull = ridge * everything[:, None] + some
            found = np.linalg.solve(square + pull, product[..., None] + pull @ for_all[:, None])[..., 0]
            tables.append(np.round(found * ONE).clip(-128, 127).astype(np.int8))
        return Filters(tables)


def main() -> None:
    from restoring import Packed  # which takes filters
    from settings import RestorerSettings

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packed", type=Path, required=True, help="what pack.py wrote")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--model", type=Path, default=Path(__file__).parent / "../artifacts/photo", help="package of the coder's tables")
    parser.add_argument("--windows", type=int, default=600)
    arguments = parser.parse_args()
    packed = Packed(arguments.packed, RestorerSettings("restorer", "filters", seed=79), coder.Tables.read(arguments.model / "tables.bin"))
    equations = Equations()
    for i in range(arguments.windows):
        one = packed.crop(np.random.default_rng([packed.settings.seed, i]))
        equations.add(one.planes, one.known, one.cut, one.target, 1 / one.error)
        if (i + 1) % 50 == 0:
            print(f"{i + 1} of {arguments.windows}", flush=True)
    equations.solve().write(arguments.out)


if __name__ == "__main__":
    main()
