"""Where files of the research lie."""

from __future__ import annotations

from pathlib import Path

from nestcast_train.places import ARTIFACTS

RESEARCH = Path(__file__).resolve().parents[1]
SETTINGS = RESEARCH / "settings"
PAGES = RESEARCH / "pages"  # what is drawn, with its tables
WEIGHTS = RESEARCH / "weights"  # what it is drawn from
PACKAGES = RESEARCH / "packages"  # of codes that are not shipped
RUNS = RESEARCH / "runs"


def package_folder(name: str) -> Path:
    """The folder of a package of codes, shipped or not."""
    return PACKAGES / name if (PACKAGES / name).exists() else ARTIFACTS / name
