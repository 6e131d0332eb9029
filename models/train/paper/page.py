"""The page of all figures, each beside what the paper says of it."""

from __future__ import annotations

import csv
import html
from dataclasses import dataclass
from pathlib import Path

import figures

TIMES = Path("../../benches/results/retrieval")  # Figure 3, which `cargo xtask measure retrieval` draws; relative to the page
STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
section { border-top: 1px solid #8888; margin-top: 2rem; }
dl { display: grid; grid-template-columns: 8rem 1fr; gap: 0.3rem 1rem; }
dt { font-weight: 600; } dd { margin: 0; }
img { max-width: 100%; background: white; padding: 0.5rem; box-sizing: border-box; image-rendering: auto; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: 0.85rem; }
td, th { padding: 0.15rem 0.6rem; text-align: right; border-bottom: 1px solid #8884; }
td:first-child, th:first-child { text-align: left; }
"""


@dataclass
class Section:
    title: str
    claim: str  # what the paper says
    found: str  # what ours shows
    differs: str  # where it differs, and why
    pictures: tuple[str, ...] = ()
    table: str = ""  # a CSV file of OUT


def table(path: Path) -> str:
    with open(path, encoding="utf-8") as file:
        first, *rest = csv.reader(file)
    row = lambda cells, tag: "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"
    return '<div class="scroll"><table>' + row(first, "th") + "".join(row(cells, "td") for cells in rest) + "</table></div>"


def lengths_table() -> str:
    """Figure 5's curves of the codes, a row for each length."""
    with open(figures.OUT / "code.csv", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if not row["coder"].startswith(("JPEG", "nestcast"))]
    coders = list(dict.fromkeys(row["coder"] for row in rows))
    errors = {(row["coder"], int(row["bits"])): row["error"] for row in rows}
    lengths = sorted({bits for _, bits in errors})
    cells = "".join(f"<tr><td>{bits}</td>" + "".join(f"<td>{errors[coder, bits]}</td>" for coder in coders) + "</tr>" for bits in lengths)
    return '<div class="scroll"><table><tr><th>bits</th>' + "".join(f"<th>{html.escape(c)}</th>" for c in coders) + f"</tr>{cells}</table></div>"


def section(part: Section) -> str:
    terms = (("Paper", part.claim), ("Here", part.found), ("Differs", part.differs))
    listed = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in terms)
    shown = "".join(f'<p><img src="{name}" alt="{html.escape(part.title)}"></p>' for name in part.pictures)
    rows = lengths_table() if part.table == "code.csv" else table(figures.OUT / part.table) if part.table else ""
    return f"<section><h2>{part.title}</h2><dl>{listed}</dl>{shown}{rows}</section>"


def times() -> tuple[str, ...]:
    return tuple((TIMES / path.name).as_posix() for path in sorted((figures.OUT / TIMES).glob("*.svg")))


def write(name: str, title: str, about: str, sections: list[Section]) -> None:
    """A page of OUT; `about` is HTML, the paragraph behind its title."""
    parts = "".join(section(part) for part in sections)
    (figures.OUT / name).write_text(
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>nestcast: {html.escape(title[0].lower() + title[1:], quote=False)}</title><style>{STYLE}</style></head><body><h1>{html.escape(title, quote=False)}</h1>"
        f"<p>{about}</p>{parts}</body></html>\n",
        encoding="utf-8",
    )
