"""Codes by linear projections, to compare learned codes with: LSH, signs of principal components, ITQ; points
by discriminants and by large margins."""

from __future__ import annotations

import torch

from nestcast_research.learning.neighbourhood import squared_distances

TARGETS = 3  # neighbours of its class that large margins keep a point near


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
    """Linear discriminant analysis (Fisher 1936): the `count` directions along which the means of classes are farthest
    apart, relative to how far points (N, D) are from the mean of their own; classes (N,) from 0. At most one less than
    there are classes; points span all D."""
    mean = training.mean(0)
    means = torch.stack([training[classes == one].mean(0) for one in range(int(classes.max()) + 1)])[classes]
    own = torch.linalg.cholesky((training - means).t() @ (training - means) / len(training))
    apart = torch.linalg.solve_triangular(own, (means - mean).t(), upper=False)
    directions = torch.linalg.eigh(apart @ apart.t()).eigenvectors.flip(1)[:, :count]
    return Projection(mean, torch.linalg.solve_triangular(own.t(), directions, upper=True).t())


def large_margins(
    training: torch.Tensor, classes: torch.Tensor, count: int, steps: int, rate: float = 0.02
) -> Projection:
    """LMNN (Weinberger, Saul 2009, Equation 13 with half weights) on `count` directions, by Adam from the
    discriminants: each point's TARGETS nearest of its class come near, and points of other classes are to be farther
    than these by 1. Points (N, D), classes (N,); the memory is that of TARGETS N^2 numbers."""
    start = discriminants(training, classes, count)
    centred, same = training - start.mean, classes[:, None] == classes
    itself = torch.eye(len(training), dtype=torch.bool)
    targets = torch.cdist(centred, centred).masked_fill(~same | itself, torch.inf).topk(TARGETS, largest=False).indices
    directions = start.directions.clone().requires_grad_()
    adam = torch.optim.Adam([directions], rate)
    for _ in range(steps):
        distances = squared_distances(centred @ directions.t())
        pull = distances.gather(1, targets)  # (N, TARGETS)
        push = (1 + pull[:, :, None] - distances[:, None]).clamp(min=0).masked_fill(same[:, None], 0)
        adam.zero_grad()
        ((pull.sum() + push.sum()) / len(training)).backward()
        adam.step()
    return Projection(start.mean, directions.detach())


def iterative_quantisation(training: torch.Tensor, bits: int, rounds: int, seed: int) -> Projection:
    """ITQ (Gong, Lazebnik 2011): the principal axes under the rotation R that brings projections V nearest to signs B,
    found by turns: B = sign(V R), and R from the singular vectors of B^T V (the Procrustes problem). At most D bits."""
    plain = principal_directions(training, bits)
    projected = plain.points(training)
    generator = torch.Generator().manual_seed(seed)
    rotation = torch.linalg.qr(torch.randn(bits, bits, generator=generator)).Q
    for _ in range(rounds):
        signs = (projected @ rotation).sign()
        left, _, right = torch.linalg.svd(projected.t() @ signs)
        rotation = left @ right
    return Projection(plain.mean, rotation.t() @ plain.directions)
