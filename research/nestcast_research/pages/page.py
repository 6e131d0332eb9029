"""The page of all figures, each next to what the paper says of it."""

from __future__ import annotations

import csv
import html
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nestcast_research.places import PAGES

# Figure 3, which `cargo xtask measure retrieval` draws; relative to the page
TIMES = Path("../../benches/results/retrieval")
STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
section { border-top: 1px solid #8888; margin-top: 2rem; }
h1, h2 { line-height: 1.25; }
dl { display: grid; grid-template-columns: 5rem minmax(0, 46rem); gap: 0.4rem 1rem; }
dt { font-weight: 600; grid-column: 1; } dd { margin: 0; grid-column: 2; }
figure { margin: 1.2rem 0; } figcaption { font-size: 0.9rem; max-width: 52rem; margin: 0.4rem 0; }
img { max-width: 100%; background: white; padding: 0.5rem; box-sizing: border-box; display: block; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
td, th { padding: 0.15rem 0.5rem; text-align: right; border-bottom: 1px solid #8884; vertical-align: bottom; }
td { white-space: nowrap; } th { overflow-wrap: normal; } .text { text-align: left; }
td:first-child, th:first-child { position: sticky; left: 0; background: Canvas; }
@media (max-width: 40rem) { dl { display: block; } dd { margin-bottom: 0.4rem; } img { max-width: max(100%, 42rem); } td:first-child { white-space: normal; min-width: 6rem; } }
"""


@dataclass
class Section:
    title: str
    claim: str  # what the paper says
    found: str  # what ours shows
    differs: str  # where it differs, and why; a line each paragraph
    pictures: tuple[tuple[str, str], ...] = ()  # files, and what they show
    table: str = ""  # a CSV file of PAGES
    caption: str = ""  # what the table's numbers are


def table(path: Path, caption: str) -> str:
    with open(path, encoding="utf-8") as file:
        return written(list(csv.reader(file)), caption)


def written(rows: list[list[str]], caption: str) -> str:
    """A table whose first row names the columns; those with words in them are set to the left."""
    kinds = [' class="text"' if any(not number(cell) for cell in column[1:]) else "" for column in zip(*rows)]
    cell = lambda text, tag, i: f"<{tag}{kinds[i]}>{html.escape(text)}</{tag}>"
    row = lambda cells, tag: "<tr>" + "".join(cell(text, tag, i) for i, text in enumerate(cells)) + "</tr>"
    first, *rest = rows
    cells = row(first, "th") + "".join(row(cells, "td") for cells in rest)
    return f'<figure><figcaption>{caption}</figcaption><div class="scroll"><table>{cells}</table></div></figure>'


def number(text: str) -> bool:
    """Also an empty cell."""
    return not text.strip("0123456789.-")


def pivoted(
    path: Path, rows: str, columns: str, value: str, caption: str, kept: Callable[[str], bool] = lambda _: True
) -> str:
    """A table in which one column's values become columns: a row for each value of `rows`, in order."""
    with open(path, encoding="utf-8") as file:
        found = [row for row in csv.DictReader(file) if kept(row[columns])]
    names = list(dict.fromkeys(row[columns] for row in found))
    values = {(row[rows], row[columns]): row[value] for row in found}
    firsts = sorted({row[rows] for row in found}, key=int)
    heads = [rows, *(f"{columns} {name}" if number(name) else name for name in names)]
    return written([heads, *([first, *(values[first, name] for name in names)] for first in firsts)], caption)


def tabled(part: Section) -> str:
    path = PAGES / part.table
    if part.table == "code.csv":  # Figure 5's curves of the codes
        return pivoted(
            path, "bits", "coder", "error", part.caption, lambda coder: not coder.startswith(("JPEG", "nestcast"))
        )
    if part.table == "pinwheel.csv":
        return pivoted(path, "bits", "query", "points", part.caption)
    return table(path, part.caption)


def section(part: Section) -> str:
    terms = (("Paper", part.claim), ("Here", part.found), ("Differs", part.differs))
    listed = "".join(
        f"<dt>{name}</dt>" + "".join(f"<dd>{line}</dd>" for line in text.split("\n")) for name, text in terms
    )
    shown = "".join(
        f'<figure><div class="scroll"><img src="{name}" alt="{html.escape(part.title)}"></div><figcaption>{what}</figcaption></figure>'
        for name, what in part.pictures
    )
    return f"<section><h2>{part.title}</h2><dl>{listed}</dl>{shown}{tabled(part) if part.table else ''}</section>"


def times() -> tuple[tuple[str, str], ...]:
    drawn = (
        ("count.svg", "over the number of codes of 512 bits"),
        ("length.svg", "over the length of a million codes"),
    )
    return tuple(
        (
            (TIMES / name).as_posix(),
            f"Processor time of a query {what}, of a code that is not in the index; both axes are logarithmic. R is the least number of codes that ordered retrieval gives.",
        )
        for name, what in drawn
    )


def write(name: str, title: str, about: str, sections: list[Section]) -> None:
    """Writes a page; `about` is HTML, the paragraph after its title."""
    parts = "".join(section(part) for part in sections)
    (PAGES / name).write_text(
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>nestcast: {html.escape(title[0].lower() + title[1:], quote=False)}</title><style>{STYLE}</style></head><body><h1>{html.escape(title, quote=False)}</h1>"
        f"<p>{about}</p>{parts}</body></html>\n",
        encoding="utf-8",
    )
