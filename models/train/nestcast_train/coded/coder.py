"""The frozen coder on whole photos, as arrays: what an encoder makes of one, and what a decoder knows at a cut.

A port of the Rust codec for photos whose sides are multiples of 64, from the shipped tables.bin (spec/bitstream.md,
"Quantiser" and "Linear transform"). A cut is given as the passes that each subband had, as in model.py; in a stream the
subband at the cut had a part of its pass. Tests compare it with its inverse; docs/experiments/network-for-each-range.md
has the comparison with Rust.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import math
import struct
from pathlib import Path

import numpy as np

from nestcast_train.coded import rotation_search
from nestcast_train.data import axes, rotations
from nestcast_train.photo.model import PASSES, PLANE_SCALE
from nestcast_train.photo.wavelet import norms_1d, reflect

LEVELS, SUBBANDS, PLANES = 6, 57, 15
CUT_PLANES = 9  # a cut can be in all of these but the last
SLICE_PIXELS, SLICE_ROWS = 196_608, 64
MAX_LEVEL = 2**15 - 1
DETAILS = 4  # levels whose details a window holds; the coarser ones are composed for the whole photo
COARSE = 2**DETAILS
CODE_BLOCK = 8  # coefficients each way that are coded together
# pixels that a window knows beyond its own, by level, so that its details' borders do not show
MARGINS = (32, 32, 64, 64)


@dataclasses.dataclass(frozen=True)
class Tables:
    """What the bytes and the linear decoder depend on, without the contexts: tables.bin."""

    id: str
    taps: np.ndarray  # (levels, 4 steps, 2)
    steps: np.ndarray  # (subbands,)
    offsets: np.ndarray  # (subbands, planes)

    @staticmethod
    def read(path: str | Path) -> Tables:
        data = Path(path).read_bytes()
        if len(data) not in (18754, 105156) or data[:5] != b"NSTM\x01":
            raise SystemExit(f"{path}: not the tables of version 1")
        records = [struct.unpack_from("<16f", data, 200 + 70 * subband) for subband in range(SUBBANDS)]
        table = np.array(records, np.float32)
        taps = np.array(struct.unpack_from("<48f", data, 8), np.float32).reshape(LEVELS, 4, 2)
        return Tables(hashlib.sha256(data).hexdigest()[:12], taps, table[:, 0], table[:, 1:])

    def steps_of(self, level: int) -> np.ndarray:
        """(components, bands) of a level's details."""
        return self.steps[first_subband(level) : first_subband(level) + 9].reshape(3, 3)


def first_subband(level: int) -> int:
    """The first subband of a level's details, in the order of the stream."""
    return 3 + 9 * (LEVELS - level)


def level_of(index: int) -> int:
    return LEVELS - max(index - 3, 0) // 9


def slices(height: int, width: int) -> list[range]:
    """Rows of pixels of each slice."""
    bands = -(-height // SLICE_ROWS)
    count = min(max(height * width // SLICE_PIXELS, 1), 64, bands)
    border = [min(i * bands // count * SLICE_ROWS, height) for i in range(count + 1)]
    return [range(a, b) for a, b in itertools.pairwise(border)]


# Wavelet. Details are (components, bands HL LH HH, h, w); all sides are even.


def shifted(source: np.ndarray, parity: int) -> list[np.ndarray]:
    """Sums, along the last axis, of the samples one and three before and after each sample of the other parity: near
    and far."""
    half = source.shape[-1]
    before, behind = (2, 1) if parity else (1, 2)
    outside = [*range(-before, 0), *range(half, half + behind)]
    ends = [source[..., reflect(2 * i + parity, 2 * half) // 2, None] for i in outside]
    line = np.concatenate([*ends[:before], source, *ends[before:]], -1)
    a, b, c, d = (line[..., i : i + half] for i in range(4))
    return [b + c, a + d]


def lift(even: np.ndarray, odd: np.ndarray, taps: np.ndarray, back: bool) -> None:
    """Runs the lifting steps along the last axis, or undoes them, in place."""
    for step in (3, 2, 1, 0) if back else (0, 1, 2, 3):
        target, source, parity = (odd, even, 0) if step % 2 == 0 else (even, odd, 1)
        near, far = shifted(source, parity)
        near *= taps[step, 0]
        far *= taps[step, 1]
        near += far
        if back:
            target -= near
        else:
            target += near


def lifted(x: np.ndarray, taps: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Low and high half along an axis."""
    x = np.swapaxes(x, axis, -1)
    even, odd = x[..., 0::2].copy(), x[..., 1::2].copy()
    lift(even, odd, taps, False)
    return np.swapaxes(even, axis, -1), np.swapaxes(odd, axis, -1)


def unlifted(low: np.ndarray, high: np.ndarray, taps: np.ndarray, axis: int) -> np.ndarray:
    even, odd = np.swapaxes(low, axis, -1).copy(order="K"), np.swapaxes(high, axis, -1).copy(order="K")
    lift(even, odd, taps, True)
    shape = list(low.shape)
    shape[axis] *= 2
    out = np.empty(shape, np.float32)
    lines = np.swapaxes(out, axis, -1)
    lines[..., 0::2], lines[..., 1::2] = even, odd
    return out


def decompose(planes: np.ndarray, taps: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """(3, H, W) -> the low band of level 6, and details of levels 1..6."""
    low, details = planes, []
    for level in range(LEVELS):
        (ll, lh), (hl, hh) = (lifted(half, taps[level], -2) for half in lifted(low, taps[level], -1))
        details.append(np.stack([hl, lh, hh], 1))
        low = ll
    return low, details


def compose(low: np.ndarray, details: list[np.ndarray], first: int, taps: np.ndarray) -> np.ndarray:
    """Undoes the levels `first` + len(details) - 1, ..., `first`."""
    for level, bands in reversed(list(enumerate(details, first))):
        own = taps[level - 1]
        left, right = unlifted(low, bands[:, 1], own, -2), unlifted(bands[:, 0], bands[:, 2], own, -2)
        low = unlifted(left, right, own, -1)
    return low


def rotated(bands: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Details (3, 3, h, w) with the components of each region times its matrix (down, across, 3, 3)."""
    down, across = matrix.shape[:2]
    h, w = (n // m for n, m in zip(bands.shape[2:], (down, across)))
    parts = bands.reshape(3, 3, down, h, across, w)
    weights = matrix.astype(np.float32).transpose(2, 3, 0, 1)[
        :, :, None, :, None, :, None
    ]  # to, from, 1, down, 1, across, 1
    return np.stack([sum(weights[i, j] * parts[j] for j in range(3)) for i in range(3)]).reshape(bands.shape)


# The encoder.


@dataclasses.dataclass
class Coded:
    """A photo's levels, at the end of its stream."""

    axes: np.ndarray  # (3, 3)
    angles: np.ndarray  # (H / 32, W / 32, 3)
    low: np.ndarray  # (3, H / 64, W / 64) whole numbers
    details: list[np.ndarray]  # by level, (3, 3, h, w)
    errors: np.ndarray  # (planes,): mean square error in RGB where each plane ends, about


def turned_details(
    picture: np.ndarray, tables: Tables, correct
) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, list[np.ndarray]]]:
    """The axes and the regions' angles that an encoder finds, and the low band and details under them; as `encode`."""
    own = axes.axes(axes.search(picture))
    planes = np.einsum("ij,hwj->ihw", own.astype(np.float32), picture.astype(np.float32) - 128) / np.float32(
        PLANE_SCALE
    )
    if correct is not None:
        planes = planes + correct(planes)
    low, details = decompose(planes, tables.taps)
    angles = []
    for rows in slices(*picture.shape[:2]):
        within = [
            bands[:, :, rows.start >> level : rows.stop >> level]
            for level, bands in enumerate(details[: rotation_search.COARSEST_LEVEL], 1)
        ]
        angles.append(
            rotation_search.rotations(
                within, [tables.steps_of(level) for level in range(1, rotation_search.COARSEST_LEVEL + 1)]
            )
        )
    angles = np.concatenate(angles)
    matrix = rotation_search.matrices(angles)
    for level in range(rotations.LEVELS):
        details[level] = rotated(details[level], matrix)
    return own, angles, (low, details)


def encode(picture: np.ndarray, tables: Tables, correct=None) -> Coded:
    """picture: (H, W, 3) 0..255, sides multiples of 64; `correct`: planes -> what the analysis network adds to them."""
    own, angles, (low, details) = turned_details(picture, tables, correct)
    exact = [low / tables.steps[:3, None, None]]
    exact += [details[level - 1] / tables.steps_of(level)[:, :, None, None] for level in range(LEVELS, 0, -1)]
    levels = [np.clip(np.trunc(bands), -MAX_LEVEL, MAX_LEVEL).astype(np.int16) for bands in exact]
    shape = picture.shape[:2]
    return Coded(own, angles, levels[0], levels[:0:-1], errors(by_subband(exact), tables, shape))


def by_subband(levels: list[np.ndarray]) -> list[np.ndarray]:
    """All subbands in the order of the stream."""
    return [band for bands in levels for band in bands.reshape(-1, *bands.shape[-2:])]


@dataclasses.dataclass
class Grid:
    """Where the coefficients of a level's subbands are in the order of the stream; (h, w) each."""

    slice_of: np.ndarray
    code_block: np.ndarray  # of 8 by 8, numbered through all slices
    turn: np.ndarray  # share of its slice's code blocks that come before its own

    @staticmethod
    def of(shape: tuple[int, int], level: int, rows: slice = slice(None), columns: slice = slice(None)) -> Grid:
        """For a photo of this size in pixels; only `rows` and `columns` of the level's coefficients."""
        _height, width = (n >> level for n in shape)
        across, first, lines = -(-width // CODE_BLOCK), 0, []
        for number, own in enumerate(slices(*shape)):
            count = (own.stop >> level) - (own.start >> level)
            blocks = max(across * -(-count // CODE_BLOCK), 1)
            row = np.arange(count) // CODE_BLOCK * across
            lines.append(np.stack([np.full(count, number), first + row, row / blocks, np.full(count, 1 / blocks)]))
            first += blocks
        slice_of, row, turn, share = np.concatenate(lines, 1)[:, rows, None]
        column = np.arange(width)[columns] // CODE_BLOCK
        return Grid(slice_of.repeat(len(column), 1), row + column, (turn + share * column).astype(np.float32))

    def neighbours(self) -> Neighbours:
        slice_of, code_block = (bordered(part.astype(np.int32) + 1) for part in (self.slice_of, self.code_block))
        width = self.slice_of.shape[1] + 2
        first, end = width + 1, slice_of.size - width - 1
        directions = []
        for offset in (y * width + x for y in (-1, 0, 1) for x in (-1, 0, 1) if y or x):
            there = slice(first + offset, end + offset)
            seen = slice_of[first:end] == slice_of[there]
            directions.append((there, seen, seen & (code_block[there] <= code_block[first:end])))
        return slice(first, end), directions


# In arrays of `bordered`: the coefficients; for each of the eight directions the neighbours there, whether coefficient
# and neighbour are in one slice, and whether, too, the neighbour's block is not later.
Neighbours = tuple[slice, list[tuple[slice, np.ndarray, np.ndarray]]]


def bordered(part: np.ndarray) -> np.ndarray:
    """(h, w) with a zero all around, as one line."""
    out = np.zeros([n + 2 for n in part.shape], part.dtype)
    out[1:-1, 1:-1] = part
    return out.ravel()


def near(before: np.ndarray, now: np.ndarray, neighbours: Neighbours, open_to=None) -> np.ndarray:
    """Which coefficients pass 0 of a plane codes. Those of `before` are significant already, those of `now` become so
    in this plane. A coefficient is coded if it is next to one of `before`, or to one that the pass found in the same or
    an earlier block. `open_to`: the coefficients that the pass has reached."""
    shape, (here, directions) = before.shape, neighbours
    before = bordered(before)
    closed = before if open_to is None else before | ~bordered(open_to)
    can_grow, fresh, out = (bordered(now) & ~closed)[here], np.zeros_like(before), np.zeros_like(before)
    for there, seen, _ in directions:
        out[here] |= before[there] & seen
    out &= ~closed
    fresh[here] = out[here] & can_grow
    while fresh.any():
        more = np.zeros_like(before)
        for there, _, earlier in directions:
            more[here] |= fresh[there] & earlier
        more &= ~(out | closed)
        out |= more
        fresh[here] = more[here] & can_grow
    return out.reshape([n + 2 for n in shape])[1:-1, 1:-1]


norms_of_levels = functools.cache(lambda: norms_1d(LEVELS))


def errors(subbands: list[np.ndarray], tables: Tables, shape: tuple[int, int]) -> np.ndarray:
    norms = norms_of_levels()
    out = np.full(CUT_PLANES, 1 / 12)
    for index, band in enumerate(subbands):
        low, high = norms[level_of(index) - 1]
        norm = low * low if index < 3 else (high * low, low * high, high * high)[index % 3]
        magnitude = np.abs(band)
        for plane in range(CUT_PLANES):
            step = 2.0**plane
            found = np.floor(magnitude / step)
            point = np.where(found > 0, (found + tables.offsets[index, plane]) * step, 0)
            out[plane] += np.square(magnitude - point).sum() * (norm * tables.steps[index]) ** 2 / math.prod(shape)
    return out


# The decoder.


@dataclasses.dataclass
class Known:
    """What a decoder knows of the details of one level at a cut: (9 subbands, h, w) each."""

    value: np.ndarray  # reconstructed, in pixels' units, not rotated back
    significant: np.ndarray  # truth values


def passes(cut: float) -> np.ndarray:
    """(subbands,): passes of the current plane that each subband had; the fraction is the share of its blocks that had
    one more."""
    position = (1 - (cut - math.floor(cut))) * PASSES * SUBBANDS
    began = position - np.arange(SUBBANDS)
    turn = np.clip(np.floor(began / SUBBANDS), -1, PASSES - 1)  # the last pass that began
    return np.where(turn < 0, 0, turn + np.minimum(began - turn * SUBBANDS, 1))


def known(levels: np.ndarray, first: int, cut: float, tables: Tables, grid: Grid) -> Known:
    """What is known of the subbands from `first` on of one level at a cut; levels: (subbands, h, w) whole numbers."""
    plane, done = math.floor(cut), passes(cut)[first : first + len(levels)]
    magnitude, neighbours = np.abs(levels), None
    value, significant = (np.empty(levels.shape, kind) for kind in (np.float32, bool))
    for i, turns in enumerate(done):
        own, index = magnitude[i], first + i
        fine, coarse = (tables.offsets[index, min(p, PLANES - 1)] * np.float32(2.0**p) for p in (plane, plane + 1))
        if turns in (0, PASSES):
            at = plane if turns else plane + 1
            kept = own >> at << at
            point = fine if turns else coarse
        else:
            neighbours = neighbours or grid.neighbours()
            arrived = arrival(own, plane, turns, grid, neighbours)
            kept = np.where(arrived, own >> plane << plane, own >> (plane + 1) << (plane + 1))
            point = np.where(arrived, fine, coarse)
        np.greater(kept, 0, out=significant[i])
        value[i] = (kept + significant[i] * point) * tables.steps[index]
    np.copysign(value, levels, out=value)
    return Known(value, significant)


def arrival(magnitude: np.ndarray, plane: int, turns: float, grid: Grid, neighbours) -> np.ndarray:
    """Which coefficients of a subband are known to `plane`, after `turns` passes of it."""
    before, now = magnitude >> (plane + 1) > 0, magnitude >> plane > 0
    whole, share = int(turns), turns - int(turns)
    come = grid.turn < share
    likely = near(before, now, neighbours, None if whole else come)
    if whole == 0:
        return likely
    if whole == 1:
        return likely | before & come
    return likely | before | come


def coarse(coded: Coded, cut: float, tables: Tables) -> np.ndarray:
    """(3, H / 16, W / 16): the low band below the window's details, of the whole photo."""
    shape = tuple(n * rotation_search.SIDE for n in coded.angles.shape[:2])
    low = known(coded.low, 0, cut, tables, Grid.of(shape, LEVELS)).value
    details = []
    for level in range(DETAILS + 1, LEVELS + 1):
        own = coded.details[level - 1]
        bands = known(
            own.reshape(9, *own.shape[2:]), first_subband(level), cut, tables, Grid.of(shape, level)
        ).value.reshape(own.shape)
        details.append(
            rotated(bands, rotation_search.matrices(coded.angles).swapaxes(2, 3))
            if level <= rotations.LEVELS
            else bands
        )
    return compose(low, details, DETAILS + 1, tables.taps)


def window(
    coded: Coded, cut: float, tables: Tables, y: int, x: int, size: tuple[int, int]
) -> tuple[np.ndarray, list[Known]]:
    """Planes (3, *size) that the linear decoder has at a cut, from pixel (y, x); place and size are multiples of 32.
    With them, what is known of the details of levels 1..4 there."""
    whole = tuple(n * rotation_search.SIDE for n in coded.angles.shape[:2])
    asked = [(at, at + n) for at, n in zip((y, x), size)]
    low, around, knowledge = coarse(coded, cut, tables), [(0, n) for n in whole], []
    for level, margin in zip(range(DETAILS, 0, -1), MARGINS[::-1]):
        own = [(max(0, start - margin), min(n, end + margin)) for (start, end), n in zip(asked, whole)]
        low, around = low[within(own, around, level)], own
        rows, columns = (slice(start >> level, end >> level) for start, end in own)
        levels, grid = np.asarray(coded.details[level - 1][:, :, rows, columns]), Grid.of(whole, level, rows, columns)
        bands = known(levels.reshape(9, *levels.shape[2:]), first_subband(level), cut, tables, grid)
        angles = coded.angles[
            tuple(slice(start // rotation_search.SIDE, end // rotation_search.SIDE) for start, end in own)
        ]
        details = rotated(bands.value.reshape(levels.shape), rotation_search.matrices(angles).swapaxes(2, 3))
        inner = within(asked, own, level)
        knowledge.append(Known(*(part[inner] for part in (bands.value, bands.significant))))
        low = compose(low, [details], level, tables.taps)
    return low[within(asked, around, 0)], knowledge[::-1]


def within(part: list[tuple[int, int]], whole: list[tuple[int, int]], level: int) -> tuple[slice, ...]:
    """Where in arrays of a level, of the pixels `whole`, the pixels `part` are: (start, end) down and across."""
    return slice(None), *(
        slice((start - first) >> level, (end - first) >> level) for (start, end), (first, _) in zip(part, whole)
    )


def to_rgb(planes: np.ndarray, own: np.ndarray) -> np.ndarray:
    """(3, h, w) planes -> (h, w, 3) samples as floats, not rounded."""
    return np.einsum("ij,ihw->hwj", own.astype(np.float32), planes) * np.float32(PLANE_SCALE) + 128
