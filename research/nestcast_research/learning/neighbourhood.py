"""Neighbourhood component analysis: how likely a point's neighbours, drawn by their distance, are of its class.

Salakhutdinov and Hinton (2007), section 2; the loss of Ren, Yu, Zhang and Huang (2014), Equation 3, is 1 -
`expected_correct`. Nested, which neither paper has: a point sees only its own first units in all others (Rippel,
Gelbart, Adams 2014, section 2).
"""

from __future__ import annotations

import torch


def squared_distances(code: torch.Tensor, lengths: torch.Tensor | None = None) -> torch.Tensor:
    """code (B, K) -> (B, B): d_ab = |f(a) - f(b)|^2, over the first lengths[a] units where lengths (B,) are given. For
    a code in bfloat16 they are worked out in floats, because they are differences of large squares."""
    code = code.float() if code.dtype == torch.bfloat16 else code
    kept = torch.ones_like(code) if lengths is None else (torch.arange(code.shape[1]) < lengths[:, None]).to(code.dtype)
    with torch.autocast("cpu", enabled=False):
        own = (code.square() * kept).sum(1, keepdim=True)
        return (own - 2 * (code * kept) @ code.t() + kept @ code.square().t()).clamp(min=0)


def effective_neighbours(distances: torch.Tensor) -> torch.Tensor:
    """Among how many others each point chooses, (B,), 1 to B - 1: one over the sum of squares of p_ab (Eq. 3). Where it
    is 1 for nearly all points, p(c^a) is 0 or 1, and neither objective's gradient shows where a point between classes
    should go."""
    itself = torch.eye(len(distances), dtype=torch.bool)
    return 1 / (-distances).masked_fill(itself, -torch.inf).softmax(1).square().sum(1)


def scale_for(distances: torch.Tensor, neighbours: float) -> float:
    """The factor by which a code, of squared distances (B, B), must be multiplied for its median point to choose among
    `neighbours` others."""
    low, high = 1e-4, 1e4
    for _ in range(40):
        middle = (low * high) ** 0.5
        near = effective_neighbours(middle**2 * distances).median() < neighbours
        low, high = (low, middle) if near else (middle, high)
    return low


def log_correct(distances: torch.Tensor, classes: torch.Tensor) -> torch.Tensor:
    """log p(c^a) of each point (Eq. 3, 4), (B,): the logarithm of the probability that a neighbour drawn by exp(-d_ab),
    never itself, is of its class. classes (B,). Points alone in their class have a very small one, not zero."""
    itself = torch.eye(len(distances), dtype=torch.bool)
    log_share = (-distances).masked_fill(itself, -torch.inf).log_softmax(1)
    other = (classes[:, None] != classes) | itself
    return log_share.masked_fill(other, -1e4).logsumexp(1)


def expected_correct(distances: torch.Tensor, classes: torch.Tensor) -> torch.Tensor:
    """O_NCA by the number of points, Eq. 5: the expected share of points that are classified correctly."""
    return log_correct(distances, classes).exp().mean()


def log_likelihood(distances: torch.Tensor, classes: torch.Tensor) -> torch.Tensor:
    """O_ML by the number of points, Eq. 6, in nats."""
    return log_correct(distances, classes).mean()
