"""What stands in the cells of a table: a grid with spans, words and values column by column, empty cells.

Training's tables are such that a reader can tell where an empty cell or a span is. Without rules between columns a
column is known by what stands in its other rows, and a span by its words, which lie across the columns it spans.
"""

from __future__ import annotations

import random
from collections.abc import Set
from dataclasses import dataclass, field
from itertools import product

from training.charset import settable
from training.pages.runs import Placed
from training.pages.values import Column, Values
from training.words import Words

UPRIGHT = ("all", "columns")
"""Rulings with lines between the columns."""
LEVEL = ("all", "rows")
"""Rulings with lines between the rows."""

_MOST_ROWS, _MOST_COLUMNS, _MOST_NARROW = 12, 6, 8
_COLUMN, _NARROW = 4.0, 2.6
"""Width of a column at least, and of one of short values, in body sizes."""
_TOTALS = ("Total", "Total:", "Sum", "Summe", "Gesamt", "Totale", "Totaal", "Suma", "Celkem")
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
    empty: tuple[float, ...] = ()
    """Shares of cells below the head that are empty, one of which is drawn for a table."""
    widened: float = 0.0
    """Share of tables with room to spare in which one column takes it, so that the last ends at the margin."""


HELD_OUT = Habits(
    (0.0, 0.0, 0.06, 0.12),
    (("all", 0.45), ("rows", 0.2), ("head", 0.2), ("outer", 0.05), ("none", 0.1)),
    0.0,
    0.0,
    False,
)
"""The held-out tables are as they always were."""

TRAINED = Habits(
    (0.0, 0.0, 0.05, 0.12, 0.25),
    (
        ("all", 0.34),
        ("rows", 0.16),
        ("head", 0.13),
        ("under", 0.12),
        ("columns", 0.05),
        ("bands", 0.06),
        ("outer", 0.03),
        ("none", 0.11),
    ),
    0.3,
    0.5,
    True,
    (0.0, 0.05, 0.15, 0.35),
    0.25,
)


@dataclass
class Cell:
    """A cell at (row, column) over `rows` x `columns` places of the grid."""

    row: int
    column: int
    rows: int
    columns: int
    words: list[str]
    lines: list[Placed] = field(default_factory=list)
    """Its words as broken into lines."""
    align: str = ""
    """Where its lines stand, if not where those of its column do."""

    def place(self) -> tuple[int, int]:
        return self.row, self.column

    def cut(self, rows: int, columns: int) -> list[Cell]:
        """Make the cell smaller; answers cells without words for the places it leaves."""
        places = product(range(self.rows), range(self.columns))
        rest = [Cell(self.row + r, self.column + c, 1, 1, []) for r, c in places if r >= rows or c >= columns]
        self.rows, self.columns = min(rows, self.rows), min(columns, self.columns)
        return rest


@dataclass
class Grid:
    """A table before it is set. What is not chosen here ("", None) is drawn when the table is set."""

    cells: list[Cell]
    rows: int
    columns: int
    ruled: str = ""
    aligned: list[str] | None = None
    gap: float = 0.0
    """Room at each side of a column, in body sizes; 0: as much as above and below."""
    raised: bool = False
    """Cells begin at the top of their rows, not in the middle."""
    kinds: list[Column] = field(default_factory=list)


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
            cells.append(Cell(row, column, tall, wide, []))
    return cells


class HeldOutCells:
    """Grids of the held-out tables."""

    def __init__(self, rng: random.Random, words: Words) -> None:
        self.rng, self.words = rng, words

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

    def grid(self, most_rows: int, width: float, usable: Set[str]) -> Grid | None:
        """A grid of at most so many rows for a table `width` body sizes wide; None where none fits."""
        rng = self.rng
        most_rows, most_columns = min(_MOST_ROWS, most_rows), min(_MOST_COLUMNS, int(width / _COLUMN))
        if most_rows < 2 or most_columns < 2:
            return None
        rows, columns = rng.randint(2, most_rows), rng.randint(2, most_columns)
        cells = grid_cells(rng, rows, columns, rng.choice(HELD_OUT.spans))
        kinds = [rng.choices(("word", "number", "token", "phrase"), (0.35, 0.4, 0.1, 0.15))[0] for _ in range(columns)]
        kinds[0] = rng.choice(("word", "word", kinds[0]))
        spaced = usable | {" "}
        for cell in cells:
            kind = "word" if cell.row == 0 else kinds[cell.column]
            shown = (settable(word.translate(_FORBIDDEN), spaced) for word in self._content(kind))
            cell.words = " ".join(shown).split()
        return Grid(cells, rows, columns)


class TrainedCells:
    """Grids of training's tables."""

    def __init__(self, rng: random.Random, words: Words) -> None:
        self.rng, self.values = rng, Values(words)

    def grid(self, most_rows: int, width: float, usable: Set[str]) -> Grid | None:
        """As HeldOutCells.grid."""
        rng, narrow = self.rng, self.rng.random() < 0.2
        most_rows = min(_MOST_ROWS, most_rows)
        most_columns = min(_MOST_NARROW, int(width / _NARROW)) if narrow else min(_MOST_COLUMNS, int(width / _COLUMN))
        if most_rows < 2 or most_columns < 2:
            return None
        least = min(4 if narrow else rng.choice((2, 2, 3)), most_columns)
        rows, columns = rng.randint(2, most_rows), rng.randint(least, most_columns)
        ruled = rng.choices(*zip(*TRAINED.rules, strict=True))[0]
        gap = 0.0
        if ruled not in UPRIGHT:  # wider than between words, so that cells of several words stay apart
            gap = rng.choice((0.5, 0.7, 1.0, 1.5, 2.5))
            gap = max(0.45, min(gap, (width / columns - _NARROW) / 2))
        kinds, share = self.values.columns(columns, narrow), rng.choice(TRAINED.empty)
        cells = self._seen(grid_cells(rng, rows, columns, rng.choice(TRAINED.spans)), rows, ruled)
        grid = Grid(cells, rows, columns, ruled, [column.align for column in kinds], gap, kinds=kinds)
        grid.raised = ruled in (*LEVEL, "bands") and rng.random() < 0.3
        if rng.random() < TRAINED.aligned_left:
            grid.aligned = ["left"] * columns
        across = rng.choice(("centre", "centre", "left"))
        for cell in cells:
            self.fill(cell, grid, usable)
            if cell.columns > 1 and ruled not in UPRIGHT:
                cell.align = across
        if share:
            for cell in self._empty(grid, share):
                cell.words = []
        return grid

    def fill(self, cell: Cell, grid: Grid, usable: Set[str]) -> None:
        """Give a cell words; a number where the font lacks them."""
        column = grid.kinds[cell.column]
        words = [word.translate(_FORBIDDEN) for word in (column.head() if cell.row == 0 else column.write())]
        shown = (" ".join(filter(None, (settable(part, usable) for part in word.split()))) for word in words)
        cell.words = [word for word in shown if word] or [str(self.rng.randint(0, 99))]

    def _seen(self, cells: list[Cell], rows: int, ruled: str) -> list[Cell]:
        """The cells without spans of which a reader could not tell what they span, and with a cell of one row in every
        row."""
        for cell in list(cells):
            if ruled not in UPRIGHT and cell.columns > 1 and (cell.row == 1 or rows < 3):
                cells += cell.cut(cell.rows, 1)
            if ruled not in LEVEL and cell.rows > 2:
                cells += cell.cut(2, cell.columns)
        for row in range(rows):
            if not any(cell.row == row and cell.rows == 1 for cell in cells):
                tall = next(cell for cell in cells if cell.row <= row < cell.row + cell.rows)
                cells += tall.cut(max(1, row - tall.row), tall.columns)
        return sorted(cells, key=Cell.place)

    def _empty(self, grid: Grid, share: float) -> list[Cell]:
        """The cells that are empty: some anywhere, in some tables those of a column, of a row or of a total too."""
        rng, boxed = self.rng, grid.ruled == "all"
        last, chosen = grid.rows - 1, rng.random()
        bare = rng.randrange(grid.columns) if rng.random() < 0.12 else -1
        corner, grouped, totals = rng.random() < 0.25, rng.random() < 0.12, rng.random() < 0.2 and last > 1
        sparse = {row for row in range(1, grid.rows) if rng.random() < 0.3} if chosen < 0.15 else set[int]()
        kept = rng.randrange(1, grid.columns)

        def emptied(cell: Cell) -> bool:
            if cell.row == 0:
                return (corner and cell.column == 0) or (boxed and rng.random() < 0.03)
            if totals and cell.row == last:
                cell.words = [rng.choice(_TOTALS)] if cell.column == 0 else cell.words
                return 0 < cell.column < grid.columns - rng.choice((1, 1, 2))
            if cell.row in sparse:
                return cell.column not in (0, kept)
            if cell.column == bare or (grouped and cell.column == 0 and rng.random() < 0.6):
                return True
            return rng.random() < (share if cell.column else share / 2) + grid.kinds[cell.column].empty

        cells = [cell for cell in grid.cells if (boxed or cell.rows == cell.columns == 1) and emptied(cell)]
        return cells if boxed else self._told(grid, cells)

    def _told(self, grid: Grid, cells: list[Cell]) -> list[Cell]:
        """Those of the cells to be emptied that a reader can tell: where there are no rules, other cells show that
        there is a row and a column."""
        empty = {cell.place() for cell in cells}
        if (0, 0) in empty:
            empty.discard((1, 0))
        for head in grid.cells:
            if head.row == 0 and head.columns > 1 and grid.ruled not in UPRIGHT:
                empty -= {(1, head.column + c) for c in range(head.columns)}
        for row in range(1, grid.rows):
            single = [cell.column for cell in grid.cells if cell.row == row and cell.rows == 1]
            if all((row, column) in empty for column in single):
                empty.discard((row, self.rng.choice(single)))
        return [cell for cell in cells if cell.place() in empty]
