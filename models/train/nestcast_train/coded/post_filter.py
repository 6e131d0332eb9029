"""The post-filter of a package, in its tables or after its network, ported to arrays (spec/bitstream.md,
"Post-filter"), for networks that learn after it. The Rust codec fits it (export/photo_package.py calls it); here it is
applied.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nestcast_train.coded.coder import Known

START, LENGTH = 18754, 105156  # of the tables' bytes: where it begins, and all of them
CUTS = (1, 3, 5)
CLASSES, PHASES = 180, 4
UNIT, MOST = 64, 32767  # samples are integers in 1/64
MAX_CLIP, MAX_CHANGE, FIRST_LIMIT = 8191, 4095, 10
# down, right
PAIRS = ((0, 1), (0, 2), (1, 0), (2, 0), (1, 1), (1, -1), (1, 2), (1, -2), (2, 1), (2, -1), (2, 2), (2, -2))
NEAR, CROSS = PAIRS[:6], (PAIRS[0], PAIRS[2])
# By component of a filter: from which component, which neighbours.
TAPS = (((0, PAIRS),), ((1, NEAR), (0, NEAR), (2, CROSS)), ((2, NEAR), (0, NEAR), (1, CROSS)))
# The same by source and neighbours: the components that look there, and the numbers of their taps.
PLACES = {
    (source, pair): [
        (c, own.index((source, pair)))
        for c, own in enumerate([(s, p) for s, pairs in taps for p in pairs] for taps in TAPS)
        if (source, pair) in own
    ]
    for source in range(3)
    for pair in (PAIRS if source == 0 else NEAR)
}
REACH = 2  # of the taps
WIDE = 2 * REACH  # samples around a picture that repeat its outermost ones


def padded(samples: np.ndarray) -> np.ndarray:
    """(3, H, W) with what `moved` and `change` reach for around it."""
    return np.pad(samples, ((0, 0), (WIDE, WIDE), (WIDE, WIDE)), mode="edge")


def moved(wide: np.ndarray, dy: int, dx: int, beyond: int = 0) -> np.ndarray:
    """The samples at this offset from each, and `beyond` more around; wide: one component of `padded`."""
    height, width = (n - WIDE + beyond for n in wide.shape)
    return wide[WIDE - beyond + dy : height + dy, WIDE - beyond + dx : width + dx]


def change(wide: np.ndarray, dy: int, dx: int) -> np.ndarray:
    """(H / 4, W / 4): sums of differences over 8 x 8 samples around each block."""
    each = moved(wide, dy, dx, REACH) - moved(wide, -dy, -dx, REACH)
    np.abs(each, out=each)
    np.minimum(each, MAX_CHANGE, out=each)
    rows = each[0::4] + each[1::4] + each[2::4] + each[3::4]
    blocks = rows[:, 0::4] + rows[:, 1::4] + rows[:, 2::4] + rows[:, 3::4]
    # which are multiplied
    return (blocks[:-1, :-1] + blocks[:-1, 1:] + blocks[1:, :-1] + blocks[1:, 1:]).astype(np.int64)


def clip_at(step: int, cut: float) -> int:
    """What differences are clipped to."""
    position = int(cut * 2**20)
    return min(((step * (256 + (position >> 12 & 255))) << (position >> 20)) >> 8, MAX_CLIP)


def between(cut: float) -> tuple[int, int]:
    """The number of the finer table, and the share of the next one in 1/256."""
    from_first = min(max(int(cut * 2**20) >> 12, 256), 1280) - 256
    first = min(from_first // 512, 1)
    return first, (from_first - 512 * first) // 2


def significance(known: list[Known]) -> np.ndarray:
    """(3, H / 4, W / 4) of the components' blocks: 4 less the finest level of 1, 2, 3 that has a significant
    coefficient there, 0 if none has."""
    # level 2 has a coefficient of each band for a block
    found = np.zeros((3, *known[1].significant.shape[1:]), np.uint8)
    for level in (3, 2, 1):
        bands = known[level - 1].significant
        band = bands.reshape(3, 3, *bands.shape[1:]).any(1)
        if level == 1:
            rows = band[:, 0::2] | band[:, 1::2]
            blocks = rows[:, :, 0::2] | rows[:, :, 1::2]
        else:
            blocks = band.repeat(level - 1, 1).repeat(level - 1, 2)
        found[blocks] = 4 - level
    return found


def classes(wide: np.ndarray, significant: np.ndarray, clip: int, component: int) -> np.ndarray:
    """(H / 4, W / 4) classes of the blocks of planes that begin with a block; wide: `padded` samples; significant: of
    `significance`."""
    h, v, d, e = (change(wide[component], *way) for way in ((0, 1), (1, 0), (1, 1), (1, -1)))
    activity = sum((h + v >= FIRST_LIMIT * clip << k).astype(int) for k in range(8))
    upright = np.maximum(h, v) * np.minimum(d, e) >= np.maximum(d, e) * np.minimum(h, v)
    most = np.where(upright, np.maximum(h, v), np.maximum(d, e))
    least = np.where(upright, np.minimum(h, v), np.minimum(d, e))
    ways = np.where(upright, np.where(h > v, 1, 2), np.where(d > e, 3, 4))
    direction = np.where(2 * most > 3 * least, ways, 0)
    return (activity * 5 + direction) * 4 + significant[component]


def differences(wide: np.ndarray, dy: int, dx: int, clip: int) -> np.ndarray:
    """Sums, for each sample, the clipped differences to the neighbour at this offset and to the opposite one."""
    each = moved(wide, dy, dx, REACH) - moved(wide, 0, 0, REACH)
    np.minimum(each, clip, out=each)
    np.maximum(each, -clip, out=each)
    height, width = (n - REACH for n in each.shape)
    # What the opposite neighbour lacks to the sample is what the sample has beyond it.
    return each[REACH:height, REACH:width] - each[REACH - dy : height - dy, REACH - dx : width - dx]


class PostFilter:
    """step: in 1/64; taps: by component, (cuts, classes, phases, taps) in 1/256."""

    def __init__(self, step: int, taps: list[np.ndarray]):
        self.step, self.taps = step, taps

    @staticmethod
    def read(path: str | Path) -> PostFilter:
        """Out of tables.bin, or post_filter.bin."""
        data = Path(path).read_bytes()
        if len(data) not in (LENGTH, LENGTH - START):
            raise SystemExit(f"{path}: no post-filter, nor tables with one")
        data = data[START - LENGTH :]
        taps, at = [], 2
        for own in TAPS:
            shape = len(CUTS), CLASSES, PHASES, sum(len(pairs) for _, pairs in own)
            taps.append(np.frombuffer(data, np.int8, int(np.prod(shape)), at).reshape(shape).astype(np.int32))
            at += taps[-1].size
        return PostFilter(int.from_bytes(data[:2], "little"), taps)

    def at(self, cut: float) -> list[np.ndarray]:
        """Taps by component, (taps, classes * phases) in 1/65536."""
        first, share = between(cut)
        return [
            (taps[first] * (256 - share) + taps[first + 1] * share).reshape(CLASSES * PHASES, -1).T.copy()
            for taps in self.taps
        ]

    def numbers(self, wide: np.ndarray, significant: np.ndarray, clip: int) -> list[np.ndarray]:
        """By component, (H, W): which of the filters is a sample's."""
        height, width = (n - 2 * WIDE for n in wide.shape[1:])
        phase = np.arange(height)[:, None] % 2 * 2 + np.arange(width) % 2
        return [
            classes(wide, significant, clip, c).repeat(4, 0).repeat(4, 1) * PHASES + phase
            for c in range(len(self.taps))
        ]

    def apply(self, planes: np.ndarray, known: list[Known], cut: float) -> np.ndarray:
        """(3, H, W) planes, filtered; sides are multiples of 8."""
        samples = np.clip(np.round(planes.astype(np.float64) * UNIT), -MOST, MOST).astype(np.int32)
        wide, clip = padded(samples), clip_at(self.step, cut)
        numbers = self.numbers(wide, significance(known), clip)
        own = self.at(cut)
        for (source, pair), places in PLACES.items():
            difference = differences(wide[source], *pair, np.int32(clip))
            for component, k in places:
                product = own[component][k].take(numbers[component]) >> 1
                product *= difference
                product += 1 << 14
                product >>= 15
                samples[component] += product
        return samples.astype(np.float32) / np.float32(UNIT)
