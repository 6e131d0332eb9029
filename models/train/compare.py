"""What a choice in training costs or gains, in real bytes: encodes, cuts and decodes pictures by the program itself.

    python compare.py population --nestcast BIN --pictures DIR --bandwidths CSV --interval 0.25 PACKAGE...
    python compare.py nesting --nestcast BIN --pictures DIR NESTED SINGLE...

population: the expected distortion over receivers (Equation 16 of Rippel, Gelbart and Adams, 2014), every picture's stream
cut at every receiver's budget. nesting: how many more bytes one stream for all rates takes than a stream for a single
rate, cut where that is complete, for the same PSNR. The linear codec only.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

PIXELS = 768 * 512  # budgets are for a picture of this size; those of others are in proportion
LEAST = 64  # bytes; receivers with less are left out: they have the header and little more
SINGLE_PLANE = 3.0  # the cut that single rates are trained for (comparisons/*.toml)
GRID = np.geomspace(0.7, 1.4, 9)  # bytes relative to the single rate's, where the nested stream is decoded


class Program:
    """The linear codec of one package on one picture."""

    def __init__(self, binary: Path, package: Path, picture: Path, folder: Path):
        self.binary, self.package, self.folder = binary, package, folder
        self.original = np.asarray(Image.open(picture).convert("RGB")).astype(np.int32)
        self.whole = folder / "whole.nst"
        self.run("encode", picture, "-o", self.whole, "--analysis", "linear")
        self.stream = self.whole.read_bytes()

    def run(self, command: str, *arguments) -> str:
        line = [self.binary, command, *arguments, "--model", self.package, "--threads", "1"]
        return subprocess.run([str(part) for part in line], check=True, capture_output=True, text=True).stdout

    def prefix(self, count: int) -> Path:
        path = self.folder / "prefix.nst"
        path.write_bytes(self.stream[:count])
        return path

    def error(self, count: int) -> float:
        """Mean squared error of the first bytes."""
        out = self.folder / "out.png"
        out.unlink(missing_ok=True)
        self.run("decode", self.prefix(count), "-o", out, "--decoder", "linear")
        return float(np.square(np.asarray(Image.open(out).convert("RGB")) - self.original).mean())

    def bytes_at(self, plane: float) -> int:
        """The fewest bytes that leave no more than `plane` planes."""
        low, high = LEAST, len(self.stream)
        while high - low > 1:
            middle = (low + high) // 2
            left = json.loads(self.run("inspect", self.prefix(middle), "--json"))["planes_left"]
            low, high = (low, middle) if left <= plane else (middle, high)
        return high


def decibel(error: float) -> float:
    return 10 * np.log10(255**2 / error)


def receivers(table: Path, interval: float) -> list[tuple[float, float]]:
    """(bytes for a picture of `PIXELS`, share), as the population benchmark has them."""
    shares: dict[float, float] = {}
    with open(table, newline="") as file:
        for row in csv.DictReader(file):
            count = float(row["kbps"]) * 1000 / 8 * interval
            if count >= LEAST:
                shares[count] = shares.get(count, 0) + float(row["share"])
    total = sum(shares.values())
    return [(count, share / total) for count, share in sorted(shares.items())]


def population(arguments, pictures: list[Path], folder: Path) -> None:
    people = receivers(arguments.bandwidths, arguments.interval)
    first = None
    for package in arguments.packages:
        squared, decibels = [], []
        for picture in pictures:
            program = Program(arguments.nestcast, package, picture, folder)
            scale = program.original.shape[0] * program.original.shape[1] / PIXELS
            errors = [(program.error(int(count * scale)), share) for count, share in people]
            squared.append(sum(share * error for error, share in errors))
            decibels.append(sum(share * decibel(error) for error, share in errors))
        errors, means = np.mean(squared), np.mean(decibels)
        first = first or squared
        better = sum(one < other for one, other in zip(squared, first))
        print(f"{package.name}: expected squared error {errors:.3f} ({decibel(errors):.3f} dB), mean {means:.3f} dB; ", end="")
        print(f"less than {arguments.packages[0].name} on {better} of {len(pictures)} pictures", flush=True)


def nesting(arguments, pictures: list[Path], folder: Path) -> None:
    nested, *singles = arguments.packages
    for single in singles:
        rates, psnrs, ratios = [], [], []
        for picture in pictures:
            program = Program(arguments.nestcast, single, picture, folder)
            count = program.bytes_at(SINGLE_PLANE)
            goal = decibel(program.error(count))
            rates.append(8 * count / (program.original.size / 3))
            psnrs.append(goal)
            other = Program(arguments.nestcast, nested, picture, folder)
            logs = np.log(count * GRID)
            reached = np.maximum.accumulate([decibel(other.error(int(count * share))) for share in GRID])
            ratios.append(np.interp(goal, reached, logs) - np.log(count))
        penalty = 100 * (np.exp(np.mean(ratios)) - 1)
        print(f"{single.name}: {np.mean(rates):.3f} bpp, {np.mean(psnrs):.2f} dB; nested {penalty:+.2f} % bytes", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("population", "nesting"))
    parser.add_argument("packages", type=Path, nargs="+", metavar="PACKAGE")
    parser.add_argument("--nestcast", type=Path, required=True, help="the program")
    parser.add_argument("--pictures", type=Path, required=True, help="folder of PNG pictures")
    parser.add_argument("--bandwidths", type=Path, help="table of receivers")
    parser.add_argument("--interval", type=float, default=0.25, help="seconds that a receiver has for a picture")
    arguments = parser.parse_args()
    pictures = sorted(arguments.pictures.glob("*.png"))
    if not pictures:
        raise SystemExit(f"{arguments.pictures}: no PNG pictures")
    if arguments.what == "population" and not arguments.bandwidths:
        raise SystemExit("population: name the table of receivers with --bandwidths")
    with tempfile.TemporaryDirectory() as folder:
        {"population": population, "nesting": nesting}[arguments.what](arguments, pictures, Path(folder))


if __name__ == "__main__":
    main()
