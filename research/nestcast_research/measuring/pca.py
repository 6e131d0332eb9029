"""Exact recovery of PCA (Rippel, Gelbart and Adams, 2014, section 3).

A semi-linear autoencoder with an orthonormal decoder is trained on 8x8 patches of CIFAR-10, once with nested dropout
and once without. With it the units are the leading eigenvectors of the patches' covariance, in order (Theorem 3);
without, they span the same subspace, and no single unit is one of them (Bourlard and Kamp, 1987; section 3.1).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from nestcast_research.data import samples
from nestcast_research.pages import figures
from nestcast_train.codes import pictures, vectors
from nestcast_train.codes.nested import TruncationLaw

UNITS = 32
RHO = 0.5  # units are swept, so that late ones are seen even where p_B is small
ITERATIONS = 600  # at most, of each stage
RESTARTS = 4  # stages where no units are swept
HISTORY = 30


def expected_loss(
    covariance: torch.Tensor, encoder: torch.Tensor, decoder: torch.Tensor, survival: torch.Tensor
) -> torch.Tensor:
    """Equation 11 of linear units, its expectations summed: over p_B, and over the data, whose covariance (D, D) is all
    it depends on. Columns of encoder and decoder (D, K) belong to units; those of the decoder are orthonormal.

    |y - G J w y|^2 of a b-truncation is then |y|^2 plus (w_k y)^2 - 2 (g_k y)(w_k y) for every unit k <= b.
    """
    seen = covariance @ encoder
    return covariance.trace() + (survival * ((encoder - 2 * decoder) * seen).sum(0)).sum()


def orthonormal(free: torch.Tensor, fixed: torch.Tensor) -> torch.Tensor:
    """The columns of `free`, made orthonormal among themselves and to those of `fixed`; smooth, unlike LAPACK's Q."""
    q, r = torch.linalg.qr(free - fixed @ (fixed.t() @ free))
    return q * r.diagonal().sign()


def train(covariance: torch.Tensor, law: TruncationLaw, sweep: bool, seed: int = 1) -> torch.Tensor:
    """The decoder (D, K), by full-batch L-BFGS in stages; `sweep`: each fixes a further unit (section 4.1)."""
    torch.manual_seed(seed)
    size, units = len(covariance), len(law.shares)
    encoder = torch.randn(size, units, dtype=torch.float64) / size**0.5
    decoder = torch.linalg.qr(torch.randn(size, units, dtype=torch.float64)).Q
    for stage in range(units if sweep else RESTARTS):
        swept = stage if sweep else 0
        fixed, survival = decoder[:, :swept], law.survival(swept)
        free = [
            torch.nn.Parameter(part[:, swept:].clone(memory_format=torch.contiguous_format))
            for part in (encoder, decoder)
        ]
        optimiser = torch.optim.LBFGS(
            free,
            max_iter=ITERATIONS,
            max_eval=2 * ITERATIONS,
            history_size=HISTORY,
            tolerance_grad=1e-9,
            tolerance_change=1e-14,
            line_search_fn="strong_wolfe",
        )

        def closure() -> torch.Tensor:
            optimiser.zero_grad()
            loss = expected_loss(covariance, free[0], orthonormal(free[1], fixed), survival)
            loss.backward()
            return loss

        optimiser.step(closure)
        encoder[:, swept:], decoder[:, swept:] = free[0].detach(), orthonormal(free[1], fixed).detach()
    return decoder


def angles(decoder: torch.Tensor, eigenvectors: torch.Tensor) -> torch.Tensor:
    """(K,) degrees between each unit and the eigenvector of its number."""
    return torch.rad2deg((decoder * eigenvectors).sum(0).abs().clamp(max=1).arccos())


def principal_angles(decoder: torch.Tensor, eigenvectors: torch.Tensor) -> torch.Tensor:
    """(K,) degrees between the subspaces, ascending; from sines, which are exact where angles are small."""
    outside = eigenvectors - decoder @ (decoder.t() @ eigenvectors)
    return torch.rad2deg(torch.linalg.svdvals(outside).clamp(max=1).arcsin()).flip(0)


def leading_eigenvectors(covariance: torch.Tensor, units: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Eigenvalues (K,) and eigenvectors (D, K), largest first."""
    values, directions = torch.linalg.eigh(covariance)
    return values.flip(0)[:units], directions.flip(1)[:, :units]


def draw(data: Path) -> None:
    y = torch.from_numpy(samples.patches(pictures.cifar(data)[0])[: -vectors.HELD_OUT]).double()
    y = (y - y.mean(0)) / (y - y.mean(0)).square().mean().sqrt()
    covariance = y.t() @ y / len(y)
    values, eigenvectors = leading_eigenvectors(covariance, UNITS)
    laws = {"nested dropout": TruncationLaw.geometric(UNITS, RHO), "standard": TruncationLaw.whole(UNITS)}
    decoders = {name: train(covariance, law, sweep=name != "standard") for name, law in laws.items()}
    rows = []
    for unit in range(UNITS):
        row = {"unit": unit + 1, "eigenvalue": f"{values[unit]:.5f}"}
        for name, decoder in decoders.items():
            row[f"angle, {name}"] = f"{angles(decoder, eigenvectors)[unit]:.3f}"
            row[f"principal angle, {name}"] = f"{principal_angles(decoder, eigenvectors)[unit]:.3f}"
        rows.append(row)
    figures.write_table("pca.csv", rows)
    draw_angles(decoders, eigenvectors)
    for name, decoder in decoders.items():
        own, subspace = angles(decoder, eigenvectors).max(), principal_angles(decoder, eigenvectors).max()
        print(f"{name}: largest angle of a unit to its eigenvector {own:.2f} degrees, of the subspaces {subspace:.2f}")


def draw_angles(decoders: dict[str, torch.Tensor], eigenvectors: torch.Tensor) -> None:
    figure, axes = figures.panels(1, 3, (9, 3.1))
    for axis, (name, decoder) in zip(axes, decoders.items()):
        axis.imshow((eigenvectors.t() @ decoder).abs().numpy(), cmap="Blues", vmin=0, vmax=1)
        axis.set(title=f"{name}: |cosine|", xlabel="unit", ylabel="eigenvector")
        axes[2].semilogy(np.arange(1, UNITS + 1), angles(decoder, eigenvectors).clamp(min=1e-3), "o-", ms=3, label=name)
    axes[2].axhline(2, color="grey", lw=0.8, ls="--")
    axes[2].set(title="unit to its eigenvector", xlabel="unit", ylabel="degrees")
    axes[2].legend(fontsize=8)
    figures.save(figure, "pca.svg")
