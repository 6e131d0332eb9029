"""Draws every figure of the pages from the weights: python -m nestcast_research.pages.make --data DIR.

README.md says what DIR holds. `ordered` makes the page of nested dropout, index.html; `codes` the page of learned
codes, codes.html. --train trains all models first, in runs/, and takes their weights and packages. --program PATH
measures nestcast's own codec anew with that program.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from nestcast_research.measuring import compression, learned_tables, pca, pinwheel, retrieval, unit_filters
from nestcast_research.pages import findings, learned, learned_drawings, learned_findings, page
from nestcast_research.places import PACKAGES, RUNS, SETTINGS, WEIGHTS
from nestcast_train import train as training
from nestcast_train.codes import code_package
from nestcast_train.settings import load

RESEARCH = ("pinwheel", "filters", "filters-swept", "cifar-standard", "digits")
PACKAGED = ("cifar-linear", "cifar-deep")
# each after the one that it starts from
TRAINED = (*RESEARCH, "cifar-linear-first", "cifar-linear-second", "cifar-linear", "cifar-deep-first", "cifar-deep")


def train(data: Path) -> None:
    WEIGHTS.mkdir(parents=True, exist_ok=True)
    for name in TRAINED:
        training.complete(load(SETTINGS / f"{name}.toml"), data, RUNS / name)
        weights = RUNS / name / "weights.npz"
        if name in RESEARCH:
            shutil.copy(weights, WEIGHTS / f"{name}.npz")
        elif name in PACKAGED:
            code_package.write(load(SETTINGS / f"{name}.toml"), weights, PACKAGES / name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", choices=("ordered", "codes"), help="default: both")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=Path)
    source.add_argument(
        "--page", action="store_true", help="write the page alone, from the tables and figures that there are"
    )
    parser.add_argument("--train", action="store_true", help="train all models first")
    parser.add_argument("--program", type=Path, help="nestcast, to measure its codec on Figure 5")
    arguments = parser.parse_args()
    if arguments.part != "codes":
        make_ordered(arguments)
    if arguments.part != "ordered":
        make_codes(arguments)


def make_ordered(arguments: argparse.Namespace) -> None:
    if arguments.train and arguments.data:
        train(arguments.data)
    if arguments.data:
        pca.draw(arguments.data)
        unit_filters.draw(arguments.data)
        pinwheel.draw()
        retrieval.draw(arguments.data)
        compression.draw(arguments.data, arguments.program)
    page.write("index.html", "The paper's experiments", findings.ABOUT, findings.sections(page.times()))


def make_codes(arguments: argparse.Namespace) -> None:
    if arguments.train and arguments.data:
        learned.train(arguments.data)
    if arguments.data:
        learned_tables.measure(arguments.data)
    learned_drawings.draw()
    page.write("codes.html", "Learned codes for search", learned_findings.ABOUT, learned_findings.sections())


if __name__ == "__main__":
    main()
