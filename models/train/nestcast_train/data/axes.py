"""The colour axes of a picture: three orthogonal directions in RGB, found for it (spec/bitstream.md, "Colour").

A picture's colours mostly vary along few directions of its own. Turned to these, its planes have less in common than
under one matrix for all pictures; the transpose turns them back.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

# Rows: grey, yellow to blue, green to red; what the angles 0, 0, 0 stand for.
OPPONENT = np.array([[1, 1, 1], [-1, -1, 2], [1, -1, 0]]) / np.sqrt([[3], [6], [2]])
TURN = 1024  # angle units to half a turn
MAX_ANGLE = 511
SMALL = 10.0  # differences in RGB levels below this hardly cost bits
FIRST_STEP = 128
GRID = 1024  # points at which a picture is looked at, about


def turn(i: int, j: int, angle: float) -> np.ndarray:
    """Rotation by `angle` radians in the plane of axes i and j."""
    matrix = np.eye(3)
    matrix[i, i] = matrix[j, j] = math.cos(angle)
    matrix[i, j], matrix[j, i] = -math.sin(angle), math.sin(angle)
    return matrix


def turns(angles, unit: float) -> np.ndarray:
    """(3, 3), rows orthonormal: turns in the planes of axes 0 and 1, 0 and 2, 1 and 2, in units of `unit` radians."""
    a, b, c = (unit * angle for angle in angles)
    return turn(1, 2, c) @ turn(0, 2, b) @ turn(0, 1, a)


def axes(angles) -> np.ndarray:
    """(3, 3), rows orthonormal, of three angles in units of pi / TURN."""
    return turns(angles, math.pi / TURN) @ OPPONENT


def differences(picture: np.ndarray, grid: int = GRID) -> np.ndarray:
    """(N, 3): RGB differences of pixels 1, 2 and 4 apart, both ways, at about `grid` points; small ones left out."""
    picture = picture.astype(np.float32)
    height, width = picture.shape[:2]
    stride = max(1, math.isqrt(height * width // grid))
    found = [np.zeros((0, 3), np.float32)]
    for distance in (1, 2, 4):
        if min(height, width) <= distance:
            break
        rows, columns = np.arange(0, height - distance, stride), np.arange(0, width - distance, stride)
        here = picture[np.ix_(rows, columns)]
        found.append((picture[np.ix_(rows + distance, columns)] - here).reshape(-1, 3))
        found.append((picture[np.ix_(rows, columns + distance)] - here).reshape(-1, 3))
    all_found = np.concatenate(found)
    return all_found[np.abs(all_found).max(1, initial=0) >= 4]


def cost(samples: np.ndarray, rows: np.ndarray) -> int:
    """About the bits that differences take along the axes `rows`: the sum of log2(1 + (c / SMALL)^2).

    The bits of a float, read as an integer, are its logarithm closely enough (as in codec/src/colour/axes_search.rs).
    """
    along = samples @ (rows.T / SMALL).astype(np.float32)
    return int((1 + np.square(along)).prod(1).view(np.int32).sum(dtype=np.int64))


def descend(
    samples: np.ndarray, rows: Callable, best: tuple[int, ...], step: int, largest: int = MAX_ANGLE
) -> tuple[int, ...]:
    """Angles of `rows` of least cost that are found from `best`, by steps that halve."""
    least = cost(samples, rows(best))
    while step >= 1:
        moved = False
        for i in range(3):
            for change in (step, -step):
                tried = list(best)
                tried[i] = max(-largest - 1, min(largest, best[i] + change))
                value = cost(samples, rows(tried))
                if value < least:
                    least, best, moved = value, tuple(tried), True
        if not moved:
            step //= 2
    return best


def with_first(angles: tuple[int, ...], first: int) -> tuple[int, ...]:
    """About the same axes, with another one first."""
    rows = axes(angles)
    rows[[0, first]] = rows[[first, 0]]

    def near(angle: float) -> int:
        within = (angle / math.pi + 0.5) % 1.0 - 0.5  # a direction and its opposite are one axis
        return max(-MAX_ANGLE - 1, min(MAX_ANGLE, round(within * TURN)))

    x, y, z = OPPONENT @ rows[0]
    a = near(-math.atan2(y, x))
    b = near(-math.atan2(z, rows[0] @ axes((a, 0, 0))[0]))
    turned = axes((a, b, 0))
    return a, b, near(-math.atan2(rows[1] @ turned[2], rows[1] @ turned[1]))


def search(picture: np.ndarray) -> tuple[int, ...]:
    """Angles of least cost, the axis of most energy first. picture: (H, W, 3), 0..255."""
    samples = differences(picture)
    if len(samples) == 0:
        return 0, 0, 0
    found = descend(samples, axes, (0, 0, 0), FIRST_STEP)
    most = int(np.square(samples @ axes(found).T).sum(0).argmax())
    return found if most == 0 else descend(samples, axes, with_first(found, most), 1)
