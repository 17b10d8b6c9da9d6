"""Pages of books and manuals: running heads, a body of all elements in one to three columns, feet; pages of tables."""

from __future__ import annotations

import random
from collections.abc import Callable

from PIL import Image

from training.pages.edges import EdgeSetter
from training.pages.elements import ElementSetter
from training.pages.indexes import IndexSetter
from training.pages.ink import FontShelf
from training.pages.sheet import Sheet
from training.targets import Block
from training.words import Words

_MOST_BLOCKS = 60
_INDEXES = 0.09
"""Share of training's documents that are indexes, tables of contents, glossaries or lists in columns."""

_COLUMNS, _INDEX_COLUMNS = (0.64, 0.3, 0.06), (0.25, 0.45, 0.3)
"""Shares of documents, and of those, in one, two and three columns."""


class DocumentSetter(ElementSetter):
    """Fills pages with the elements of documents; blocks come in reading order."""

    def __init__(self, rng: random.Random, shelf: FontShelf, words: Words, quick_share: float) -> None:
        super().__init__(rng, shelf, words)
        self.quick_share = quick_share
        self.edges = EdgeSetter(rng, shelf, words)
        self.indexes = IndexSetter(rng, shelf, words)
        # Held-out pages are as they always were.
        listings, tables, marks = (0.2, 0.08, 0.005) if words.trained else (0.14, 0.04, 0.01)
        self.elements: tuple[tuple[Callable[[Sheet], list[Block]], float], ...] = (
            (self.paragraph, 0.37),
            (self.section, 0.12),
            (self.items, 0.22),
            (self.listing, listings),
            (self.contents, 0.03),
            (self.definitions, 0.07),
            (self.mark_line, marks),
            (self.table, tables),
        )
        if words.trained:
            self.elements += ((self.records, 0.02), (self.aside, 0.02))

    # -- pages ---------------------------------------------------------------------------------------------------

    def sheet(self, page: Image.Image, size: int, most: int, columns: int) -> Sheet:
        rng, (width, height) = self.rng, page.size
        _, face = self.shelf.any_face()
        left = int(width * rng.uniform(0.04, 0.14))
        top = int(height * rng.uniform(0.04, 0.11))
        measure = width - 2 * left
        while columns > 1 and measure / columns < size * 10:
            columns -= 1
        return Sheet(
            page,
            face,
            size,
            int(size * rng.uniform(1.15, 1.5)),
            left,
            top,
            measure,
            height - top,
            columns,
            int(size * rng.uniform(1.0, 2.2)),
            rng.random() < 0.5,
            rng.random() < 0.4,
            rng.random() < self.quick_share,
            most,
            left,
            top,
        )

    def document(self, page: Image.Image, size: int, most: int) -> list[Block]:
        """A page of a document: head, body, foot."""
        rng = self.rng
        index = self.words.trained and rng.random() < _INDEXES
        columns = rng.choices((1, 2, 3), _INDEX_COLUMNS if index else _COLUMNS)[0]
        sheet = self.sheet(page, size, most, columns)
        blocks = self.edges.head(sheet) if rng.random() < 0.55 else []
        foot = self.edges.foot(sheet) if rng.random() < 0.5 else []
        if index:
            return [*blocks, *self.indexes.index(sheet), *foot]
        self.words.begin_page()
        blocks += self._body(sheet, len(blocks))
        self.words.repeats.end()
        return [*blocks, *foot]

    def _body(self, sheet: Sheet, before: int) -> list[Block]:
        """Elements of all kinds from the pen to the foot of the last column; `before` blocks are on the page."""
        rng, blocks = self.rng, list[Block]()
        if sheet.columns > 1 and rng.random() < 0.5:
            blocks += self.section(sheet, spanning=True)
        column_top = sheet.y
        makers, weights = zip(*self.elements, strict=True)
        while sheet.room > 0 and before + len(blocks) < _MOST_BLOCKS:
            blocks += rng.choices(makers, weights)[0](sheet)
            sheet.y += int(sheet.leading * rng.choice((0.25, 0.4, 0.5, 0.5, 0.8, 1.2)))
            if sheet.y + sheet.leading > sheet.bottom:
                sheet.column += 1
                if sheet.column >= sheet.columns:
                    break
                sheet.x = sheet.left + sheet.column * (sheet.measure + sheet.gutter)
                sheet.y = column_top
        return blocks

    def table_page(self, page: Image.Image, size: int, most: int) -> list[Block]:
        """A page with one or two tables, sometimes text above and below."""
        rng = self.rng
        sheet = self.sheet(page, size, most, 1)
        if rng.random() < 0.5:
            sheet.y += int(rng.uniform(0, 0.4) * (sheet.bottom - sheet.top))
        blocks: list[Block] = []
        for _ in range(rng.choice((1, 1, 1, 2))):
            if rng.random() < 0.35:
                blocks += rng.choice((self.section, self.paragraph))(sheet)
                sheet.y += sheet.leading // 2
            blocks += self.table(sheet)
            sheet.y += sheet.leading
        if rng.random() < 0.25:
            blocks += self.paragraph(sheet)
        return blocks
