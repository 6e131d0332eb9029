"""Pictures that arithmetic makes."""

import numpy
import pytest


def drawn(height: int, width: int, seed: int = 1) -> numpy.ndarray:
    """Returns a picture with edges, ramps and a little noise."""
    rows, columns = numpy.mgrid[0:height, 0:width]
    planes = [rows + 2 * columns, 3 * rows + (columns > width // 3) * 60, (rows // 8 + columns // 8) % 2 * 90 + 60]
    noise = numpy.random.default_rng(seed).integers(0, 9, (height, width, 3))
    return ((numpy.stack(planes, axis=2) + noise) % 256).astype(numpy.uint8)


@pytest.fixture(scope="session")
def picture() -> numpy.ndarray:
    return drawn(96, 128)
