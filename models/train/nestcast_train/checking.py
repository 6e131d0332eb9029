"""Tests and style of a Python package of this repository, with what they need installed into `target/`."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from nestcast_train.places import ROOT, TRAIN

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PACKAGES = TARGET / "train-python"
MODULES = "import torch, numpy, PIL, onnx, onnxruntime, matplotlib, ruff"
PROJECTS = (TRAIN / "pyproject.toml", ROOT / "research/pyproject.toml")


def requirements() -> list[str]:
    """What all projects need from the registry."""
    found: list[str] = []
    for path in PROJECTS:
        project = tomllib.loads(path.read_text(encoding="utf-8"))
        found += [*project["project"]["dependencies"], *project.get("dependency-groups", {}).get("check", [])]
    return [one for one in found if not one.startswith("nestcast-")]


def environment(folders: Sequence[Path] = ()) -> dict[str, str]:
    """The environment of a Python that finds the installed packages and the modules of `folders`."""
    given = os.environ.get("PYTHONPATH")
    paths = [str(PACKAGES), *map(str, folders), *([given] if given else [])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def install() -> None:
    """Installs what this Python lacks into `target/train-python`."""
    needed = requirements()
    stamp, wanted = PACKAGES / "installed", hashlib.sha256("\n".join(needed).encode()).hexdigest()
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return
    test = [sys.executable, "-c", MODULES]
    if not stamp.is_file() and not subprocess.run(test, env=environment(), capture_output=True, check=False).returncode:
        return
    print(f"installing what training needs into {PACKAGES} (5 GB where PyTorch comes with CUDA)", flush=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--quiet", "--upgrade"]
    if subprocess.run([*pip, "--target", PACKAGES, *needed], check=False).returncode:
        raise SystemExit("pip cannot install what models/train/pyproject.toml names: check the network and repeat")
    stamp.write_text(wanted, encoding="utf-8")


def run(folder: Path, paths: Sequence[Path], names: Sequence[str]) -> int:
    """Checks the style of `folder` and runs its tests, all or those named; gives the exit code.

    `paths`: folders of modules that the tests import.
    """
    install()
    python = [sys.executable, "-m"]
    for style in (["check", "--quiet"], ["format", "--check", "--quiet"]):
        done = subprocess.run([*python, "ruff", *style, "."], cwd=folder, env=environment(), check=False)
        if done.returncode:
            print(f"{folder}: not as ruff wants it: `ruff {style[0]}` says where", file=sys.stderr)
            return done.returncode
    tests = folder / "tests"
    command = [*python, "unittest", *(names or ["discover"])]
    return subprocess.run(command, cwd=tests, env=environment([tests, *paths]), check=False).returncode
