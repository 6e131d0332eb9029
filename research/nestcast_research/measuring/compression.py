"""Figure 5, reconstruction from the first bits of a code, on the held-out pictures of CIFAR-10.

It measures the packages, run by ONNX Runtime. Errors are squared, means over all samples in 0..1.
"""

from __future__ import annotations

import csv
import io
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from nestcast_research import stored
from nestcast_research.pages import figures
from nestcast_research.places import PAGES, SETTINGS, package_folder
from nestcast_train.codes import code_package, pictures
from nestcast_train.codes.autoencoder import Autoencoder
from nestcast_train.codes.pictures import SIDE
from nestcast_train.codes.vectors import HELD_OUT
from nestcast_train.settings import load

LENGTHS = (1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 640, 768, 896, 960, 992, 1008, 1016, 1020, 1023, 1024)
SHEET = (16, 64, 128, 256, 1024)  # bits of the rows of Figure 5(a)
SHOWN = 16  # pictures of the sheet
QUALITIES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 100)
# that streams of nestcast's codec are cut at
BYTES = (24, 32, 48, 64, 80, 96, 112, 128, 160, 192, 256, 384, 512, 768, 1024)
STREAMS = "code-nestcast.csv"  # kept, because the other figures need no Rust
PACKAGES = {"nested dropout (cifar-linear)": "cifar-linear", "deep, nested dropout (cifar-deep)": "cifar-deep"}


def error(decoded: np.ndarray, images: np.ndarray) -> float:
    """The error of (N, 3, 32, 32) in 0..1 against bytes."""
    return float(np.square(decoded - images / np.float32(255)).mean())


def influence(model: Autoencoder, y: torch.Tensor) -> torch.Tensor:
    """(K,): how much the error grows, to second order, when a unit is removed (Le Cun, Denker and Solla, 1990). The
    decoder is linear, so this is exact for one unit: x_k^2 |w_k|^2 + 2 x_k (w_k r), r the residual."""
    code, weight = model.encode(y), model.up_weights[0] * model.gains.exp()[:, None]
    residual = y - model.decode(code)
    return (code.square() * weight.square().sum(1) + 2 * code * (residual @ weight.t())).mean(0)


@torch.no_grad()
def standard(images: np.ndarray, training: torch.Tensor) -> dict[str, dict[int, float]]:
    """The autoencoder without nested dropout: its units dropped in their order, and those of least influence first."""
    model, frame = code_package.read(load(SETTINGS / "cifar-standard.toml"), stored.weights("cifar-standard"))
    code = model.encode(frame.coordinates(torch.from_numpy(images.reshape(len(images), -1) / np.float32(255))))
    damage = influence(model, frame.coordinates(training)).argsort(descending=True)
    curves = {}
    for name, order in (("standard, Optimal Brain Damage", damage), ("standard, truncated", torch.arange(len(damage)))):
        rank = order.argsort()
        decode = lambda bits: (
            frame.original(model.decode(code * (rank < bits))).clamp(0, 1).numpy().reshape(images.shape)
        )
        curves[name] = {bits: error(decode(bits), images) for bits in LENGTHS}
    return curves


def scan_bytes(file: bytes) -> int:
    """The entropy-coded bytes of a JPEG file with one scan, without tables, headers and markers."""
    start = file.index(b"\xff\xda")
    return len(file) - (start + 2 + int.from_bytes(file[start + 2 : start + 4], "big")) - len(b"\xff\xd9")


def jpeg(images: np.ndarray) -> dict[str, list[tuple[float, float]]]:
    """(mean bits, error) by quality: libjpeg-turbo, 4:2:0. Whole files have Huffman tables of their own; scans alone
    use the standard tables, which a receiver could have beforehand, as it has an autoencoder's weights."""
    curves: dict[str, list[tuple[float, float]]] = {"JPEG, whole files": [], "JPEG, scans alone": []}
    for quality in QUALITIES:
        for (_name, curve), optimise in zip(curves.items(), (True, False)):
            bits, errors = [], []
            for picture in images.transpose(0, 2, 3, 1):
                file = io.BytesIO()
                Image.fromarray(picture).save(file, "JPEG", quality=quality, optimize=optimise)
                bits.append(8 * (len(file.getvalue()) if optimise else scan_bytes(file.getvalue())))
                errors.append(np.square((np.asarray(Image.open(file), np.float64) - picture) / 255).mean())
            curve.append((float(np.mean(bits)), float(np.mean(errors))))
    return curves


def streams(images: np.ndarray, program: Path) -> None:
    """Writes STREAMS: each picture is encoded once by nestcast's own codec, cut at every one of BYTES and decoded."""
    errors = np.zeros(len(BYTES))
    with tempfile.TemporaryDirectory() as folder:
        picture, whole, cut, decoded = (str(Path(folder) / name) for name in ("p.png", "p.nst", "c.nst", "d.png"))
        run = lambda *arguments: subprocess.run([program, *arguments], check=True, capture_output=True)
        for image in images.transpose(0, 2, 3, 1):
            Image.fromarray(image).save(picture)
            run("encode", picture, "-o", whole)
            stream = Path(whole).read_bytes()
            for i, size in enumerate(BYTES):
                Path(cut).write_bytes(stream[:size])
                run("decode", cut, "-o", decoded, "--decoder", "linear")
                errors[i] += np.square((np.asarray(Image.open(decoded), np.float64) - image) / 255).mean() / len(images)
    figures.write_table(STREAMS, [{"bits": 8 * size, "error": f"{value:.6f}"} for size, value in zip(BYTES, errors)])


def sheet(package: code_package.Package, images: np.ndarray, name: str) -> None:
    """Reconstructions, a row for each code length, and the originals below."""
    code = package.encode(images[:SHOWN])
    decoded = [package.decode(code, bits) for bits in SHEET] + [images[:SHOWN] / 255]
    figures.save_tiles(np.concatenate(decoded).transpose(0, 2, 3, 1), SHOWN, name, factor=2)


def draw(folder: Path, program: Path | None) -> None:
    flat = pictures.cifar(folder)[0]
    images = flat[-HELD_OUT:].reshape(-1, 3, SIDE, SIDE)
    if program:
        streams(images, program)
    curves: dict[str, list[tuple[float, float]]] = {}
    for name, folder_name in PACKAGES.items():
        package = code_package.Package(package_folder(folder_name))
        code = package.encode(images)
        curves[name] = [(bits, error(package.decode(code, bits), images)) for bits in LENGTHS]
        sheet(package, images, f"sheet-{folder_name.removeprefix('cifar-')}.png")
    training = torch.from_numpy(flat[:-HELD_OUT] / np.float32(255))
    curves.update({name: list(curve.items()) for name, curve in standard(images, training).items()})
    curves.update(jpeg(images))
    if (PAGES / STREAMS).exists():
        with open(PAGES / STREAMS, encoding="utf-8") as file:
            curves["nestcast's codec, whole streams"] = [
                (float(row["bits"]), float(row["error"])) for row in csv.DictReader(file)
            ]
    rows = [
        {"coder": name, "bits": round(bits), "error": f"{value:.6f}"}
        for name, curve in curves.items()
        for bits, value in curve
    ]
    figures.write_table("code.csv", rows)
    plot(curves)


def plot(curves: dict[str, list[tuple[float, float]]]) -> None:
    figure, axes = figures.panels(1, 2, (11, 4.2))
    for name, curve in curves.items():
        ours = name in PACKAGES or name.startswith("standard")
        for axis in axes if ours else axes[1:]:
            axis.semilogy(*zip(*curve), "o-" if ours else "s-", ms=2.5, label=name)
    axes[0].set(xlabel="bits", ylabel="mean squared error, samples in 0..1", title="as in the paper")
    axes[1].set(xlabel="bits", title="with the rivals' whole range", xlim=(1, 12_000), xscale="log")
    axes[1].legend(fontsize=7)
    figures.save(figure, "code.svg")
