"""Writes the hashes of a model package's files into its manifest: python -m nestcast_train.export.manifest DIR.

Needs only Python. Run it whenever a file of the package was rewritten, such as tables.bin after its priors were
learned: until then the package is refused.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import tomllib
from collections.abc import Iterable
from pathlib import Path

from nestcast_train.places import ARTIFACTS, CODEC_TABLES

MANIFEST = "manifest.toml"
FILES = "[files]"  # always the last table
POST_FILTER = "post_filter.bin"  # after the synthesis
# of a photo model; and a network of the synthesis for each range of cuts
REQUIRED = ("tables.bin", POST_FILTER, "analysis.onnx")
NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")


def file(folder: Path, name: str) -> Path:
    """A file of the package. The codec has the tables of the shipped packages `photo` and `video`."""
    of_codec = CODEC_TABLES / folder.name / name
    return of_codec if folder.resolve().parent == ARTIFACTS and of_codec.exists() else folder / name


def copy(folder: Path, to: Path) -> None:
    """Copies a whole package."""
    shutil.copytree(folder, to, dirs_exist_ok=True)
    for name in tables(folder):
        shutil.copyfile(file(folder, name), to / name)


def tables(folder: Path) -> list[str]:
    """The files of a shipped package that lie in the codec."""
    in_codec = CODEC_TABLES / folder.name
    return sorted(path.name for path in in_codec.glob("*")) if folder.resolve().parent == ARTIFACTS else []


def files(folder: Path, needed: Iterable[str]) -> dict[str, str]:
    """SHA-256 of every file of the package but its manifest, by name."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name == MANIFEST or not path.is_file():
            continue
        if not NAME.fullmatch(name):
            raise SystemExit(f"{path}: not a file of a model package; remove it")
        found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    found |= {name: hashlib.sha256(file(folder, name).read_bytes()).hexdigest() for name in tables(folder)}
    missing = [name for name in needed if name not in found]
    if missing:
        raise SystemExit(f"{folder}: {', '.join(missing)} missing; export the package first")
    return dict(sorted(found.items()))


def synthesis_file(number: int | str) -> str:
    """The file of a network of the synthesis."""
    return f"synthesis-{number}.onnx"


def required(head: str) -> list[str]:
    """The files of a photo model's package, by the head of its manifest."""
    return [
        *REQUIRED,
        *(synthesis_file(i) for i in range(len(tomllib.loads(head).get("ranges", {}).get("cut", ())) - 1)),
    ]


def write(folder: Path, head: str, needed: Iterable[str] | None = None) -> None:
    """Writes the manifest: `head`, which is all but the files, and their hashes."""
    lines = [
        f'"{name}" = "{digest}"' for name, digest in files(folder, required(head) if needed is None else needed).items()
    ]
    text = "\n".join([head.strip(), "", FILES, *lines, ""])
    (folder / MANIFEST).write_text(text, encoding="utf-8", newline="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    folder = parser.parse_args().folder
    try:
        text = (folder / MANIFEST).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SystemExit(f"{folder}: no {MANIFEST}; export the package first") from None
    head, found, _ = f"\n{text}".partition(f"\n{FILES}\n")
    if not found:
        raise SystemExit(f"{folder / MANIFEST}: no {FILES}; export the package again")
    write(folder, head)


if __name__ == "__main__":
    main()
