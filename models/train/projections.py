"""Codes by linear projections, what learned codes are measured against: LSH, signs of principal components, ITQ; points by discriminants."""

from __future__ import annotations

import torch


class Projection:
    """A bit is 1 where its projection of a centred vector is above 0."""

    def __init__(self, mean: torch.Tensor, directions: torch.Tensor):
        """mean (D,), directions (K, D)."""
        self.mean, self.directions = mean, directions

    def points(self, y: torch.Tensor) -> torch.Tensor:
        """(N, D) -> (N, K)."""
        return (y - self.mean) @ self.directions.t()

    def encode(self, y: torch.Tensor) -> torch.Tensor:
        """(N, D) -> bits (N, K)."""
        return self.points(y) > 0


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


def discriminants(training: torch.Tensor, classes: torch.Tensor, count: int) -> Projection:
    """Linear discriminant analysis (Fisher 1936): the `count` directions along which the means of classes are farthest apart, relative to how
    far points (N, D) are from the mean of their own; classes (N,) from 0. At most one less than there are classes; points span all D."""
    mean = training.mean(0)
    means = torch.stack([training[classes == one].mean(0) for one in range(int(classes.max()) + 1)])[classes]
    own = torch.linalg.cholesky((training - means).t() @ (training - means) / len(training))
    apart = torch.linalg.solve_triangular(own, (means - mean).t(), upper=False)
    directions = torch.linalg.eigh(apart @ apart.t()).eigenvectors.flip(1)[:, :count]
    return Projection(mean, torch.linalg.solve_triangular(own.t(), directions, upper=True).t())


def iterative_quantisation(training: torch.Tensor, bits: int, rounds: int, seed: int) -> Projection:
    """ITQ (Gong, Lazebnik 2011): the principal axes under the rotation R that brings projections V nearest to signs B, found by
    turns: B = sign(V R), and R from the singular vectors of B^T V (the Procrustes problem). At most D bits."""
    plain = principal_directions(training, bits)
    projected = plain.points(training)
    generator = torch.Generator().manual_seed(seed)
    rotation = torch.linalg.qr(torch.randn(bits, bits, generator=generator)).Q
    for _ in range(rounds):
        signs = (projected @ rotation).sign()
        left, _, right = torch.linalg.svd(projected.t() @ signs)
        rotation = left @ right
    return Projection(plain.mean, rotation.t() @ plain.directions)
