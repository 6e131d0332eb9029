"""Texts with classes: what Debian's packages say of themselves, by the section that they are in.

DIR/debian holds `Packages` and `Translation-en` of one release, as apt keeps them (README.md says how to get them). One
text for each source package: most binary packages of a source share theirs. Sections that say what a package is (libs,
doc) rather than what it is about are left out.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from nestcast_research.places import PAGES

VOCABULARY = PAGES / "codes-vocabulary.csv"
WORDS = 2000  # of the vocabulary
COMMON = 0.2  # a word in more of the texts than this is left out
SHORTEST = 20  # words of a text
WORD = re.compile(r"[a-z][a-z+#-]*[a-z+#]")
SECTIONS = (
    "admin", "database", "editors", "electronics", "fonts", "games", "gnu-r", "graphics", "hamradio", "haskell", "java",
    "javascript", "mail", "math", "net",
    "ocaml", "perl", "php", "python", "ruby", "rust", "science", "sound", "text", "video", "web",
)  # fmt: skip


def paragraphs(path: Path) -> Iterator[dict[str, str]]:
    """The fields of each paragraph of a control file (Debian Policy, section 5.1); lines of a field are joined by a
    space."""
    found: dict[str, str] = {}
    name = ""
    with open(path, encoding="utf-8") as file:
        for line in file:
            if not line.strip():
                if found:
                    yield found
                found = {}
            elif line[0] in " \t":
                found[name] += " " + line.strip()
            else:
                name, _, value = line.partition(":")
                found[name] = value.strip()
    if found:
        yield found


def texts(folder: Path) -> tuple[list[list[str]], np.ndarray]:
    """Words of each text, and the number of its section, (N,); in an order that has nothing to do with either."""
    said = {one["Description-md5"]: one["Description-en"] for one in paragraphs(folder / "debian/Translation-en")}
    found: dict[str, tuple[list[str], int]] = {}
    for one in paragraphs(folder / "debian/Packages"):
        source, section = one.get("Source", one["Package"]).split()[0], one.get("Section", "").rpartition("/")[2]
        words = WORD.findall(said.get(one.get("Description-md5", ""), "").lower())
        if section in SECTIONS and len(words) >= SHORTEST:
            found.setdefault(source, (words, SECTIONS.index(section)))
    if not found:
        raise SystemExit(f"{folder / 'debian'}: no packages with descriptions; README.md says how to get them")
    sources = sorted(found, key=lambda source: hashlib.sha256(source.encode()).digest())
    return [found[source][0] for source in sources], np.array([found[source][1] for source in sources])


def vectors(of: list[list[str]]) -> np.ndarray:
    """(N, WORDS) of length 1: 1 + log of how often a word of the vocabulary comes, times the logarithm of how rare it
    is."""
    with open(VOCABULARY, encoding="utf-8") as file:
        rarity = {row["word"]: float(row["rarity"]) for row in csv.DictReader(file)}
    place = {word: i for i, word in enumerate(rarity)}
    counts = np.zeros((len(of), len(rarity)), np.float32)
    for row, words in zip(counts, of):
        for word, count in Counter(word for word in words if word in place).items():
            row[place[word]] = (1 + np.log(count)) * rarity[word]
    return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-6)


def write_vocabulary(of: list[list[str]]) -> None:
    """The words that most texts have, but for the commonest."""
    counts = Counter(word for words in of for word in set(words))
    kept = [(word, count) for word, count in counts.most_common() if count <= COMMON * len(of)][:WORDS]
    with open(VOCABULARY, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("word", "rarity"))
        writer.writerows((word, f"{np.log(len(of) / count):.3f}") for word, count in kept)
