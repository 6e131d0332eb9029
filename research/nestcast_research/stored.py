"""The weights of the papers' models.

Small files lie in research/weights, all others in the history of the repository, so that a shallow clone stays small.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from nestcast_research.places import WEIGHTS
from nestcast_train.places import ROOT

COMMIT = "f02c96f25475d94dd3f06b1db2174fb2dc0ef68e"  # the last one that has them all,
FOLDER = "models/paper/weights"  # here


def weights(name: str) -> Path:
    """The file of a model's weights. Takes it from the history if it is not in research/weights."""
    path = WEIGHTS / f"{name}.npz"
    if not path.exists():
        found = in_history(name)
        if found is None:
            raise SystemExit(
                f"{path}: not here, and not in the history of this clone: train the model by --train, "
                "or get the whole history: git fetch --unshallow"
            )
        path.with_suffix(".tmp").write_bytes(found)
        path.with_suffix(".tmp").replace(path)
    return path


def in_history(name: str) -> bytes | None:
    """The bytes of a file of weights in the history, if this clone has that."""
    command = ["git", "show", f"{COMMIT}:{FOLDER}/{name}.npz"]
    try:
        shown = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    except FileNotFoundError:
        return None
    return None if shown.returncode else shown.stdout


def have(name: str) -> bool:
    """Whether `weights` finds these weights."""
    return (WEIGHTS / f"{name}.npz").exists() or in_history(name) is not None
