"""Pages of real documents: drawn from PDFs, their text layer being the truth.

What typesetters do (lists in lists, listings, terms with explanations, notes, justified and hyphenated lines, faces in
many weights on one page) comes from here as it is. Only single columns of known characters are used. Lengths are in
points on the PDF's page and in pixels on the page drawn; needs PyMuPDF.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pymupdf
from PIL import Image

from training.charset import WESTERN
from training.pages.files import broken, require
from training.pages.ink import EMPTY, joined
from training.targets import Block, Point

_KNOWN = frozenset(WESTERN + " ")
_FOLDED = {"\u00a0": " ", "\u00ad": "-", "\u2010": "-", "\u2011": "-", "\u2212": "-"}
_MARK = re.compile(r"([•–*·»°-]|\(?[0-9]{1,2}[.)]|\(?[a-z][.)]|\[[0-9]{1,3}\]) ")
"""What begins an item of a list."""

_LEADERS = re.compile(r"\. ?\. ?\. ?\.")
_BOLD = re.compile(r"bold|medi|demi|black|heavy|cmbx|cmssbx", re.IGNORECASE)
_MONO = re.compile(r"mono|monl|cour|tt[0-9]|typewriter|code|console", re.IGNORECASE)
_MARKS = frozenset("!\"#$%&'*+/<=>@[\\]^_`{|}~")
_MANY_MARKS = 0.025
"""Share of a page's characters from which it counts as rich in marks (listings, options)."""

_WIDEST_GAP = 6.0
"""Em between two pieces of one line; wider ones belong to tables and columns."""

_LEAST_CHARACTERS = 120
_SMALLEST_PX, _LARGEST_PX = 11.0, 48.0
"""Print smaller than the first on a page's view, or body larger than the second: the page is not used."""

_SCREEN_PX, _LYING = 2000, 1.2
"""Windows wider than the first, in pixels, and the second times as wide as high may have broad margins, as a page on a
screen has: set to the whole width the print of most documents would be too large."""


@dataclass(frozen=True)
class PrintedLine:
    """A printed line: its text and for each character the middle; what it is set in."""

    text: str
    centres: tuple[float, ...]
    left: float
    right: float
    baseline: float
    size: float
    bold: bool
    mono: bool

    @property
    def top(self) -> float:
        return self.baseline - 0.75 * self.size

    @property
    def bottom(self) -> float:
        return self.baseline + 0.25 * self.size


@dataclass
class PrintedPage:
    """Blocks (label, lines) from top to bottom, and the size of the body's print."""

    blocks: list[tuple[str, list[PrintedLine]]]
    body: float

    @property
    def lines(self) -> list[PrintedLine]:
        return [line for _, lines in self.blocks for line in lines]


def _piece(line: dict[str, Any]) -> PrintedLine | None:
    """A line of the text layer; None when it is empty."""
    shown, centres, printed, bold, mono = list[str](), list[float](), 0, 0, 0
    baseline = right = largest = 0.0
    left, before = 1e9, " "
    for span in line["spans"]:
        size, name, flags = span["size"], span["font"], span["flags"]
        strong = bool(flags & 16) or bool(_BOLD.search(name))
        fixed = bool(flags & 8) or bool(_MONO.search(name))
        for char in span["chars"]:
            mark = char["c"]
            mark = _FOLDED.get(mark, mark)
            if mark == " " and before == " ":
                continue
            before = mark
            x0, _, x1, _ = char["bbox"]
            shown.append(mark)
            centres.append((x0 + x1) / 2)
            if mark != " ":
                left = x0 if x0 < left else left
                right = x1 if x1 > right else right
                largest = size if size > largest else largest
                printed, bold, mono = printed + 1, bold + strong, mono + fixed
                if size > 0.8 * largest:
                    baseline = max(baseline, char["origin"][1])
    if not printed:
        return None
    text = "".join(shown).rstrip()
    many = 0.9 * printed
    return PrintedLine(text, tuple(centres[: len(text)]), left, right, baseline, largest, bold > many, mono > many)


def _together(pieces: list[PrintedLine]) -> PrintedLine:
    """Pieces of one printed line, from left to right, as one line."""
    text, centres = "", list[float]()
    for piece in sorted(pieces, key=lambda p: p.left):
        if text:
            text += " "
            centres.append(piece.left)
        text += piece.text
        centres += piece.centres
    main = max(pieces, key=lambda p: len(p.text))
    return replace(
        main, text=text, centres=tuple(centres), left=min(p.left for p in pieces), right=max(p.right for p in pieces)
    )


def _rows(page: pymupdf.Page) -> list[list[PrintedLine]] | None:
    """Pieces at one height, from top to bottom; None when something is no upright text of known characters."""
    pieces = []
    flags = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_PRESERVE_IMAGES
    for block in page.get_text("rawdict", flags=flags)["blocks"]:
        if block["type"] != 0:
            return None
        for line in block["lines"]:
            piece = _piece(line)
            if piece is not None:
                if abs(line["dir"][0] - 1) > 1e-3 or set(piece.text) - _KNOWN or _LEADERS.search(piece.text):
                    return None
                pieces.append(piece)
    rows: list[list[PrintedLine]] = []
    for piece in sorted(pieces, key=lambda p: p.baseline):
        if rows and piece.baseline - rows[-1][0].baseline < 0.45 * min(piece.size, rows[-1][0].size):
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return [sorted(row, key=lambda p: p.left) for row in rows]


def _edge_blocks(row: list[PrintedLine], label: str) -> list[tuple[str, list[PrintedLine]]]:
    return [("page_number" if re.fullmatch(r"(Page )?[0-9ivxl]{1,4}", piece.text) else label, [piece]) for piece in row]


def _titled(line: PrintedLine, body: float) -> bool:
    return not line.mono and len(line.text) < 120 and (line.size > 1.12 * body or line.bold)


def _begins(line: PrintedLine, before: PrintedLine, block: list[PrintedLine], leading: float, body: float) -> bool:
    """Whether a line begins a new block after the line before it."""
    em = line.size
    apart = line.baseline - before.baseline > max(1.2 * leading, 1.35 * em)
    unlike = line.mono != before.mono or abs(line.size - before.size) > 0.12 * em
    if apart or unlike or _titled(line, body) != _titled(before, body):
        return True
    if line.mono:
        return False
    if _MARK.match(line.text):
        return True
    step = line.left - before.left
    if step > 0.8 * em:
        return step < 4 * em and not _MARK.match(before.text) and not _hangs(line, before)
    return step < -0.8 * em and len(block) > 1


def _hangs(line: PrintedLine, before: PrintedLine) -> bool:
    """Whether a line stands below what follows a wide gap in the line before it: a term, a number and its text."""
    em = line.size
    return any(
        before.text[i - 1] == " "
        and before.centres[i] - before.centres[i - 2] > 1.3 * em
        and abs(before.centres[i] - 0.25 * em - line.left) < 0.5 * em
        for i in range(2, len(before.text))
    )


def read_page(page: pymupdf.Page) -> PrintedPage | None:
    """The blocks of a page; None when it is not one column of known characters, or has too few of them."""
    rows = _rows(page)
    if not rows or sum(len(piece.text) for row in rows for piece in row) < _LEAST_CHARACTERS:
        return None
    body = median(size for row in rows for piece in row for size in [piece.size] * len(piece.text))
    steps = [b[0].baseline - a[0].baseline for a, b in pairwise(rows) if abs(a[0].size - body) < 0.1 * body]
    leading = median(steps) if steps else 1.2 * body
    height = page.rect.height
    head = foot = list[tuple[str, list[PrintedLine]]]()
    if len(rows) > 2 and rows[0][0].baseline < 0.12 * height and rows[1][0].top - rows[0][0].bottom > 0.7 * body:
        head, rows = _edge_blocks(rows[0], "header"), rows[1:]
    if len(rows) > 2 and rows[-1][0].baseline > 0.9 * height and rows[-1][0].top - rows[-2][0].bottom > 0.7 * body:
        foot, rows = _edge_blocks(rows[-1], "footer"), rows[:-1]
    blocks: list[tuple[str, list[PrintedLine]]] = []
    before: PrintedLine | None = None
    for row in rows:
        if any(b.left - a.right > _WIDEST_GAP * body or b.left < a.right - 0.5 * body for a, b in pairwise(row)):
            return None
        line = _together(row)
        if before is None or _begins(line, before, blocks[-1][1], leading, body):
            blocks.append(("title" if _titled(line, body) else "text", []))
        blocks[-1][1].append(line)
        before = line
    return PrintedPage([*head, *blocks, *foot], body)


def _rich_in_marks(printed: PrintedPage) -> bool:
    text = "".join(line.text for line in printed.lines)
    return sum(char in _MARKS for char in text) > _MANY_MARKS * len(text)


class PrintedPages:
    """Draws pages out of the `documents` folder of a pack (see training.documents), from one random source."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.rng, self.folder = rng, folder
        self.counts: dict[str, int] = json.loads((folder / "documents.json").read_text(encoding="utf-8"))
        require(folder, self.counts, "documents.json")
        self._open: dict[str, pymupdf.Document] = {}

    def _document(self, name: str) -> pymupdf.Document:
        """A document of the pack, opened once."""
        if name not in self._open:
            path = self.folder / name
            try:
                document = pymupdf.open(path, filetype="pdf")
            except RuntimeError as error:  # as PyMuPDF's errors about files are
                raise broken(path, error) from error
            if len(document) != self.counts[name]:
                raise broken(path, f"{len(document)} pages instead of {self.counts[name]}")
            self._open[name] = document
        return self._open[name]

    def _any(self) -> Iterator[tuple[pymupdf.Page, PrintedPage]]:
        """Pages in random order, long documents less often than their length would have it, pages rich in marks twice
        as often as others."""
        names, weights = list(self.counts), [count**0.6 for count in self.counts.values()]
        while True:
            name = self.rng.choices(names, weights)[0]
            page = self._document(name)[self.rng.randrange(self.counts[name])]
            printed = read_page(page)
            if printed is not None and (_rich_in_marks(printed) or self.rng.random() < 0.5):
                yield page, printed

    def page(self, width: int, height: int, unit: float) -> tuple[Image.Image, list[Block], float]:
        """A page of the given size in pixels, as much of a document's page as it takes; its blocks, and the size of its
        print in pixels of the view in which it is read, `unit` pixels of the page for one of those."""
        for page, printed in self._any():
            found = self._placed(page, printed, width, height, unit)
            if found is not None:
                return found
        raise AssertionError("the pages never end")

    def _placed(
        self, page: pymupdf.Page, printed: PrintedPage, width: int, height: int, unit: float
    ) -> tuple[Image.Image, list[Block], float] | None:
        rng, lines = self.rng, printed.lines
        left, right = min(line.left for line in lines), max(line.right for line in lines)
        screen = width > max(_SCREEN_PX, _LYING * height)
        scale = width / ((right - left) * rng.uniform(1.05, 2.4 if screen else 1.45))
        if printed.body * scale > _LARGEST_PX * unit or min(line.size for line in lines) * scale < _SMALLEST_PX * unit:
            return None
        room = height / scale
        first = 0 if rng.random() < 0.4 else rng.randrange(len(lines))
        top = lines[first].top
        last = first
        while last + 1 < len(lines) and lines[last + 1].bottom - top < 0.98 * room:
            last += 1
        while first > 0 and lines[last].bottom - lines[first - 1].top < 0.98 * room:
            first -= 1
        used = lines[first].top, lines[last].bottom
        # The window lies between the lines that are left out, so that none of them is cut.
        highest = max(used[1] - room, (lines[first - 1].bottom + used[0]) / 2 if first else -1e9)
        lowest = min(used[0], ((used[1] + lines[last + 1].top) / 2 if last + 1 < len(lines) else 1e9) - room)
        if lowest < highest or sum(len(line.text) for line in lines[first : last + 1]) < _LEAST_CHARACTERS:
            return None
        x = left - rng.uniform(0.2, 0.8) * (width / scale - (right - left))
        y = rng.uniform(highest, lowest)
        picture = _drawn(page, (x, y), scale, (width, height))
        kept = {id(line) for line in lines[first : last + 1]}
        blocks = [
            _block(label, [line for line in part if id(line) in kept], (x, y), scale) for label, part in printed.blocks
        ]
        return picture, [block for block in blocks if block is not None], printed.body * scale / unit


def _drawn(page: pymupdf.Page, corner: Point, scale: float, size: tuple[int, int]) -> Image.Image:
    """The ink (255 = black) of a window of a page; beyond the page's edges there is none."""
    x, y = corner
    picture = Image.new("L", size)
    window = pymupdf.Rect(x, y, x + size[0] / scale, y + size[1] / scale) & page.rect
    pixels = page.get_pixmap(
        matrix=pymupdf.Matrix(scale, scale), colorspace=pymupdf.csGRAY, clip=window, alpha=False, annots=False
    )
    drawn = Image.frombytes("L", (pixels.width, pixels.height), pixels.samples).point(lambda value: 255 - value)
    picture.paste(drawn, (pixels.x - round(x * scale), pixels.y - round(y * scale)))
    return picture


def _block(label: str, lines: list[PrintedLine], corner: Point, scale: float) -> Block | None:
    """Lines as a block in pixels of the window; listings keep their line ends."""
    text, points, box = "", list[Point](), EMPTY
    for line in lines:
        height = (line.baseline - 0.3 * line.size - corner[1]) * scale
        places = [((centre - corner[0]) * scale, height) for centre in line.centres]
        if text:
            text += "\n" if line.mono else " "
            points.append(places[0])
        text += line.text
        points += places
        x0, x1 = (line.left - corner[0]) * scale, (line.right - corner[0]) * scale
        box = joined(box, (x0, (line.top - corner[1]) * scale, x1, (line.bottom - corner[1]) * scale))
    return Block(label, text, points, box) if text else None
