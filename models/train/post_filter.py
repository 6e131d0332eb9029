"""The post-filter of a package's tables, ported to arrays (spec/bitstream.md, "Post-filter"), for whom learns behind it.

The Rust codec fits it (export.py has it do so); here it is applied.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from coder import Known

START, LENGTH = 18754, 105156  # of the tables' bytes: where it begins, and all of them
CUTS = (1, 3, 5)
CLASSES, PHASES = 180, 4
UNIT, MOST = 64, 32767  # samples are integers in 1/64
MAX_CLIP, MAX_CHANGE, FIRST_LIMIT = 8191, 4095, 10
PAIRS = ((0, 1), (0, 2), (1, 0), (2, 0), (1, 1), (1, -1), (1, 2), (1, -2), (2, 1), (2, -1), (2, 2), (2, -2))  # down, right
NEAR, CROSS = PAIRS[:6], (PAIRS[0], PAIRS[2])
# Of each component's filter: from which component, which neighbours.
TAPS = (((0, PAIRS),), ((1, NEAR), (0, NEAR), (2, CROSS)), ((2, NEAR), (0, NEAR), (1, CROSS)))
BORDER = 3  # samples around a picture that repeat its outermost ones


def moved(padded: np.ndarray, dy: int, dx: int) -> np.ndarray:
    height, width = (n - 2 * BORDER for n in padded.shape)
    return padded[BORDER + dy : BORDER + dy + height, BORDER + dx : BORDER + dx + width]


def change(samples: np.ndarray, dy: int, dx: int) -> np.ndarray:
    """(H / 4, W / 4): sums of differences over 8 x 8 samples around each block."""
    wide = np.pad(samples, BORDER + 2, mode="edge")
    each = np.minimum(np.abs(moved(wide, dy, dx) - moved(wide, -dy, -dx)), MAX_CHANGE)
    half = each.reshape(each.shape[0] // 4, 4, each.shape[1] // 4, 4).sum((1, 3))
    return half[:-1, :-1] + half[:-1, 1:] + half[1:, :-1] + half[1:, 1:]


def clip_at(step: int, cut: float) -> int:
    """What differences are clipped to."""
    position = int(cut * 2**20)
    return min(((step * (256 + (position >> 12 & 255))) << (position >> 20)) >> 8, MAX_CLIP)


def between(cut: float) -> tuple[int, int]:
    """The number of the finer table, and the share of the next one in 1/256."""
    from_first = min(max(int(cut * 2**20) >> 12, 256), 1280) - 256
    first = min(from_first // 512, 1)
    return first, (from_first - 512 * first) // 2


def classes(samples: np.ndarray, known: list[Known], clip: int, component: int) -> np.ndarray:
    """(H / 4, W / 4) classes of the blocks of planes that begin with a block; samples: (3, H, W)."""
    h, v, d, e = (change(samples[component], *way) for way in ((0, 1), (1, 0), (1, 1), (1, -1)))
    activity = sum((h + v >= FIRST_LIMIT * clip << k).astype(int) for k in range(8))
    upright = np.maximum(h, v) * np.minimum(d, e) >= np.maximum(d, e) * np.minimum(h, v)
    most = np.where(upright, np.maximum(h, v), np.maximum(d, e))
    least = np.where(upright, np.minimum(h, v), np.minimum(d, e))
    ways = np.where(upright, np.where(h > v, 1, 2), np.where(d > e, 3, 4))
    direction = np.where(2 * most > 3 * least, ways, 0)
    significant = np.zeros(h.shape, int)
    for level in (3, 2, 1):
        band = known[level - 1].significant[3 * component : 3 * component + 3].any(0)
        if level == 1:
            blocks = band.reshape(h.shape[0], 2, h.shape[1], 2).any((1, 3))
        else:
            blocks = band.repeat(level - 1, 0).repeat(level - 1, 1)
        significant = np.where(blocks, 4 - level, significant)
    return (activity * 5 + direction) * 4 + significant


def differences(samples: np.ndarray, clip: int, component: int) -> list[np.ndarray]:
    """Of every tap, clipped differences of opposite neighbours to the sample, summed."""
    out = []
    for source, pairs in TAPS[component]:
        here, padded = samples[source], np.pad(samples[source], BORDER, mode="edge")
        for y, x in pairs:
            out.append(sum(np.clip(moved(padded, sign * y, sign * x) - here, -clip, clip) for sign in (1, -1)))
    return out


class PostFilter:
    """step: in 1/64; taps: by component, (cuts, classes, phases, taps) in 1/256."""

    def __init__(self, step: int, taps: list[np.ndarray]):
        self.step, self.taps = step, taps

    @staticmethod
    def read(path: str | Path) -> PostFilter:
        """Out of tables.bin."""
        data = Path(path).read_bytes()
        if len(data) != LENGTH:
            raise SystemExit(f"{path}: tables without a post-filter")
        taps, at = [], START + 2
        for own in TAPS:
            shape = len(CUTS), CLASSES, PHASES, sum(len(pairs) for _, pairs in own)
            taps.append(np.frombuffer(data, np.int8, int(np.prod(shape)), at).reshape(shape).astype(np.int64))
            at += taps[-1].size
        return PostFilter(int.from_bytes(data[START : START + 2], "little"), taps)

    def apply(self, planes: np.ndarray, known: list[Known], cut: float) -> np.ndarray:
        """(3, H, W) planes, filtered; sides are multiples of 8."""
        samples = np.clip(np.round(planes.astype(np.float64) * UNIT), -MOST, MOST).astype(np.int64)
        clip, (first, share) = clip_at(self.step, cut), between(cut)
        height, width = samples.shape[1:]
        phase = np.arange(height)[:, None] % 2 * 2 + np.arange(width) % 2
        out = samples.copy()
        for component, taps in enumerate(self.taps):
            own = (taps[first] * (256 - share) + taps[first + 1] * share).reshape(CLASSES * PHASES, -1)
            number = classes(samples, known, clip, component).repeat(4, 0).repeat(4, 1) * PHASES + phase
            for k, difference in enumerate(differences(samples, clip, component)):
                product = own[number, k] * difference
                out[component] += product >> 16 if k % 2 == 0 else -(-product >> 16)
        return (out / UNIT).astype(np.float32)
