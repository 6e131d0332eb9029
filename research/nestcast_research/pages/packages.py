"""Packages of the codes of codes.html, for `nestcast index DIR --model OUT/NAME`: python -m
nestcast_research.pages.packages OUT.

It writes every binary code of digits or photos from the weights as OUT/NAME, such as OUT/bernoulli-32. None is built
in: most know digits alone, whose terms are not stated, and for photos the table says which is best.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from nestcast_research import stored
from nestcast_research.data.mnist import of_pictures
from nestcast_research.pages import learned
from nestcast_research.places import SETTINGS
from nestcast_train import places as train_places
from nestcast_train.codes import code_package
from nestcast_train.settings import load

TERMS = "not stated; for research alone"
DIGITS = {
    "version": "0.1.0",
    "licence": TERMS,
    "decoder": False,
    "data": [{"name": "MNIST", "files": 50_000, "licence": TERMS}],
}


def write(settings: code_package.CodeSettings, weights: Path, folder: Path, package: dict) -> None:
    """The package of committed weights; `package` is what the manifest says of them."""
    model, frame = code_package.read(settings, weights)
    code_package.write_model(model, of_pictures(frame), settings, folder, package)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    for one in (*learned.HASHES, *learned.EMBEDDINGS):
        write(one.read_settings(), stored.weights(one.name), out / one.name, DIGITS)
    photos = {**load(train_places.SETTINGS / "thumb.toml").package, "decoder": False}  # trained on the same
    for one in learned.PHOTOS:
        write(one.read_settings(), stored.weights(one.name), out / one.name, photos)
    write(load(SETTINGS / "digits.toml"), stored.weights("digits"), out / "digits", DIGITS)


if __name__ == "__main__":
    main()
