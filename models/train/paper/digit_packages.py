"""Packages of the codes of digits, for `nestcast index DIR --model OUT/NAME`: python paper/digit_packages.py OUT.

Every binary code of codes.html that a model makes, from the committed weights, as OUT/NAME, such as OUT/bernoulli-32. They are not among the built-in ones: they know
digits alone, and MNIST's terms are not stated.
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
PACKAGE = {"version": "0.1.0", "licence": TERMS, "decoder": False, "data": [{"name": "MNIST", "files": 50_000, "licence": TERMS}]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    for one in (*learned.HASHES, *learned.EMBEDDINGS):
        codes.write(one.read_settings(), one.weights, out / one.name, PACKAGE)
    codes.write(load(HERE / "digits.toml"), figures.WEIGHTS / "digits.npz", out / "digits", PACKAGE)


if __name__ == "__main__":
    main()
