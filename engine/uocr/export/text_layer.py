"""Where the words of a page stand: a block's text laid out inside its box, line by line.

The model tells a block's box and its text, not where the lines break. The number of lines is the one whose
letters come out with usual proportions; each line then fills its share of the box, so that a selection in
the searchable PDF covers the words one sees.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from uocr.characters import clean, is_right_to_left
from uocr.document import BOX_SCALE, Block, Box, Page
from uocr.export.content import Formula, Heading, List, Paragraph, Picture, parts_of
from uocr.markup.grid import Table
from uocr.markup.inline import plain

_LINE_PITCH = 1.2
"""Distance of base lines in font sizes, as usual in print."""

_WHOLE_PAGE = Box(50, 50, BOX_SCALE - 50, BOX_SCALE - 50)
"""Where text without a box goes."""

Advance = Callable[[str], float]
"""How far a character moves the pen, in font sizes."""


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle on the page as displayed: left, top, width, height in points, y down."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class PlacedLine:
    """One line of text that fills `area` exactly; `text` is in the order in which it is drawn, left to right."""

    text: str
    area: Area


def placed_lines(page: Page, width: float, height: float, advance: Advance) -> Iterator[PlacedLine]:
    """The lines of all blocks of `page`, displayed `width` x `height` points large; located words at each place."""
    for block in page.blocks:
        if page.located is not None:
            for area in (_area(box, width, height) for box in block.boxes):
                if area.width > 0 and area.height > 0:
                    yield from _fill([clean(block.label)[0]], area, advance)
            continue
        areas = [_area(box, width, height) for box in block.boxes or (_WHOLE_PAGE,)]
        areas = [area for area in areas if area.width > 0 and area.height > 0] or [
            _area(_WHOLE_PAGE, width, height)]
        sections = _sections(block)
        if len(areas) > 1:
            sections = [_Text([line for section in sections for line in section.lines()])]
        yield from _place(sections, areas, advance)


def _area(box: Box, width: float, height: float) -> Area:
    return Area(box.x1 / BOX_SCALE * width, box.y1 / BOX_SCALE * height,
                (box.x2 - box.x1) / BOX_SCALE * width, (box.y2 - box.y1) / BOX_SCALE * height)


@dataclass(slots=True)
class _Text:
    texts: list[str]

    def lines(self) -> list[str]:
        return self.texts


@dataclass(slots=True)
class _Grid:
    table: Table

    def lines(self) -> list[str]:
        return [plain(line) for row in self.table.rows for cell in row for line in cell.lines]


def _sections(block: Block) -> list[_Text | _Grid]:
    """The block's text as stretches of lines and tables, one below the other."""
    sections: list[_Text | _Grid] = []
    lines: list[str] = []
    for part in parts_of(block)[0]:
        match part:
            case Table():
                sections += [_Text(lines)] if lines else []
                lines = []
                sections.append(_Grid(part))
            case Heading(line=line):
                lines.append(plain(line))
            case Paragraph(lines=more):
                lines += map(plain, more)
            case List(items=items):
                lines += (f"{i.number}{i.delimiter} {plain(i.line)}" if i.number is not None
                          else f"• {plain(i.line)}" for i in items)
            case Formula(tex=tex):
                lines.append(tex)
            case Picture():
                pass
    return sections + ([_Text(lines)] if lines else [])


def _place(sections: list[_Text | _Grid], areas: list[Area], advance: Advance) -> Iterator[PlacedLine]:
    if len(areas) > 1:
        shares = _share_out(sections[0].lines() if sections else [], areas)
        for texts, area in zip(shares, areas, strict=True):
            yield from _fill(texts, area, advance)
        return
    (area,) = areas
    sections = [section for section in sections if section.lines()]  # a table may have only empty cells
    weights = [sum(len(line) + 1 for line in section.lines()) for section in sections]
    y = area.y
    for section, weight in zip(sections, weights, strict=True):
        part = Area(area.x, y, area.width, area.height * weight / sum(weights))
        y += part.height
        if isinstance(section, _Text):
            yield from _fill(section.texts, part, advance)
        else:
            yield from _fill_table(section.table, part, advance)


def _share_out(lines: list[str], areas: list[Area]) -> list[list[str]]:
    """The words of a block with several boxes, in order, as many in each as its size deserves."""
    words = [word for line in lines for word in line.split()]
    total = sum(area.width * area.height for area in areas)
    shares, taken, reached = [], 0, 0.0
    for area in areas:
        reached += area.width * area.height / total
        end = len(words) if area is areas[-1] else round(len(words) * reached)
        shares.append([" ".join(words[taken:end])] if end > taken else [])
        taken = end
    return shares


def _fill_table(table: Table, area: Area, advance: Advance) -> Iterator[PlacedLine]:
    """Cells at even distances: the model does not tell where the rules are. Each line ends with a blank, since cells
    touch each other and readers of PDF files would glue their words together."""
    column, row = area.width / table.width, area.height / table.height
    for cell in (cell for cells in table.rows for cell in cells):
        place = Area(area.x + cell.column * column, area.y + cell.row * row,
                     cell.columns * column, cell.rows * row)
        for line in _fill([plain(line) for line in cell.lines], place, advance):
            yield PlacedLine(line.text + " ", line.area)


def _fill(texts: list[str], area: Area, advance: Advance) -> Iterator[PlacedLine]:
    """Break `texts` into lines that fill `area`; each text begins a line of its own."""

    def length(text: str) -> float:
        return sum(map(advance, text))

    texts = [text for text in (" ".join(text.split()) for text in texts) if length(text)]
    if not texts:
        return
    total = sum(map(length, texts))
    # n lines of the box's width hold `total` font sizes, n line pitches fill its height: solved for n.
    count = max(round(math.sqrt(total * area.height / (_LINE_PITCH * area.width))), 1)
    target = total / count
    lines = [line for text in texts for line in _wrap(text, target, length)]
    widest = max(map(length, lines))
    height = area.height / len(lines)
    for i, line in enumerate(lines):
        share = length(line) / widest
        right_to_left = is_right_to_left(line)
        x = area.x + (area.width * (1 - share) if right_to_left else 0.0)
        yield PlacedLine(drawing_order(line), Area(x, area.y + i * height, area.width * share, height))


def _wrap(text: str, target: float, length: Callable[[str], float]) -> list[str]:
    """Words of `text` in as few lines as keep each near `target`; a text without blanks is cut anywhere."""
    whole = length(text)
    count = max(round(whole / target), 1) if target else 1
    if count == 1:
        return [text]
    pieces = text.split(" ")
    joint = " "
    if len(pieces) < count:  # Chinese and Japanese have no blanks
        pieces, joint = list(text), ""
    lines: list[str] = []
    line: list[str] = []
    done = line_length = 0.0
    for piece in pieces:
        size, piece_length = length(piece + joint), length(piece)
        full = done + size / 2 > whole * (len(lines) + 1) / count
        # Characters without width (accents, joiners) neither begin a line nor are one.
        if full and line_length and piece_length and len(lines) + 1 < count:
            lines.append(joint.join(line))
            line, line_length = [], 0.0
        line.append(piece)
        done += size
        line_length += piece_length
    return [*lines, joint.join(line)]


def drawing_order(text: str) -> str:
    """`text`, which is in reading order, as its characters stand from left to right.

    Readers of PDF files expect drawn text in this order and turn right-to-left runs round themselves. A
    short form of the Unicode rules: strong letters have their own direction, digits run left to right,
    everything else goes with its neighbours or, between two directions, with the line.
    """
    directions = [unicodedata.bidirectional(character) for character in text]
    if not any(direction in ("R", "AL") for direction in directions):
        return text
    base = "R" if is_right_to_left(text) else "L"
    strong = [_STRONG.get(direction) for direction in directions]
    nearest_after = [base] * len(text)
    for i in range(len(text) - 2, -1, -1):
        nearest_after[i] = strong[i + 1] or nearest_after[i + 1]
    resolved: list[str] = []
    for own, direction, after in zip(strong, directions, nearest_after, strict=True):
        before = resolved[-1] if resolved else base
        marks = direction == "NSM"  # an accent stays with its letter
        resolved.append(own or (before if marks or before == after else base))
    runs: list[tuple[str, list[str]]] = []
    for character, direction in zip(text, resolved, strict=True):
        if not runs or runs[-1][0] != direction:
            runs.append((direction, []))
        runs[-1][1].append(character)
    turned = ["".join(reversed(run) if direction == "R" else run) for direction, run in runs]
    return "".join(reversed(turned) if base == "R" else turned)


_STRONG = {"L": "L", "R": "R", "AL": "R", "EN": "L", "AN": "L"}
