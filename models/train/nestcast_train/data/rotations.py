"""The rotation of a crop's details: of its three components beyond the picture's axes (spec/bitstream.md, "Slices" and
"Encoders").

A region's colours vary along other directions than the whole picture's. The stream has a rotation for every region; a
crop in training has one, found as a picture's axes are.
"""

from __future__ import annotations

import math

import numpy as np

from nestcast_train.data import axes

LEVELS = 5  # the finest ones, whose details are rotated
ANGLE_UNIT = math.pi / 64
MAX_ANGLE = 31
FIRST_STEP = 8
GRID = 170  # points at which a crop is looked at, about


def matrix(angles) -> np.ndarray:
    """(3, 3), rows orthonormal: the new components, of three angles in units of `ANGLE_UNIT`."""
    return axes.turns(angles, ANGLE_UNIT)


def search(crop: np.ndarray, own: np.ndarray) -> tuple[int, ...]:
    """Angles of least cost. crop: (H, W, 3), 0..255; own: the axes of its picture."""
    samples = axes.differences(crop, GRID) @ own.T.astype(np.float32)
    return axes.descend(samples, matrix, (0, 0, 0), FIRST_STEP, MAX_ANGLE)
