"""Fills a page with titles and paragraphs in one or two columns, and now and then with unreadable matter."""

from __future__ import annotations

import random
from dataclasses import dataclass

from PIL import Image

from training.charset import CLASS_OF, settable
from training.fonts import Face
from training.pages.ink import EMPTY, FontShelf, SizedFont, break_lines, draw_pieces, joined, place_line
from training.pages.kinds import Kind
from training.pages.unreadable import Unreadable
from training.targets import Block, Point
from training.words import Words

_MOST_BLOCKS = 16
_CUT = 0.03
"""Share of pages with a line cut by the page edge, of which too little is left to read."""


@dataclass
class Style:
    """Choices that hold for a whole page. Lengths in page pixels."""

    size: int
    family: str
    face: Face
    spacing: float
    align: str
    left: int
    top: int
    width: int
    bottom: int
    columns: int
    gutter: int
    quick: bool
    clutter: float
    few: bool
    long: bool
    cut: bool


class Setter:
    """Draws readable blocks on a page and reports them."""

    def __init__(self, rng: random.Random, shelf: FontShelf, words: Words, quick_share: float) -> None:
        self.rng, self.shelf, self.words = rng, shelf, words
        self.quick_share = quick_share
        self.unreadable = Unreadable(rng, shelf, words)

    def style(self, width: int, height: int, size: int, kind: Kind) -> Style:
        """Margins, columns and type for a page of the given size, body `size` pixels."""
        rng, level = self.rng, kind.level
        family, face = self.shelf.any_face()
        left, top = int(rng.uniform(0.02, 0.13) * width), int(rng.uniform(0.02, 0.12) * height)
        measure = width - 2 * left
        columns = 2 if level >= 2 and rng.random() < 0.13 and measure / 2 > size * 11 else 1
        if columns == 1 and rng.random() < 0.18:
            narrow = int(measure * rng.uniform(0.5, 1))
            left = rng.choice((left, width - left - narrow, (width - narrow) // 2))
            measure = narrow
        bottom = height - top
        if level < 2 and rng.random() < 0.4:
            top += int(rng.uniform(0, 0.5) * height)
        return Style(
            size=size,
            family=family,
            face=face,
            spacing=rng.uniform(1.12, 1.7),
            align=rng.choices(("left", "centre", "right", "justified"), (0.72, 0.1, 0.03, 0.15))[0],
            left=left,
            top=top,
            width=measure,
            bottom=bottom,
            columns=columns,
            gutter=int(size * rng.uniform(1, 2)),
            quick=rng.random() < self.quick_share,
            clutter=0.0 if kind.clean else rng.choice((0.0, 0.0, 0.0, 0.0, 0.08, 0.25)),
            few=level == 0,
            long=level >= 3 and not kind.clean,
            cut=not kind.clean and rng.random() < _CUT,
        )

    def fill(self, page: Image.Image, style: Style, most: int, unit: float) -> list[Block]:
        """Set blocks until the page is full or holds `most` characters; answers them in reading order."""
        rng = self.rng
        self.words.begin_page()
        if style.cut:
            self._cut_line(page, style)
        column_width = (style.width - style.gutter * (style.columns - 1)) // style.columns
        blocks: list[Block] = []
        total, column, x, y, column_top = 0, 0, style.left, style.top, style.top
        while total < most and len(blocks) < _MOST_BLOCKS:
            if rng.random() < style.clutter:
                depth = int(style.size * rng.uniform(2, 9))
                if y + depth < style.bottom and column_width > 8:
                    self.unreadable.paint(page, (x, y, column_width, depth), unit)
                    y += depth + int(style.size * rng.uniform(0.6, 1.6))
            title = rng.random() < (0.12 if blocks else 0.3)
            spanning = title and style.columns == 2 and not blocks
            width = style.width if spanning else column_width
            font, leading = self._type(style, title)
            block, height = self._block(page, style, font, leading, (x, y, width), title, most - total)
            if block is not None:
                blocks.append(block)
                total += len(block.text)
                y = int(y + height + leading * rng.uniform(0.35, 1.6))
                column_top = y if spanning else column_top
            if block is None or y + leading > style.bottom:
                column += 1
                if column >= style.columns:
                    break
                x, y = style.left + column_width + style.gutter, column_top
        self.words.repeats.end()
        return blocks

    def _type(self, style: Style, title: bool) -> tuple[tuple[Face, SizedFont], int]:
        rng = self.rng
        if title:
            face = self.shelf.face_of(style.family)
            font = self.shelf.sized(face, int(style.size * rng.uniform(1.25, 1.8)))
            return (face, font), int(font.size * 1.25)
        face = self.shelf.any_face()[1] if rng.random() < 0.06 else style.face
        font = self.shelf.sized(face, style.size)
        return (face, font), int(font.size * style.spacing)

    def _word_count(self, title: bool, style: Style) -> int:
        rng = self.rng
        if title:
            return rng.randint(1, 7)
        if style.long and rng.random() < 0.25:
            return rng.randint(60, 180)
        count = rng.choice((rng.randint(1, 8), rng.randint(6, 30), rng.randint(20, 70)))
        return int(count * (0.45 if style.few else 1)) + 1

    def _block(
        self,
        page: Image.Image,
        style: Style,
        typed: tuple[Face, SizedFont],
        leading: int,
        place: tuple[int, int, int],
        title: bool,
        room: int,
    ) -> tuple[Block | None, int]:
        """One block at (x, y, width) and its height in pixels; no block when nothing fits."""
        (face, font), (x, y, width) = typed, place
        usable = CLASS_OF.keys() - set(face.missing)
        words = [settable(word, usable) for word in self.words.run(self._word_count(title, style))]
        align = "left" if title and style.align == "justified" else style.align
        if title and self.rng.random() < 0.35:
            align = "centre"
        text, points, box, row = "", list[Point](), EMPTY, y
        lines = self.words.repeats.lines(break_lines([word for word in words if word], font, width))
        for index, line in enumerate(lines):
            if row + leading > style.bottom or len(text) >= room:
                break
            pieces = place_line(line, x, width, align, index == len(lines) - 1)
            drawn, where, ink = draw_pieces(page, pieces, font, row + int(font.size * 0.8), style.quick)
            if text:
                text += " "
                points.append(where[0])
            text += drawn
            points += where
            box = joined(box, ink)
            row += leading
        return (Block("title" if title else "text", text, points, box) if text else None), row - y

    def _cut_line(self, page: Image.Image, style: Style) -> None:
        """A line mostly off the page, above or below: its remains belong to no block."""
        font = self.shelf.sized(style.face, style.size)
        words = [w for w in self.words.run(12) if not set(w) & set(style.face.missing)]
        for line in break_lines(words, font, style.width)[:1]:
            shown = int(style.size * self.rng.uniform(0.1, 0.3))
            if self.rng.random() < 0.5 and style.top > style.size * 0.6:
                baseline = shown - int(style.size * 0.1)
            else:
                baseline = page.height - shown + int(style.size * 0.72)
            font.stamp(page, style.left, baseline, " ".join(w for w, _ in line.words))
