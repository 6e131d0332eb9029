"""Ordered retrieval as section 5.1 defines it, and ranking by Hamming distance, on codes in memory."""

from __future__ import annotations

import torch


def shared_bits(codes: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
    """(N,): how many leading bits codes (N, K) share with the query (K,)."""
    differ = (codes != query).byte()
    first = differ.argmax(1)  # 0 where none differs, too
    return torch.where(differ.gather(1, first[:, None]).flatten() > 0, first, codes.shape[1])


def neighbourhood(shared: torch.Tensor, least: int) -> torch.Tensor:
    """Indices, ascending, of the last b-truncated Hamming neighbourhood that has at least `least` members (Equation
    15): the one before the first that has fewer. shared: (N,) bits that each code shares with the query. All, where N
    is below `least`."""
    if len(shared) < least:
        return torch.arange(len(shared))
    depth = shared.kthvalue(len(shared) - least + 1).values  # `least` codes share at least this many bits
    return (shared >= depth).nonzero().flatten()


def distances(codes: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
    """(N,) Hamming distances of codes (N, K) to the query (K,)."""
    return (codes != query).sum(1)


def nearest(distance: torch.Tensor, count: int) -> torch.Tensor:
    """Indices of the `count` nearest; among equally near ones, the first."""
    return distance.sort(stable=True).indices[:count]
