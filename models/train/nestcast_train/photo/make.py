"""The model `photo`, from nothing to a package as it ships: python -m nestcast_train.photo.make --photos PHOTOS --out
OUT.

Three steps: the coder with one synthesis network for all cuts and the post-filters (photo.toml), the photos coded with
it (pack.py), and a network for each range of cuts, trained through the filter after it (photo-synthesis.toml). Stop it
at any time: the same command goes on.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

import torch

from nestcast_train import train
from nestcast_train.coded import pack
from nestcast_train.places import SETTINGS
from nestcast_train.settings import Settings, load

CODER, SYNTHESIS = SETTINGS / "photo.toml", SETTINGS / "photo-synthesis.toml"


def make(photos: Path, out: Path, steps: int | None = None) -> Path:
    """The package; `steps`: about this number in each training, for a dry run."""

    def settings(file: Path, **changed: str) -> Settings:
        loaded = dataclasses.replace(load(file), **changed)
        return loaded.shortened(steps) if steps else loaded

    coder = out / "coder"
    print("1 of 3: the coder and a network for all cuts", flush=True)
    trained(settings(CODER), photos, coder)
    print("2 of 3: all photos coded", flush=True)
    pack.pack(photos, out / "packed", coder / "package", coder / "checkpoint.pt", CODER)
    print("3 of 3: a network for each range of cuts", flush=True)
    of_coder = {"coder": str(coder.resolve() / "package"), "start": str(coder.resolve() / "checkpoint.pt")}
    trained(settings(SYNTHESIS, **of_coder), out / "packed", out)
    return out / "package"


def trained(settings: Settings, data: Path, out: Path) -> None:
    """Trains to the end and exports, or goes on with that."""
    mark, made_by = out / "exported", repr(settings)
    if mark.exists():
        if mark.read_text(encoding="utf-8") != made_by:
            raise SystemExit(f"{out} was made with other settings: name another --out, or delete it")
        return
    run = train.start(settings, data, out, resume=(out / "checkpoint.pt").exists())
    if not train.to_its_end(run):
        raise SystemExit("stopped; the same command goes on from here")
    run.task.export(run.averaged(), out)
    mark.write_text(made_by, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=Path, required=True, help="folder of openly licensed photos")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, help="about so many steps in each training, for a dry run")
    parser.add_argument("--threads", type=int, help="of PyTorch; default: one a core")
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    print(make(arguments.photos, arguments.out, arguments.steps))


if __name__ == "__main__":
    main()
