"""Tables: a grid of cells, some over several rows or columns, set and written as HTML in the output grammar."""

from __future__ import annotations

import random
from dataclasses import dataclass

from PIL import Image, ImageDraw

from training.charset import settable
from training.pages.ink import EMPTY, Box, FontShelf, SizedFont, joined
from training.pages.runs import Placed, Run, break_runs, draw_line, shifted
from training.targets import Block, Point
from training.words import Words

_MOST_ROWS, _MOST_COLUMNS = 12, 6
_FORBIDDEN = str.maketrans("", "", "<>&")
"""Left out of cells: HTML writes these signs otherwise than they are printed."""


@dataclass(frozen=True)
class Habits:
    """What tables look like, as a whole."""

    spans: tuple[float, ...]
    """Shares of cells that reach over a neighbour, one of which is drawn for a table."""
    rules: tuple[tuple[str, float], ...]
    """How tables are ruled, and how often."""
    aligned_left: float
    """Share of tables whose columns are all aligned left."""
    anywhere: float
    """Share of tables that stand anywhere between the margins, not at the left one or in the middle."""
    whole_words: bool
    """Whether columns are as wide as their longest word; words wider than an even column are then left out."""


HELD_OUT = Habits(
    (0.0, 0.0, 0.06, 0.12),
    (("all", 0.45), ("rows", 0.2), ("head", 0.2), ("outer", 0.05), ("none", 0.1)),
    0.0,
    0.0,
    False,
)
"""The held-out tables are as they always were."""

TRAINED = Habits(
    (0.0, 0.05, 0.12, 0.25),
    (
        ("all", 0.4),
        ("rows", 0.18),
        ("head", 0.12),
        ("under", 0.1),
        ("columns", 0.06),
        ("bands", 0.05),
        ("outer", 0.03),
        ("none", 0.06),
    ),
    0.4,
    0.5,
    True,
)


@dataclass
class Cell:
    """A cell at (row, column) over `rows` x `columns` places of the grid, with its broken lines."""

    row: int
    column: int
    rows: int
    columns: int
    words: list[str]
    lines: list[Placed]


def grid_cells(rng: random.Random, rows: int, columns: int, spans: float) -> list[Cell]:
    """Cells without words that cover the grid; a share `spans` of them reaches over a neighbour."""
    taken: set[tuple[int, int]] = set()
    cells = []
    for row in range(rows):
        for column in range(columns):
            if (row, column) in taken:
                continue
            wide = tall = 1
            if rng.random() < spans:
                if rng.random() < 0.6:
                    while (
                        wide < 3
                        and column + wide < columns
                        and (row, column + wide) not in taken
                        and (wide == 1 or rng.random() < 0.3)
                    ):
                        wide += 1
                else:
                    tall = min(rng.choice((2, 2, 3)), rows - row)
            taken |= {(row + r, column + c) for r in range(tall) for c in range(wide)}
            cells.append(Cell(row, column, tall, wide, [], []))
    return cells


class TableSetter:
    """Draws tables of one random source."""

    def __init__(self, rng: random.Random, shelf: FontShelf, words: Words) -> None:
        self.rng, self.shelf, self.words = rng, shelf, words
        self.habits = TRAINED if words.trained else HELD_OUT

    def _content(self, kind: str) -> list[str]:
        rng = self.rng
        if rng.random() < 0.04:
            return []
        if kind == "number":
            return [
                rng.choice(
                    (
                        f"{rng.randint(0, 99999)}",
                        f"{rng.uniform(0, 5000):.2f}",
                        f"{rng.uniform(-9, 99):.1f}",
                        f"{rng.randint(0, 100)} %",
                        f"{rng.randint(1, 999)},{rng.randint(0, 999):03d}",
                        "–",
                        "-",
                    )
                )
            ]
        if kind == "token":
            return [self.words.made_up() if rng.random() < 0.5 else self.words.technical.token()]
        if kind == "phrase":
            return self.words.run(rng.randint(2, 9))
        return self.words.run(3)[: rng.randint(1, 2)]

    def _fill(self, cells: list[Cell], columns: int, usable: set[str]) -> None:
        kinds = [
            self.rng.choices(("word", "number", "token", "phrase"), (0.35, 0.4, 0.1, 0.15))[0] for _ in range(columns)
        ]
        kinds[0] = self.rng.choice(("word", "word", kinds[0]))
        spaced = usable | {" "}
        for cell in cells:
            kind = "word" if cell.row == 0 else kinds[cell.column]
            shown = (settable(word.translate(_FORBIDDEN), spaced) for word in self._content(kind))
            cell.words = " ".join(shown).split()

    def set(
        self,
        page: Image.Image,
        font: SizedFont,
        head: SizedFont,
        usable: set[str],
        place: tuple[int, int, int, int],
        quick: bool,
    ) -> Block | None:
        """A table inside (x, y, width, height) from its upper left corner on; None when none fits."""
        rng, (left, top, width, height) = self.rng, place
        pad = font.size * rng.uniform(0.3, 0.8)
        leading = int(font.size * rng.uniform(1.15, 1.4))
        most_rows = min(_MOST_ROWS, int(height / (leading + pad)))
        most_columns = min(_MOST_COLUMNS, int(width / (font.size * 4)))
        if most_rows < 2 or most_columns < 2:
            return None
        rows, columns = rng.randint(2, most_rows), rng.randint(2, most_columns)
        cells = grid_cells(rng, rows, columns, rng.choice(self.habits.spans))
        self._fill(cells, columns, usable)
        if self.habits.whole_words:
            self._shorten(cells, (font, head), width / columns - 2 * pad)
        least = self._least_widths(cells, columns, (font, head), pad)
        widths = self._widths(cells, least, font, pad, width)
        heights = self._heights(cells, rows, widths, (font, head), pad, leading)
        while heights and sum(heights) > height:
            heights.pop()
        rows = len(heights)
        if rows < 2:
            return None
        cells = [c for c in cells if c.row < rows]
        for cell in cells:
            cell.rows = min(cell.rows, rows - cell.row)
        x0 = left + rng.choice((0.0, (width - sum(widths)) / 2))
        if self.habits.anywhere and rng.random() < self.habits.anywhere:
            x0 = left + rng.uniform(0.0, max(0.0, width - sum(widths)))
        xs = [x0 + sum(widths[:n]) for n in range(columns + 1)]
        ys = [top + sum(heights[:n]) for n in range(rows + 1)]
        ink = self._rules(page, cells, xs, ys, max(1, font.size // 18))
        return self._draw(page, cells, xs, ys, ink, (font, head), pad, leading, quick)

    def _shorten(self, cells: list[Cell], fonts: tuple[SizedFont, SizedFont], room: float) -> None:
        """Leave out words wider than a column; a number stands where nothing is left."""
        for cell in cells:
            short = [word for word in cell.words if fonts[cell.row == 0].length(word) * 1.02 < room]
            cell.words = short if short or not cell.words else [str(self.rng.randint(0, 99))]

    def _least_widths(
        self, cells: list[Cell], columns: int, fonts: tuple[SizedFont, SizedFont], pad: float
    ) -> list[float]:
        """Widths of columns in which no word must be broken; 0 where words may be."""
        least = [0.0] * columns
        if not self.habits.whole_words:
            return least
        for cell in cells:
            longest = max((fonts[cell.row == 0].length(word) for word in cell.words), default=0.0)
            for column in range(cell.column, cell.column + cell.columns):
                least[column] = max(least[column], (longest * 1.02 + 2 * pad) / cell.columns)
        return least

    def _widths(self, cells: list[Cell], least: list[float], font: SizedFont, pad: float, most: float) -> list[float]:
        """Widths of columns as their cells need them, at most `most` together, and `least` each if that can be."""
        widths = [max(font.size * 1.5, needed) for needed in least]
        for cell in cells:
            need = (font.length(" ".join(cell.words)) * 1.08 + 2 * pad) / cell.columns
            for column in range(cell.column, cell.column + cell.columns):
                widths[column] = max(widths[column], min(need, most * 0.5))
        scale, narrowest = most / sum(widths), sum(least)
        if scale < 1 and 0 < narrowest < most:
            part = (most - narrowest) / (sum(widths) - narrowest)
            return [low + part * (wide - low) for low, wide in zip(least, widths, strict=True)]
        if scale < 1 or self.rng.random() < 0.4:
            widths = [w * scale for w in widths]
        return widths

    def _heights(
        self,
        cells: list[Cell],
        rows: int,
        widths: list[float],
        fonts: tuple[SizedFont, SizedFont],
        pad: float,
        leading: int,
    ) -> list[float]:
        """Break every cell's words and make each row as high as its tallest cell of one row."""
        heights = [leading + pad] * rows
        for cell in cells:
            font = fonts[cell.row == 0]
            room = sum(widths[cell.column : cell.column + cell.columns]) - 2 * pad
            cell.lines = break_runs([Run(word, font) for word in cell.words], room, 0.0, False)
            if cell.rows == 1:
                heights[cell.row] = max(heights[cell.row], len(cell.lines) * leading + pad)
            else:
                cell.lines = cell.lines[: cell.rows]
        return heights

    def _rules(self, page: Image.Image, cells: list[Cell], xs: list[float], ys: list[float], weight: int) -> Box:
        rng, draw = self.rng, ImageDraw.Draw(page)
        styles, shares = zip(*self.habits.rules, strict=True)
        style = rng.choices(styles, shares)[0]
        tone = rng.choice((255, 255, 160, 90))
        shade = rng.randint(15, 60) if rng.random() < 0.25 else 0
        if shade:
            draw.rectangle((xs[0], ys[0], xs[-1], ys[1]), fill=shade)
        if style == "bands":
            for row in range(1, len(ys) - 1, 2):
                draw.rectangle((xs[0], ys[row], xs[-1], ys[row + 1]), fill=shade or 30)
        for cell in cells:
            x1, y1 = xs[cell.column], ys[cell.row]
            x2, y2 = xs[cell.column + cell.columns], ys[cell.row + cell.rows]
            if style == "all":
                draw.rectangle((x1, y1, x2, y2), outline=tone, width=weight)
            elif style == "rows" or (style in ("head", "under", "columns") and cell.row == 0):
                draw.line((x1, y2, x2, y2), tone, weight)
            if style == "columns" and cell.column:
                draw.line((x1, y1, x1, y2), tone, weight)
        if style == "head":
            draw.line((xs[0], ys[0], xs[-1], ys[0]), tone, weight)
            draw.line((xs[0], ys[-1], xs[-1], ys[-1]), tone, weight)
        elif style == "outer":
            draw.rectangle((xs[0], ys[0], xs[-1], ys[-1]), outline=tone, width=weight)
        return EMPTY if style == "none" and not shade else (xs[0], ys[0], xs[-1], ys[-1])

    def _draw(
        self,
        page: Image.Image,
        cells: list[Cell],
        xs: list[float],
        ys: list[float],
        box: Box,
        fonts: tuple[SizedFont, SizedFont],
        pad: float,
        leading: int,
        quick: bool,
    ) -> Block | None:
        """Print the cells and write the HTML; a tag stands where its cell's text begins."""
        aligned = [self.rng.choice(("left", "left", "centre", "right")) for _ in xs[1:]]
        if self.habits.aligned_left and self.rng.random() < self.habits.aligned_left:
            aligned = ["left"] * len(aligned)
        text, points = "", list[Point]()

        def write(markup: str, at: Point) -> None:
            nonlocal text
            text += markup
            points.extend([at] * len(markup))

        corner = (xs[0], ys[0] + leading / 2)
        write("<table>", corner)
        printed = False
        for row in range(len(ys) - 1):
            write("<tr>", (xs[0], ys[row] + leading / 2))
            for cell in (c for c in cells if c.row == row):
                font = fonts[row == 0]
                room = xs[cell.column + cell.columns] - xs[cell.column] - 2 * pad
                free = ys[row + cell.rows] - ys[row] - len(cell.lines) * leading
                baseline = ys[row] + free / 2 + leading * 0.5 + font.size * 0.32
                spans = "".join(
                    f' {name}="{count}"'
                    for name, count in (("rowspan", cell.rows), ("colspan", cell.columns))
                    if count > 1
                )
                content, where = "", list[Point]()
                for line in cell.lines:
                    placed = shifted(line, room, aligned[cell.column])
                    drawn, at, ink = draw_line(page, placed, xs[cell.column] + pad, int(baseline), quick, False)
                    if content:
                        content += " "
                        where.append(at[0])
                    content += drawn
                    where += at
                    box = joined(box, ink)
                    baseline += leading
                start = where[0] if where else (xs[cell.column] + pad, (ys[row] + ys[row + cell.rows]) / 2)
                write(f"<td{spans}>", start)
                text += content
                points += where
                write("</td>", where[-1] if where else start)
                printed = printed or bool(content)
            write("</tr>", (xs[-1], ys[row] + leading / 2))
        write("</table>", (xs[-1], ys[-1]))
        return Block("table", text, points, box) if printed else None
