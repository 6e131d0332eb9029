"""Packages of the codes of codes.html, for `nestcast index DIR --model OUT/NAME`: python paper/packages.py OUT.

Every binary code of digits or photos that a model makes, from the committed weights, as OUT/NAME, such as OUT/bernoulli-32. They are not among the built-in ones: most
know digits alone, whose terms are not stated, and of photos the table says what is best.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import codes
import figures
import learned
from settings import load

TERMS = "not stated; for research alone"
DIGITS = {"version": "0.1.0", "licence": TERMS, "decoder": False, "data": [{"name": "MNIST", "files": 50_000, "licence": TERMS}]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    for one in (*learned.HASHES, *learned.EMBEDDINGS):
        codes.write(one.read_settings(), one.weights, out / one.name, DIGITS)
    photos = {**load(HERE / "thumb.toml").package, "decoder": False}  # trained on the same
    for one in learned.PHOTOS:
        codes.write(one.read_settings(), one.weights, out / one.name, photos)
    codes.write(load(HERE / "digits.toml"), figures.WEIGHTS / "digits.npz", out / "digits", DIGITS)


if __name__ == "__main__":
    main()
