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

Maker = Callable[[Sheet], list[Block]]

_MOST_BLOCKS = 60
_INDEXES = 0.09
"""Share of training's documents that are indexes, tables of contents, glossaries or lists in columns."""

_COLUMNS, _TRAINED_COLUMNS, _INDEX_COLUMNS = (0.64, 0.3, 0.06), (0.46, 0.42, 0.12), (0.25, 0.45, 0.3)
"""Shares of held-out documents, of training's, and of those in one, two and three columns."""

_ALIKE, _ALIKE_REPEATS = 0.3, 0.4
"""Share of training's documents made of one or two kinds of elements: long lists, records, paragraphs in full columns;
and of these, those on which passages stand twice. Where things of one kind stand all over a page, the place alone
tells them apart."""

_PARTIAL, _ONE_SIDED = 0.08, 0.1
"""Shares of training's documents that end before the foot of the page, and with a wide margin on one side."""


class DocumentSetter(ElementSetter):
    """Fills pages with the elements of documents; blocks come in reading order."""

    def __init__(self, rng: random.Random, shelf: FontShelf, words: Words, quick_share: float) -> None:
        super().__init__(rng, shelf, words)
        self.quick_share = quick_share
        self.edges = EdgeSetter(rng, shelf, words)
        self.indexes = IndexSetter(rng, shelf, words)
        # Held-out pages are as they always were.
        listings, tables, marks = (0.2, 0.08, 0.005) if words.trained else (0.14, 0.04, 0.01)
        self.elements: tuple[tuple[Maker, float], ...] = (
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
            self.elements += ((self.records, 0.02), (self.aside, 0.02), (self.beside, 0.02))
        self.alike: tuple[tuple[tuple[Maker, ...], float], ...] = (
            ((self.paragraph,), 0.2),
            ((self.paragraph, self.section), 0.25),
            ((self.items,), 0.2),
            ((self.items, self.section), 0.1),
            ((self.records,), 0.1),
            ((self.beside,), 0.06),
            ((self.beside, self.section), 0.06),
            ((self.definitions, self.section), 0.05),
            ((self.listing, self.paragraph), 0.1),
        )

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
        shares = _INDEX_COLUMNS if index else _TRAINED_COLUMNS if self.words.trained else _COLUMNS
        columns = rng.choices((1, 2, 3), shares)[0]
        sheet = self.sheet(page, size, most, columns)
        blocks = self.edges.head(sheet) if rng.random() < 0.55 else []
        foot = self.edges.foot(sheet) if rng.random() < 0.5 else []
        if index:
            return [*blocks, *self.indexes.index(sheet), *foot]
        makers = self.elements
        self.words.begin_page()
        if self.words.trained:
            self._varied(sheet)
            if rng.random() < _ALIKE:
                kinds, weights = zip(*self.alike, strict=True)
                makers = tuple((maker, 1.0) for maker in rng.choices(kinds, weights)[0])
                self.words.repeats.begin(_ALIKE_REPEATS)
        blocks += self._body(sheet, len(blocks), makers)
        self.words.repeats.end()
        return [*blocks, *foot]

    def _varied(self, sheet: Sheet) -> None:
        """Sometimes a wide margin left or right, or a body that ends before the foot of the page."""
        rng = self.rng
        if rng.random() < _ONE_SIDED:
            free = int(max(0, sheet.width - 14 * sheet.size * sheet.columns) * rng.uniform(0.2, 0.6))
            sheet.width -= free
            sheet.left += rng.choice((0, free))
            sheet.x = sheet.left
        if rng.random() < _PARTIAL:
            sheet.bottom = int(sheet.y + (sheet.bottom - sheet.y) * rng.uniform(0.2, 0.9))

    def _body(self, sheet: Sheet, before: int, elements: tuple[tuple[Maker, float], ...]) -> list[Block]:
        """Elements from the pen to the foot of the last column; `before` blocks are on the page. What a column has no
        room for goes on in the next."""
        rng, blocks = self.rng, list[Block]()
        if sheet.columns > 1 and rng.random() < 0.5:
            blocks += self.section(sheet, spanning=True)
        column_top = sheet.y
        makers, weights = zip(*elements, strict=True)
        while sheet.room > 0 and before + len(blocks) < _MOST_BLOCKS:
            maker, sheet.rest = sheet.rest or rng.choices(makers, weights)[0], None
            blocks += maker(sheet)
            sheet.y += int(sheet.leading * rng.choice((0.25, 0.4, 0.5, 0.5, 0.8, 1.2)))
            if sheet.rest is not None or sheet.y + sheet.leading > sheet.bottom:
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
