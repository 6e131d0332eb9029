"""An encoder's choice of the regions' rotations, as codec/src/subband/rotation_search.rs has it (spec/bitstream.md,
"Encoders").

Every square of two by two coefficients is six mean products of components; all searches of a slice run together.
"""

from __future__ import annotations

import math

import numpy as np

SIDE = 32  # pixels of a region, each way
COARSEST_LEVEL = 4  # whose squares are looked at
MIN_MEAN_SQUARE = 4.0  # in squared steps; squares whose components are all below say nothing
PLANES = 3  # bit planes that are looked at together
MAX_BITS_A_PIXEL = 0.8  # estimated, in the finest of these planes
LANES = 8  # squares of a chunk
SKETCH_CHUNKS = 1024  # that rotations are searched on, about
SEEDS = 32  # groups of regions that are started from, about
FIRST_STEP, LATER_STEP = 8, 2  # of the search for a group's rotation, and for that of all regions that share it
MIN_SAVED_BITS = 30.0  # estimated, for a rotation to be worth its own
BITS_AN_UNLIKE_NEIGHBOUR = 0.5  # estimated; a region's cost for each neighbour rotated otherwise
MAX_ROTATIONS = 8  # of a slice
ANGLE_UNIT, MAX_ANGLE = math.pi / 64, 31  # angles are -MAX_ANGLE - 1 to MAX_ANGLE units
PAIRS = ((0, 1), (0, 2), (1, 2))


def matrices(angles: np.ndarray) -> np.ndarray:
    """(..., 3) angles -> (..., 3, 3), rows: the components after the rotation."""
    out = np.broadcast_to(np.eye(3), (*angles.shape[:-1], 3, 3)).copy()
    for at, (i, j) in enumerate(PAIRS):
        sine, cosine = np.sin(ANGLE_UNIT * angles[..., at, None]), np.cos(ANGLE_UNIT * angles[..., at, None])
        first, second = out[..., i, :].copy(), out[..., j, :].copy()
        out[..., i, :], out[..., j, :] = cosine * first - sine * second, sine * first + cosine * second
    return out


class Squares:
    """products (6, N): mean squares of the components, then of their pairs; inverses (3, N): of their squared steps;
    region (N,), ascending."""

    def __init__(self, products: np.ndarray, inverses: np.ndarray, region: np.ndarray, grid: tuple[int, int]):
        self.products, self.inverses, self.region, self.grid = products, inverses, region, grid
        self.count = grid[0] * grid[1]

    def sketch(self) -> tuple[Squares, int]:
        """Chunks of each region at even steps, and the step."""
        starts = np.searchsorted(self.region, np.arange(self.count))
        chunk = (np.arange(len(self.region)) - starts[self.region]) // LANES
        chunks = np.ceil(np.bincount(self.region, minlength=self.count) / LANES).sum()
        stride = max(1, math.ceil(chunks / SKETCH_CHUNKS))
        keep = chunk % stride == 0
        return Squares(self.products[:, keep], self.inverses[:, keep], self.region[keep], self.grid), stride

    def bits(self, matrix: np.ndarray, scale: tuple[np.ndarray, np.ndarray], keep=slice(None)) -> np.ndarray:
        """(N,): about the bits of each square, under one rotation (3, 3) or its own (N, 3, 3)."""
        aa, bb, cc, ab, ac, bc = self.products[:, keep]
        m = np.moveaxis(matrix.astype(np.float32), (-2, -1), (0, 1))
        energies = []
        for i in range(3):
            a, b, c = m[i]
            own = a * a * aa + b * b * bb + c * c * cc + 2 * (a * b * ab + a * c * ac + b * c * bc)
            energies.append(np.maximum(own, 0) * self.inverses[i, keep])
        out = np.zeros(aa.shape, np.float32)
        for inverse, weight in zip(*scale):
            product = np.prod([1 + e * np.float32(inverse) for e in energies], 0, dtype=np.float32)
            out += np.float32(weight * 2 / (1 << 23)) * (product.view(np.int32) - 0x3F800000)
        return out

    def costs(self, angles, scale) -> np.ndarray:
        """(regions,) under one rotation."""
        return np.bincount(self.region, self.bits(matrices(np.asarray(angles)), scale), self.count)

    def search(self, group: np.ndarray, best: np.ndarray, step: int, scale) -> np.ndarray:
        """Angles (groups, 3) of least cost found from `best`, by steps that halve; group: (regions,), -1 for none."""
        keep = group[self.region] >= 0
        member, count, steps = group[self.region[keep]], len(best), np.full(len(best), step)

        def cost(angles: np.ndarray) -> np.ndarray:
            return np.bincount(member, self.bits(matrices(angles)[member], scale, keep), count)

        best, least = best.copy(), cost(best)
        while steps.any():
            moved = np.zeros(count, bool)
            for angle in range(3):
                for sign in (1, -1):
                    tried = best.copy()
                    tried[:, angle] += sign * steps
                    value = cost(tried)
                    better = (value < least) & (tried[:, angle] <= MAX_ANGLE) & (tried[:, angle] >= -MAX_ANGLE - 1)
                    best[better], least[better] = tried[better], value[better]
                    moved |= better
            steps = np.where(moved, steps, steps // 2)
        return best

    def groups(self) -> np.ndarray:
        """By region: the square of two by two regions that it is in, if that is one of those spread over the slice."""
        _down, across = self.grid
        y, x = np.divmod(np.arange(self.count), across)
        corner = y // 2 * ((across + 1) // 2) + x // 2
        seen = np.bincount(self.region, minlength=self.count) > 0
        full = np.unique(corner[seen])
        stride = max(1, math.ceil(len(full) / SEEDS))
        number = {c: i for i, c in enumerate(full[::stride])}
        return np.array([number.get(c, -1) if s else -1 for c, s in zip(corner, seen)])

    def assign(self, taken: np.ndarray, scale, border: float) -> np.ndarray:
        """The number of each region's rotation: one of little cost, mostly its neighbours'."""
        costs = np.stack([self.costs(one, scale) for one in taken], 1)
        if len(taken) == 1:
            return np.zeros(self.count, int)
        down, across = self.grid
        numbers = np.zeros((down + 2, across + 2), int) - 1
        numbers[1:-1, 1:-1] = 0
        each = np.arange(len(taken))
        for at in [*range(self.count)] * 2:
            y, x = divmod(at, across)
            beside = [numbers[y + 1, x], numbers[y + 1, x + 2], numbers[y, x + 1], numbers[y + 2, x + 1]]
            others = sum((each != number) for number in beside if number >= 0)
            numbers[y + 1, x + 1] = (costs[at] + border * others).argmin()
        return numbers[1:-1, 1:-1].ravel()

    def rotations(self, scale, stride: int) -> np.ndarray:
        """(count, 3) angles of those worth their bits, the one that does nothing first; squares stand for `stride`
        each."""
        share, group = 1 / stride, self.groups()
        taken = [np.zeros(3, int)]
        seeds = self.search(group, np.zeros((group.max(initial=-1) + 1, 3), int), FIRST_STEP, scale)
        costs = [self.costs(seed, scale) for seed in seeds]
        least = self.costs(taken[0], scale)
        while costs and len(taken) < MAX_ROTATIONS:
            gains = [np.maximum(least - cost - BITS_AN_UNLIKE_NEIGHBOUR * share, 0).sum() for cost in costs]
            if max(gains) < MIN_SAVED_BITS * share:
                break
            taken.append(seeds[int(np.argmax(gains))])
            least = np.minimum(least, costs[int(np.argmax(gains))])
        if len(taken) == 1:
            return np.array(taken)
        numbers = self.assign(np.array(taken), scale, BITS_AN_UNLIKE_NEIGHBOUR * share)
        fitted = self.search(numbers - 1, np.array(taken[1:]), LATER_STEP, scale)
        return np.concatenate([taken[:1], fitted])


def squares(details: list[np.ndarray], steps: list[np.ndarray]) -> Squares:
    """The squares of a slice; details of level 1.. COARSEST_LEVEL: (3 components, 3 bands, h, w); steps alike: (3,
    3)."""
    down, across = (n // (SIDE // 2) for n in details[0].shape[2:])
    products, inverses = [], []
    for bands, step in zip(reversed(details), reversed(steps)):
        side = bands.shape[2] // down
        per = side // 2
        parts = bands.reshape(3, 3, down, per, 2, across, per, 2).transpose(2, 5, 1, 3, 6, 0, 4, 7)
        parts = parts.reshape(down * across, 3 * per * per, 3, 4)  # region, square, component, coefficient
        pairs = [*((i, i) for i in range(3)), *PAIRS]
        products.append(np.stack([np.einsum("rsk,rsk->rs", parts[:, :, i], parts[:, :, j]) / 4 for i, j in pairs]))
        inverse = np.repeat((step.T**-2.0)[:, None], per * per, 1).reshape(-1, 3).T  # (component, square)
        inverses.append(np.broadcast_to(inverse[:, None], (3, down * across, inverse.shape[1])))
    all_products, all_inverses = (np.concatenate(parts, 2).astype(np.float32) for parts in (products, inverses))
    keep = (all_products[:3] * all_inverses >= MIN_MEAN_SQUARE).any(0)
    region = np.broadcast_to(np.arange(down * across)[:, None], keep.shape)
    return Squares(all_products[:, keep], all_inverses[:, keep], region[keep], (down, across))


def scale_of(sketch: Squares, pixels: float) -> tuple[np.ndarray, np.ndarray]:
    """The bit planes that matter, as inverses of their squared steps, and how much each does."""

    def bits(plane: int) -> float:
        return float(sketch.bits(np.eye(3), ([0.25**plane], [1.0])).sum()) / pixels

    first = next((plane for plane in range(15) if bits(plane) <= MAX_BITS_A_PIXEL), 0)
    weights = np.array([max(bits(first + plane), 1e-4) ** -0.5 for plane in range(PLANES)])
    return 0.25 ** np.arange(first, first + PLANES), weights / weights.sum()


def rotations(details: list[np.ndarray], steps: list[np.ndarray]) -> np.ndarray:
    """(down, across, 3) angles of a slice's regions."""
    regions = squares(details, steps)
    sketch, stride = regions.sketch()
    scale = scale_of(sketch, details[0][0, 0].size * 4 / stride)
    taken = sketch.rotations(scale, stride)
    return taken[regions.assign(taken, scale, BITS_AN_UNLIKE_NEIGHBOUR)].reshape(*regions.grid, 3)
