"""The digits of MNIST."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import torch

from nestcast_train.codes.pictures import area_means
from nestcast_train.codes.vectors import Frame

DIGIT = 28  # pixels of a digit, each way


def digits(folder: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Bytes (N, 784) of MNIST and their labels (N,); part: train or t10k."""
    with gzip.open(folder / f"mnist/{part}-images-idx3-ubyte.gz") as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16)
    with gzip.open(folder / f"mnist/{part}-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    return images.reshape(-1, DIGIT**2), labels


def of_pictures(frame: Frame) -> Frame:
    """For a frame of digits, the frame of the pictures that a package gets: a digit stretched to 32x32, in red, green
    and blue. The least squares' inverse of the stretching gives the digit back; three planes count alike."""
    if len(frame.mean) != DIGIT**2:
        return frame
    stretched = area_means(torch.zeros(1), torch.tensor([float(DIGIT)]), DIGIT)[0]  # (SIDE, DIGIT)
    back = torch.linalg.pinv(stretched)
    planes = lambda digits: digits.flatten(1)[:, None].expand(-1, 3, -1).flatten(1)
    mean = planes(stretched @ frame.mean.view(1, DIGIT, DIGIT) @ stretched.t())[0]
    basis = planes(back.t() @ frame.basis.view(-1, DIGIT, DIGIT) @ back) / 3
    return Frame(mean, frame.deviation, basis, frame.total)
