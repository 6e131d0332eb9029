"""Handwriting made to vary: each picture turned, scaled, slanted, moved and bent at random while a model learns
(Simard, Steinkraus and Platt 2003). The papers of NCA do not augment."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F

TURN, SCALE, SLANT, MOVE = 0.2, 0.15, 0.2, 2.0  # the most either way: radians, shares, tangents, pixels
# standard deviation of displacements in pixels, at a grid of KNOTS x KNOTS between which they are cubic
BEND, KNOTS = (0.8, 6)


def deformed(x: torch.Tensor, strength: float, random: np.random.Generator) -> torch.Tensor:
    """Square pictures of one plane (B, D), each deformed on its own, `strength` times as much as the constants above,
    filled with 0."""
    if not strength:
        return x
    count, side = len(x), round(x.shape[1] ** 0.5)
    u = strength * random.uniform(-1, 1, (6, count)).astype(np.float32)
    angle, slant, wide, high = TURN * u[0], SLANT * u[1], 1 + SCALE * u[2], 1 + SCALE * u[3]
    rows = [
        [np.cos(angle) * wide, (slant - np.sin(angle)) * high, 2 * MOVE / side * u[4]],
        [np.sin(angle) * wide, np.cos(angle) * high, 2 * MOVE / side * u[5]],
    ]
    turned = F.affine_grid(
        torch.from_numpy(np.array(rows)).permute(2, 0, 1), [count, 1, side, side], align_corners=False
    )
    knots = torch.from_numpy(random.standard_normal((count, 2, KNOTS, KNOTS), dtype=np.float32)) * (
        2 * strength * BEND / side
    )
    bent = F.interpolate(knots, (side, side), mode="bicubic", align_corners=True).permute(0, 2, 3, 1)
    return F.grid_sample(x.view(-1, 1, side, side), turned + bent, align_corners=False).flatten(1)
