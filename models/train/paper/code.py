"""Figure 5, reconstruction from the first bits of a code: python paper/code.py NESTED STANDARD --data DIR.

NESTED and STANDARD are the folders of `train.py paper/code.toml` and of `train.py paper/code-standard.toml`. Errors are of
the held-out pictures of CIFAR-10, squared, means over all samples in 0..1.
"""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path

import numpy as np
import torch
from PIL import Image

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import figures
import vectors
from autoencoder import Autoencoder
from settings import load
from vectors import SIDE

LENGTHS = (0, 1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 640, 768, 896, 1024)
SHEET = (16, 64, 128, 256, 1024)  # bits of the rows of Figure 5(a)
PICTURES = 12
QUALITIES = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95)


def model_of(run: Path, settings_file: str) -> Autoencoder:
    model = Autoencoder(load(HERE / settings_file))
    model.load_state_dict(torch.load(run / "weights.pt", weights_only=True))
    return model.eval()


def influence(model: Autoencoder, y: torch.Tensor) -> torch.Tensor:
    """(K,): by how much the error grows, to second order, where a unit is removed (Le Cun, Denker and Solla, 1990). The
    decoder is linear, so this is exact for one unit: x_k^2 |w_k|^2 + 2 x_k (w_k r), r the residual."""
    code, weight = model.encode(y), model.weights[0]
    residual = y - model.decode(code)
    return (code.square() * weight.square().sum(1) + 2 * code * (residual @ weight.t())).mean(0)


def by_length(model: Autoencoder, data: vectors.Vectors, order: torch.Tensor) -> dict[int, float]:
    """Errors where the units that come first in `order` are kept."""
    y, code = data.held_out, model.encode(data.held_out)
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(order))
    scale = data.deviation / 255
    return {bits: ((model.decode(code * (rank < bits)) - y) * scale).square().mean().item() for bits in LENGTHS}


def pixels(vectors_: torch.Tensor, data: vectors.Vectors) -> np.ndarray:
    """(N, 32, 32, 3) 0..1."""
    return (data.original(vectors_).view(-1, 3, SIDE, SIDE).permute(0, 2, 3, 1) / 255).clamp(0, 1).numpy()


def jpeg(originals: np.ndarray) -> list[tuple[float, float]]:
    """(mean bits, error) by quality: libjpeg-turbo, 4:2:0, optimised Huffman tables, whole files."""
    out = []
    for quality in QUALITIES:
        bits, errors = [], []
        for picture in (255 * originals).round().astype(np.uint8):
            file = io.BytesIO()
            Image.fromarray(picture).save(file, "JPEG", quality=quality, optimize=True)
            decoded = np.asarray(Image.open(file), np.float64)
            bits.append(8 * len(file.getvalue()))
            errors.append(np.square((decoded - picture) / 255).mean())
        out.append((float(np.mean(bits)), float(np.mean(errors))))
    return out


def sheet(model: Autoencoder, data: vectors.Vectors) -> np.ndarray:
    """Reconstructions, a row for each code length, and the originals below."""
    y = data.held_out[:PICTURES]
    rows = [pixels(model(y, torch.full((PICTURES,), bits)), data) for bits in SHEET]
    return figures.tiles(np.concatenate([*rows, pixels(y, data)]), PICTURES)


@torch.no_grad()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nested", type=Path)
    parser.add_argument("standard", type=Path)
    parser.add_argument("--data", type=Path, required=True, help="folder that has cifar10/ and photos/")
    arguments = parser.parse_args()
    data = vectors.load("pictures", arguments.data)
    nested, standard = model_of(arguments.nested, "code.toml"), model_of(arguments.standard, "code-standard.toml")
    as_they_are = torch.arange(len(nested.biases[0]))
    damage = influence(standard, data.training[:4000]).argsort(descending=True)
    curves = {
        "nested dropout": by_length(nested, data, as_they_are),
        "standard, Optimal Brain Damage": by_length(standard, data, damage),
        "standard, truncated": by_length(standard, data, as_they_are),
    }
    files = jpeg(pixels(data.held_out, data))
    rows = [{"coder": name, "bits": bits, "error": f"{error:.6f}"} for name, curve in curves.items() for bits, error in curve.items()]
    rows += [{"coder": "JPEG", "bits": round(bits), "error": f"{error:.6f}"} for bits, error in files]
    figures.write_table(HERE / "code.csv", rows)
    figure, axes = figures.panels(1, 2, (10, 4))
    axes[0].imshow(sheet(nested, data), interpolation="nearest")
    axes[0].set(title=f"{', '.join(map(str, SHEET))} bits; originals", xticks=[], yticks=[])
    for name, curve in curves.items():
        axes[1].semilogy(list(curve), list(curve.values()), "o-", ms=3, label=name)
    axes[1].semilogy(*zip(*files), "s-", ms=3, color="grey", label="JPEG, whole files")
    axes[1].set(xlabel="bits", ylabel="mean squared error, samples in 0..1", xlim=(0, 8000))
    axes[1].set_xscale("symlog", linthresh=16)
    axes[1].legend(fontsize=8)
    figures.save(figure, HERE / "code.png")


if __name__ == "__main__":
    main()
