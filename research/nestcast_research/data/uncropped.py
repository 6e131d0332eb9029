"""What a picture may be a crop of, as `nestcast search` guesses it."""

from __future__ import annotations

import itertools

import numpy as np
from PIL import Image

from nestcast_train.codes.pictures import SIDE, stretched

PARTS = (SIDE - SIDE // 16, SIDE - SIDE // 8)  # pixels of a crop within what it may be a crop of


def uncropped(picture: Image.Image) -> list[np.ndarray]:
    """Bytes (3, 32, 32): what a picture may be a crop of, as `nestcast search` guesses it: it stands at a corner, at
    the middle of an edge or in the middle, and its border is repeated outwards."""
    found = []
    for side in PARTS:
        part, free = stretched(picture, side), SIDE - side
        for y, x in itertools.product((0, free // 2, free), repeat=2):
            found.append(np.pad(part, ((0, 0), (y, free - y), (x, free - x)), "edge"))
    return found
