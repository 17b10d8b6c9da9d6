"""Tables as the model writes them, `<table><tr><td>...`, into a grid of cells.

Tolerates what a model that was cut short leaves behind: missing end tags, tags that are not finished, rows of
unequal length, spans beyond the table, tables inside cells (flattened to text). Text between the cells is kept.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from uocr.characters import clean
from uocr.document import Block
from uocr.markup.inline import PRINTED, Line, Run, split_lines, split_runs

SPAN_LIMIT = 1000
"""Columns or rows that one cell may span (HTML's own limit for columns)."""

GRID_LIMIT = 100_000
"""Places in a grid; spans of a table that would need more are ignored."""


@dataclass(slots=True)
class Cell:
    """One cell: its lines, how far it reaches, its place (row, column from 0)."""

    lines: list[Line]
    rows: int = 1
    columns: int = 1
    header: bool = False
    row: int = 0
    column: int = 0


@dataclass(slots=True)
class Table:
    """Cells row by row, `height` x `width` places; `outside` is text that stood between the cells."""

    rows: list[list[Cell]] = field(default_factory=list)
    width: int = 0
    outside: str = ""

    @property
    def height(self) -> int:
        return len(self.rows)

    @property
    def has_spans(self) -> bool:
        return any(cell.rows > 1 or cell.columns > 1 for row in self.rows for cell in row)

    def grid(self) -> list[list[Cell | None]]:
        """[height][width]: each cell at its top left place, None under spans and where a row is short."""
        places: list[list[Cell | None]] = [[None] * self.width for _ in self.rows]
        for row in self.rows:
            for cell in row:
                places[cell.row][cell.column] = cell
        return places

    def short_rows(self) -> int:
        """How many rows have fewer places under their cells, and under those that reach into them, than the widest."""
        covered = [0] * self.height
        for cell in (cell for row in self.rows for cell in row):
            for y in range(cell.row, min(cell.row + cell.rows, self.height)):
                covered[y] += cell.columns
        return sum(count < max(covered) for count in covered)


_TABLE_TAG = re.compile(r"<(/?)table(?:\s[^<>]*)?/?>", re.IGNORECASE)
_STRUCTURE = "table|thead|tbody|tfoot|caption|tr|td|th"
_NAMES = frozenset(_STRUCTURE.split("|"))
_TAG = re.compile(
    rf"<(/?)({_STRUCTURE}|b|i|u|em|strong|p|div|span|font|a)((?:\s[^<>]*)?)/?>"
    # Without its ">" a tag is one as far as its attributes go, if another tag or the end follows.
    rf"|<(/?)({_STRUCTURE})((?:\s++[a-z]++\s*+(?:=\s*+(?:\"[^\"<>]*+\"?+|'[^'<>]*+'?+|[^\s\"'<>]*+))?+)*+)\s*+(?=<|\Z)",
    re.IGNORECASE,
)
_BEGUN_ROWS = re.compile(r"<table(?:\s[^<>]*)?>\s*<(?:thead|tbody|caption|tr|td|th)\b", re.IGNORECASE)
_TABLE_END = re.compile(r"</table\s*>\s*\Z", re.IGNORECASE)
_BEGUN_TAG = re.compile(r"<(?:/|/?[a-z]+)\Z", re.IGNORECASE)
_MASKS = {"<": PRINTED, "&": "&amp;"}
_SPAN = re.compile(r"(colspan|rowspan)\s*=\s*[\"']?\s*([0-9]{1,9})", re.IGNORECASE)


def clean_text(block: Block) -> tuple[str, int]:
    """The block's text with its printed tags masked and odd characters replaced, and how many of these there were.

    A printed `&`, which only tables have, becomes an entity, as it would be in HTML.
    """
    pieces, start = [], 0
    for offset in block.printed_tags:
        mask = _MASKS.get(block.text[offset:offset + 1])
        if mask is not None:
            pieces += [clean(block.text[start:offset]), (mask, 0)]
            start = offset + 1
    pieces.append(clean(block.text[start:]))
    return "".join(text for text, _ in pieces), sum(count for _, count in pieces)


def split_tables(text: str) -> list[tuple[bool, str]]:
    """`text` in pieces, (is a table, piece), in order. A table without end reaches to the end of the text."""
    pieces = []
    depth = start = 0
    for tag in _TABLE_TAG.finditer(text):
        if not tag.group(1):
            if depth == 0:
                pieces.append((False, text[start:tag.start()]))
                start = tag.start()
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                pieces.append((True, text[start:tag.end()]))
                start = tag.end()
    pieces.append((depth > 0, text[start:]))
    return [(is_table, piece) for is_table, piece in pieces if piece]


def begins_rows(piece: str) -> bool:
    """Whether `piece` is a table as far as it goes, and no text that mentions one."""
    return _BEGUN_ROWS.match(piece) is not None


def without_tags(text: str) -> str:
    """What stands beside the tables of a block, without what is left of a table that the model did not finish."""
    return _without_begun_tag(_TAG.sub(lambda tag: " " if _is_structure(tag) else tag.group(), text)).strip()


def _is_structure(tag: re.Match[str]) -> bool:
    return (tag.group(2) or tag.group(5)).lower() in _NAMES


def _without_begun_tag(text: str) -> str:
    """`text` without the first letters of a tag of a table at its end."""
    begun = _BEGUN_TAG.search(text)
    name = begun.group().strip("</").lower() if begun else "?"
    return text[:begun.start()] if begun and any(known.startswith(name) for known in _NAMES) else text


def read_table(markup: str) -> Table | None:
    """The table in `markup`; None when it has no cell at all."""
    table = Table()
    texts: list[str] = []  # pieces of the open cell
    outside: list[str] = []
    cell: Cell | None = None
    depth = 0

    def close_cell() -> None:
        nonlocal cell
        if cell is not None:
            # Entities last: a written &lt;sup&gt; means the characters, not a tag.
            runs = [Run(run.kind, _unescape(run.text)) for run in split_runs("".join(texts).strip())]
            cell.lines = [line for line in split_lines(runs) if line]
            cell = None
        texts.clear()

    start = 0
    markup = _without_begun_tag(markup)
    for tag in _TAG.finditer(markup):
        (texts if cell is not None else outside).append(markup[start:tag.start()])
        start = tag.end()
        closing, name = bool(tag.group(1) or tag.group(4)), (tag.group(2) or tag.group(5)).lower()
        if name == "table":
            if closing or cell is not None or not depth:  # one that begins outside a cell begins it anew
                depth += -1 if closing else 1
            if depth > 1 or (closing and depth == 1):
                texts.append("\n")
        elif depth > 1:
            texts.append("\n" if name == "tr" else " ")
        elif name in ("tr", "td", "th", "thead", "tbody", "tfoot", "caption"):
            close_cell()
            if name == "tr" and not closing:
                table.rows.append([])
            if name in ("td", "th") and not closing:
                if not table.rows:
                    table.rows.append([])
                cell = _new_cell(name, tag.group(3) or tag.group(6) or "")
                table.rows[-1].append(cell)
        elif name in ("p", "div"):
            (texts if cell is not None else outside).append("\n")
    (texts if cell is not None else outside).append(markup[start:])
    close_cell()

    table.outside = _unescape(" ".join(piece.strip() for piece in outside if piece.strip()))
    if not any(table.rows):
        return None
    _place(table)
    return table


def _unescape(text: str) -> str:
    return PRINTED.join(clean(html.unescape(piece))[0] for piece in text.split(PRINTED))


def _new_cell(name: str, attributes: str) -> Cell:
    cell = Cell([], header=name == "th")
    for attribute, number in _SPAN.findall(attributes):
        span = min(max(int(number), 1), SPAN_LIMIT)
        if attribute.lower() == "colspan":
            cell.columns = span
        else:
            cell.rows = span
    return cell


def _place(table: Table) -> None:
    """Give every cell its row and column; cut spans at the table's last row and where cells would overlap.

    Rows and columns in which no cell begins are taken out: a wild `colspan="1000"` must not make a thousand
    columns, and an empty row only says how far the cells above it reach.
    """
    height = len(table.rows)
    for y, row in enumerate(table.rows):
        for cell in row:
            cell.rows = min(cell.rows, height - y)
    if sum(cell.rows * cell.columns for row in table.rows for cell in row) > GRID_LIMIT:
        for row in table.rows:
            for cell in row:
                cell.rows = cell.columns = 1
    taken: set[tuple[int, int]] = set()
    for y, row in enumerate(table.rows):
        x = 0
        for cell in row:
            while (y, x) in taken:
                x += 1
            cell.row, cell.column = y, x
            free = 1
            while free < cell.columns and (y, x + free) not in taken:
                free += 1
            cell.columns = free
            taken.update((y + dy, x + dx) for dy in range(cell.rows) for dx in range(cell.columns))
            x += cell.columns

    table.rows = [row for row in table.rows if row]
    cells = [cell for row in table.rows for cell in row]
    rows, columns = sorted({cell.row for cell in cells}), sorted({cell.column for cell in cells})
    for cell in cells:
        cell.rows = bisect_left(rows, cell.row + cell.rows) - bisect_left(rows, cell.row)
        cell.columns = bisect_left(columns, cell.column + cell.columns) - bisect_left(columns, cell.column)
        cell.row, cell.column = bisect_left(rows, cell.row), bisect_left(columns, cell.column)
    table.width = len(columns)


def uneven_tables(blocks: Sequence[Block]) -> list[str]:
    """A sentence, without its full stop, for each block of a page whose table lost cells: rows differ in length.

    A model that leaves an empty cell out moves the row's other values to the left, which the text alone hides.
    """
    told = []
    for number, block in enumerate(blocks, 1):
        if "<" not in block.text:
            continue
        short = height = 0
        for is_table, piece in split_tables(clean_text(block)[0]):
            table = read_table(piece) if is_table else None
            if table is None:
                continue
            if not _TABLE_END.search(piece):  # it was cut short, and so may be its last row
                del table.rows[-1]
            if table.rows and (fewer := table.short_rows()):
                short, height = short + fewer, height + table.height
        if short:
            rows = "rows has" if short == 1 else "rows have"
            told.append(
                f"in the table of block {number}, {short} of {height} {rows} fewer cells than the widest row, so "
                "values may stand in the wrong column; compare it with the page"
            )
    return told
