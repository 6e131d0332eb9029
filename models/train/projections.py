"""Codes by linear projections, what learned codes are measured against: LSH, signs of principal components, ITQ."""

from __future__ import annotations

import torch


class Projection:
    """A bit is 1 where its projection of a centred vector is above 0."""

    def __init__(self, mean: torch.Tensor, directions: torch.Tensor):
        """mean (D,), directions (K, D)."""
        self.mean, self.directions = mean, directions

    def encode(self, y: torch.Tensor) -> torch.Tensor:
        """(N, D) -> bits (N, K)."""
        return (y - self.mean) @ self.directions.t() > 0


def random_directions(training: torch.Tensor, bits: int, seed: int) -> Projection:
    """LSH for angles: signs of random projections (Charikar 2002)."""
    generator = torch.Generator().manual_seed(seed)
    return Projection(training.mean(0), torch.randn(bits, training.shape[1], generator=generator))


def principal_directions(training: torch.Tensor, bits: int) -> Projection:
    """The first `bits` principal axes of (N, D); at most D."""
    mean = training.mean(0)
    centred = training - mean
    directions = torch.linalg.eigh(centred.t() @ centred).eigenvectors.flip(1)[:, :bits]
    return Projection(mean, directions.t().contiguous())


def iterative_quantisation(training: torch.Tensor, bits: int, rounds: int, seed: int) -> Projection:
    """ITQ (Gong, Lazebnik 2011): the principal axes under the rotation R that brings projections V nearest to signs B, found by
    turns: B = sign(V R), and R from the singular vectors of B^T V (the Procrustes problem). At most D bits."""
    plain = principal_directions(training, bits)
    projected = (training - plain.mean) @ plain.directions.t()
    generator = torch.Generator().manual_seed(seed)
    rotation = torch.linalg.qr(torch.randn(bits, bits, generator=generator)).Q
    for _ in range(rounds):
        signs = (projected @ rotation).sign()
        left, _, right = torch.linalg.svd(projected.t() @ signs)
        rotation = left @ right
    return Projection(plain.mean, rotation.t() @ plain.directions)
