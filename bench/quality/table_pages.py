"""Pages with one table each, ruled or open, some cells spanning rows or columns; truth as HTML in reading order."""

from __future__ import annotations

import html
import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from uocr.document import BOX_SCALE, Box

from bench.quality import looks
from bench.quality.pages import Drawn, PageSet, TruthBlock
from training import fonts
from training.words import Words

SEED = 79_000_000
_WIDTH, _HEIGHT = 1024, 820
"""Page size in pixels: read in a base view without resizing."""


@dataclass(frozen=True)
class Cell:
    """A cell at (row, column) over `rows` x `columns` places of the grid."""

    row: int
    column: int
    rows: int
    columns: int
    text: str


def as_html(cells: list[Cell], head: int) -> str:
    """The table as the models write it; the first `head` rows hold header cells."""
    parts = ["<table>"]
    for row in range(max(cell.row for cell in cells) + 1):
        parts.append("<tr>")
        for cell in sorted((c for c in cells if c.row == row), key=lambda c: c.column):
            tag = "th" if row < head else "td"
            spans = (f' rowspan="{cell.rows}"' if cell.rows > 1 else "") + (
                f' colspan="{cell.columns}"' if cell.columns > 1 else "")
            parts.append(f"<{tag}{spans}>{html.escape(cell.text, quote=False)}</{tag}>")
        parts.append("</tr>")
    return "".join(parts) + "</table>"


def _cells(rng: random.Random, words: Words, rows: int, columns: int) -> list[Cell]:
    taken: set[tuple[int, int]] = set()
    cells = []
    for row in range(rows):
        for column in range(columns):
            if (row, column) in taken:
                continue
            wide = 2 if rng.random() < 0.08 and column + 1 < columns and (row, column + 1) not in taken else 1
            tall = 2 if wide == 1 and rng.random() < 0.06 and 0 < row < rows - 1 else 1
            taken |= {(row + r, column + c) for r in range(tall) for c in range(wide)}
            if row and column and rng.random() < 0.6:
                text = rng.choice((f"{rng.randint(0, 99999)}", f"{rng.uniform(0, 500):.2f}",
                                   f"{rng.randint(0, 100)} %"))
            else:
                text = " ".join(word for word in words.run(3)[:rng.randint(1, 2)] if len(word) < 14) or "–"
            cells.append(Cell(row, column, tall, wide, text))
    return cells


def table_page(pack: Path, index: int) -> Drawn:
    """A table of 3 to 8 rows and 2 to 5 columns, print of 17 to 26 px."""
    rng = random.Random(SEED + index)
    face = rng.choice(fonts.load(pack, "test"))
    words = Words(pack, "test", rng)
    rows, columns = rng.randint(3, 8), rng.randint(2, 5)
    cells = _cells(rng, words, rows, columns)
    font = ImageFont.truetype(str(pack / "fonts" / face.file), rng.randint(17, 26))
    pad = font.size * 0.5
    widths, height = [0.0] * columns, font.size * rng.uniform(1.6, 2.2)
    for cell in cells:
        cell_text = "".join(c for c in cell.text if c not in face.missing)
        need = (font.getlength(cell_text) + 2 * pad) / cell.columns
        for column in range(cell.column, cell.column + cell.columns):
            widths[column] = max(widths[column], need)
    if sum(widths) > _WIDTH - 80 or height * rows > _HEIGHT - 80:
        return table_page(pack, index + 500)
    left, top = rng.uniform(30, _WIDTH - 40 - sum(widths)), rng.uniform(30, _HEIGHT - 40 - height * rows)
    xs = [left + sum(widths[:n]) for n in range(columns + 1)]
    ys = [top + height * n for n in range(rows + 1)]
    sheet = Image.new("L", (_WIDTH, _HEIGHT), 0)
    draw = ImageDraw.Draw(sheet)
    ruled = rng.choice(("all", "all", "rows", "head"))
    shown = []
    for cell in cells:
        text = " ".join("".join(c for c in cell.text if c not in face.missing).split())
        shown.append(Cell(cell.row, cell.column, cell.rows, cell.columns, text))
        x1, y1 = xs[cell.column], ys[cell.row]
        x2, y2 = xs[cell.column + cell.columns], ys[cell.row + cell.rows]
        if ruled == "all":
            draw.rectangle((x1, y1, x2, y2), outline=255)
        elif ruled == "rows" or cell.row == 0:
            draw.line((x1, y2, x2, y2), 255)
        draw.text((x1 + pad, (y1 + y2) / 2), text, 255, font, anchor="lm")
    picture, _ = looks.ordinary(np.asarray(sheet), np.random.default_rng(SEED + index))
    box = Box(*(round(v / side * BOX_SCALE) for v, side in ((left, _WIDTH), (top, _HEIGHT), (xs[-1], _WIDTH),
                                                            (ys[-1], _HEIGHT))))
    return picture, [TruthBlock("table", as_html(shown, 1), box)]


def sets() -> Iterable[PageSet]:
    yield PageSet("tables", table_page, about="one table a page, 17-26 px, some cells spanning")
