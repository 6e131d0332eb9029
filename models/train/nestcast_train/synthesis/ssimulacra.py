"""SSIMULACRA 2 of training crops, as the crate in lab/src/metrics measures it, with a gradient.

Errors of structure, new edges and lost edges of X, Y and B - Y at scales from 1:1 to 1:16, as means and as 4-norms,
weighted as its authors fitted them to people's judgements (Sneyers, SSIMULACRA 2.1, libjxl). Their blur is recursive;
here it is the equivalent window, with zeros around the picture as there; their 83 weights below 0.01 are left out.
"""

from __future__ import annotations

import functools

import torch
import torch.nn.functional as F

SIGMA = 1.5
REACH = 6  # samples: the window is 0 beyond
C2 = 0.0009
OPSIN = ((0.30, 0.622, 0.078), (0.23, 0.692, 0.078), (0.24342268924547819, 0.20476744424496821, 0.5518098665095536))
BIAS = 0.0037930732552754493
LEAST = 1e-20  # lower bound under a root, which has a gradient there
X, Y, B = range(3)
STRUCTURE, NEW, LOST = range(3)
MEAN, FOURTH = range(2)
# By scale, of (component, error, norm).
WEIGHTS = (
    {(Y, STRUCTURE, FOURTH): 7.466890, (Y, LOST, FOURTH): 17.445834},
    {(X, STRUCTURE, FOURTH): 1.104173, (Y, STRUCTURE, FOURTH): 6.683678, (Y, LOST, FOURTH): 1.027890},
    {
        (X, STRUCTURE, FOURTH): 1.842246,
        (X, NEW, FOURTH): 11.441173,
        (Y, STRUCTURE, MEAN): 225.205153,
        (Y, STRUCTURE, FOURTH): 19.213238,
    },
    {
        (X, STRUCTURE, FOURTH): 1.878759,
        (X, NEW, FOURTH): 10.949070,
        (Y, STRUCTURE, MEAN): 176.393176,
        (Y, STRUCTURE, FOURTH): 24.433010,
        (Y, NEW, FOURTH): 0.285208,
        (B, STRUCTURE, FOURTH): 8.826983,
        (B, NEW, FOURTH): 23.192433,
    },
    {
        (X, NEW, MEAN): 0.967794,
        (X, NEW, FOURTH): 0.998177,
        (Y, STRUCTURE, FOURTH): 34.779063,
        (Y, NEW, FOURTH): 44.835625,
        (B, STRUCTURE, MEAN): 95.108050,
        (B, NEW, MEAN): 0.986398,
        (B, LOST, MEAN): 0.983438,
        (B, NEW, FOURTH): 171.266726,
        (B, LOST, FOURTH): 0.980786,
    },
)


@functools.cache
def window(n: int) -> torch.Tensor:
    """(n, n): a row for every place of the Gaussian window."""
    apart = torch.arange(n).view(-1, 1) - torch.arange(n)
    taps = torch.exp(-torch.arange(-REACH, REACH + 1, dtype=torch.float64).square() / (2 * SIGMA**2)).sum()
    return torch.where(apart.abs() <= REACH, torch.exp(-apart.double().square() / (2 * SIGMA**2)) / taps, 0.0).float()


def blurred(x: torch.Tensor) -> torch.Tensor:
    """(..., h, w), the same shape."""
    down, across = (window(n).to(x.device) for n in x.shape[-2:])
    return down @ (x @ across.t())


def linear_light(rgb: torch.Tensor) -> torch.Tensor:
    """(B, 3, h, w), 0..255 -> 0..1."""
    v = rgb.clamp(0, 255) / 255
    return torch.where(v > 0.04045, ((v.clamp(min=0.04) + 0.055) / 1.055) ** 2.4, v / 12.92)


def positive_xyb(light: torch.Tensor) -> torch.Tensor:
    """(B, 3, h, w): X, Y and B - Y, each about 0..1."""
    mixed = torch.einsum("ij,bjhw->bihw", torch.tensor(OPSIN, device=light.device), light) + BIAS
    long, medium, short = (mixed ** (1 / 3) - BIAS ** (1 / 3)).unbind(1)
    x, y = (long - medium) / 2, (long + medium) / 2
    return torch.stack([14 * x + 0.42, y + 0.01, short - y + 0.55], 1)


def norm(error: torch.Tensor, kind: int) -> torch.Tensor:
    """(B, h, w) -> (B,)."""
    return error.mean((1, 2)) if kind == MEAN else error.pow(4).mean((1, 2)).clamp(min=LEAST).pow(0.25)


def errors(x: torch.Tensor, y: torch.Tensor, structure: bool) -> tuple[torch.Tensor | None, torch.Tensor, torch.Tensor]:
    """Errors of one component of the decoded picture against the original, (B, h, w): structure if wanted, new edges,
    lost edges."""
    mx, my = blurred(torch.stack([x, y]))
    change = (1 + (x - mx).abs()) / (1 + (y - my).abs()) - 1
    if not structure:
        return None, change.clamp(min=0), (-change).clamp(min=0)
    xx, yy, xy = blurred(torch.stack([x * x, y * y, x * y]))
    alike = (1 - (mx - my).square()) * (2 * (xy - mx * my) + C2) / (xx - mx * mx + yy - my * my + C2)
    return (1 - alike).clamp(min=0), change.clamp(min=0), (-change).clamp(min=0)


def ssimulacra2(decoded: torch.Tensor, original: torch.Tensor) -> torch.Tensor:
    """(B, 3, h, w) each, 0..255, sides multiples of 16 -> (B,), 100 where they are equal, of any sign."""
    x, y, total = linear_light(decoded), linear_light(original), 0.0
    for scale, weights in enumerate(WEIGHTS):
        if scale:
            x, y = F.avg_pool2d(x, 2), F.avg_pool2d(y, 2)
        a, b = positive_xyb(x), positive_xyb(y)
        for component in sorted({component for component, _, _ in weights}):
            own = {(error, kind): weight for (c, error, kind), weight in weights.items() if c == component}
            found = errors(a[:, component], b[:, component], any(error == STRUCTURE for error, _ in own))
            total = total + sum(weight * norm(found[error], kind) for (error, kind), weight in own.items())
    total = total * 0.9562382616834844
    curved = 2.326765642916932 * total - 0.020884521182843837 * total**2 + 6.248496625763138e-05 * total**3
    return 100 - 10 * curved.clamp(min=LEAST) ** 0.6276336467831387
