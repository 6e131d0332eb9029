"""What the entropy coder would save if it knew the restored picture.

python -m nestcast_research.measuring.guesses SYMBOLS... (models/examples/symbols.rs writes these).

Where a plane ends, the known coefficients become planes. These are restored and go through the wavelet and the
rotations again, which gives a signed guess of every coefficient that is still zero. Signs and significances of the next
plane are then coded as the coder did, with each probability corrected by the guess. Logistic regressions on every other
photo, one for each plane, level and kind of symbol, find the corrections.
"""

from __future__ import annotations

import argparse
import dataclasses
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch

from nestcast_train.coded import coder, rotation_search
from nestcast_train.coded.post_filter import PostFilter
from nestcast_train.data import rotations
from nestcast_train.export import manifest, photo_package
from nestcast_train.places import ARTIFACTS

PHOTO = ARTIFACTS / "photo"
PLANES = (1, 2, 3, 4)  # whose symbols are looked at
FIRST_RUN, FIRST_SIGN, BEHIND_SIGNS = 5760, 6480, 6618  # contexts (spec/bitstream.md, "Contexts")
BINS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.6)  # of a guess's size, in steps of the plane
SYMBOL = np.dtype(
    [
        ("context", "<u2"),
        ("one", "<u2"),
        ("bit", "?"),
        ("plane", "u1"),
        ("subband", "u1"),
        ("zero", "u1"),
        ("x", "<u2"),
        ("y", "<u2"),
    ]
)
GUESSED = [
    ("photo", "i2"),
    ("plane", "i1"),
    ("level", "i1"),
    ("chroma", "?"),
    ("sign", "?"),
    ("bit", "?"),
    ("logit", "f4"),
]
DETAILS = range(1, coder.LEVELS + 1)


@dataclasses.dataclass
class Slice:
    angles: np.ndarray  # (h / 32, w / 32, 3)
    levels: list[np.ndarray]  # by subband
    symbols: np.ndarray  # of SYMBOL


def read(path: Path) -> list[Slice]:
    data, at, out = path.read_bytes(), 8, []

    def take(kind, count: int) -> np.ndarray:
        nonlocal at
        at += count * np.dtype(kind).itemsize
        return np.frombuffer(data, kind, count, at - count * np.dtype(kind).itemsize)

    width, height = (int(n) for n in np.frombuffer(data, "<u4", 2))
    for rows in coder.slices(height, width):
        (regions,) = take("<u4", 1)
        angles = take("i1", 3 * regions).reshape(-1, width // 32, 3)
        sides = [
            (len(rows) >> coder.level_of(index), width >> coder.level_of(index)) for index in range(coder.SUBBANDS)
        ]
        levels = [take("<i2", h * w).reshape(h, w) for h, w in sides]
        out.append(Slice(angles, levels, take(SYMBOL, int(take("<u4", 1)[0]))))
    return out


def known(slice_: Slice, end: int, tables: coder.Tables) -> tuple[np.ndarray, list[coder.Known], np.ndarray]:
    """Where plane `end` ends: planes (3, h, w), what is known of the details of each level, and the regions' rotations
    that are known."""
    low = coder.known(np.stack(slice_.levels[:3]), 0, end, tables, None).value
    bands = []
    for level in DETAILS:
        first = coder.first_subband(level)
        bands.append(coder.known(np.stack(slice_.levels[first : first + 9]), first, end, tables, None))
    matrices, (down, across) = rotation_search.matrices(slice_.angles), slice_.angles.shape[:2]
    told = np.zeros((down, across), bool)
    for own in bands[: rotations.LEVELS]:
        one = own.significant.any(0)
        told |= one.reshape(down, one.shape[0] // down, across, -1).any((1, 3))
    details = []
    for level, own in enumerate(bands, 1):
        values = own.value.reshape(3, 3, *own.value.shape[1:])
        details.append(coder.rotated(values, matrices.swapaxes(2, 3)) if level <= rotations.LEVELS else values)
    return coder.compose(low, details, 1, tables.taps), bands, np.where(told[..., None, None], matrices, np.eye(3))


Restored = Callable[[np.ndarray, list[coder.Known], float], np.ndarray]


def restorers() -> dict[str, Restored]:
    """Planes, what is known of the details and the cut -> planes."""
    filters, behind = (PostFilter.read(manifest.file(PHOTO, file)) for file in ("tables.bin", "post_filter.bin"))
    cuts = tomllib.loads((PHOTO / manifest.MANIFEST).read_text(encoding="utf-8"))["ranges"]["cut"]

    def deep(planes: np.ndarray, bands: list[coder.Known], cut: float) -> np.ndarray:
        network = PHOTO / manifest.synthesis_file(photo_package.network_of(cuts, cut))
        corrected = (
            planes
            + photo_package.corrected(network, torch.from_numpy(planes[None]), cut=np.array([cut], np.float32)).numpy()[
                0
            ]
        )
        return behind.apply(corrected, bands, cut)

    return {"filters": filters.apply, "deep": deep}


def guessed(
    photo: int, slice_: Slice, restored: dict[str, Restored], tables: coder.Tables, share: float, random
) -> Iterator[np.ndarray]:
    """A share of the symbols of coefficients, with the guesses, in steps of the plane."""
    for plane in PLANES:
        planes, bands, matrices = known(slice_, plane + 1, tables)
        guesses = {}
        for name, restore in restored.items():
            details = coder.decompose(restore(planes, bands, float(plane + 1)), tables.taps)[1]
            guesses[name] = [
                coder.rotated(own, matrices) if level <= rotations.LEVELS else own
                for level, own in enumerate(details, 1)
            ]
        own = slice_.symbols[
            (slice_.symbols["plane"] == plane)
            & (slice_.symbols["subband"] < coder.SUBBANDS)
            & (slice_.symbols["subband"] >= 3)
        ]
        own = own[random.random(len(own)) < share]
        for subband in np.unique(own["subband"]):
            some, level = own[own["subband"] == subband], coder.level_of(int(subband))
            component, band = divmod((int(subband) - 3) % 9, 3)
            x, y, one = some["x"], some["y"], some["one"] / 32768
            out = np.zeros(len(some), GUESSED + [(name, "f4") for name in guesses])
            sign = some["context"] >= FIRST_SIGN
            negative = slice_.levels[subband][y, x] < 0
            logit = np.log(one / (1 - one))
            # For a sign, 1 is negative; half the constellations are coded as their opposites.
            out["logit"] = np.where(sign & (some["bit"] != negative), -logit, logit)
            out["bit"] = np.where(sign, negative, some["bit"])
            out["photo"], out["plane"], out["level"], out["chroma"], out["sign"] = (
                photo,
                plane,
                min(level, 3),
                component > 0,
                sign,
            )
            for name, levels in guesses.items():
                out[name] = levels[level - 1][component, band, y, x] / (tables.steps[subband] * 2.0**plane)
            yield out


def bits(logit: np.ndarray, bit: np.ndarray) -> np.ndarray:
    return np.logaddexp(0, np.where(bit, -logit, logit)) / np.log(2)


def fitted(given: np.ndarray, bit: np.ndarray) -> np.ndarray:
    """Weights of the logistic regression of least code length, by Newton's method from the coder's own probability
    on."""
    weights = np.eye(given.shape[1])[0]
    for _ in range(8):
        one = 1 / (1 + np.exp(-given @ weights))
        curves = (given * (one * (1 - one))[:, None]).T @ given + np.eye(given.shape[1])
        weights += np.linalg.solve(curves, given.T @ (bit - one) - weights + np.eye(len(weights))[0])
    return weights


def given(symbols: np.ndarray, guess: np.ndarray | None, sign: bool) -> np.ndarray:
    """The inputs of a regression, (N, numbers): the coder's probability first."""
    columns = [symbols["logit"]] if sign else [symbols["logit"], np.ones(len(symbols))]
    if guess is not None:
        size = np.digitize(np.abs(guess), BINS)
        columns += [(size == k) * (np.sign(guess) if sign else 1) for k in range(1, len(BINS) + 1)]
    return np.stack(columns, 1).astype(np.float64)


def lengths(symbols: np.ndarray, name: str | None, sign: bool) -> np.ndarray:
    """Code lengths of symbols of one kind, each by what was fitted on the photos of the other half."""
    told, out = given(symbols, None if name is None else symbols[name], sign), np.zeros(len(symbols))
    half = symbols["photo"] % 2
    for own in (0, 1):
        out[half == own] = bits(
            told[half == own] @ fitted(told[half != own], symbols["bit"][half != own]), symbols["bit"][half == own]
        )
    return out


def savings(symbols: np.ndarray, name: str) -> np.ndarray:
    """By plane, (signs, significances): the share of their bits that the guesses of this name save."""
    out = np.zeros((len(PLANES), 2, 2))
    for at, plane in enumerate(PLANES):
        for sign in (True, False):
            for level in np.unique(symbols["level"]):
                for chroma in (False, True):
                    own = symbols[
                        (symbols["plane"] == plane)
                        & (symbols["sign"] == sign)
                        & (symbols["level"] == level)
                        & (symbols["chroma"] == chroma)
                    ]
                    if len(np.unique(own["photo"] % 2)) == 2:
                        out[at, int(not sign)] += [lengths(own, None, sign).sum(), lengths(own, name, sign).sum()]
    return (out[..., 0] - out[..., 1]) / np.maximum(out[..., 0], 1e-9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("symbols", nargs="+", type=Path)
    parser.add_argument("--share", type=float, default=0.1, help="share of the symbols that is looked at")
    settings = parser.parse_args()
    tables, restored, random = (
        coder.Tables.read(manifest.file(PHOTO, "tables.bin")),
        restorers(),
        np.random.default_rng(0),
    )
    parts, totals, counts, pixels = [], np.zeros((coder.PLANES, 3)), np.zeros((coder.PLANES, 3)), 0
    for photo, path in enumerate(settings.symbols):
        for slice_ in read(path):
            symbols = slice_.symbols
            kind = np.where(
                symbols["context"] < FIRST_RUN,
                1,
                np.where((symbols["context"] >= FIRST_SIGN) & (symbols["context"] < BEHIND_SIGNS), 0, 2),
            )
            own = symbols["one"] / 32768
            np.add.at(totals, (symbols["plane"], kind), -np.log2(np.where(symbols["bit"], own, 1 - own)))
            np.add.at(counts, (symbols["plane"], kind), 1)
            pixels += slice_.angles.shape[0] * slice_.angles.shape[1] * 32 * 32
            parts += guessed(photo, slice_, restored, tables, settings.share, random)
        print(path, flush=True)
    rate = totals[::-1].sum(1).cumsum()[::-1] / pixels
    print(
        "plane: bits a pixel where it ends; of each kind symbols a pixel and share of the bits: "
        "signs, significances, all others"
    )
    for plane in range(coder.PLANES - 1, -1, -1):
        if counts[plane].any():
            kinds = [
                f"{n / pixels:.3f} {share:.1%}" for n, share in zip(counts[plane], totals[plane] / totals[plane].sum())
            ]
            print(f"{plane}: {rate[plane]:.3f}; {', '.join(kinds)}")
    print("plane: share of the bits that guesses save: of signs, of significances, of all")
    for name in restored:
        for plane, saved in zip(PLANES, savings(np.concatenate(parts), name)):
            print(
                f"{name} {plane}: {saved[0]:.2%}, {saved[1]:.2%}, "
                f"{(saved * totals[plane, :2]).sum() / totals[plane].sum():.2%}"
            )


if __name__ == "__main__":
    main()
