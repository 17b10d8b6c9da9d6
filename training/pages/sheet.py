"""A page being filled with the elements of documents, and setting lines on it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from PIL import Image

from training.charset import CLASS_OF, settable
from training.fonts import Face
from training.pages.ink import EMPTY, FontShelf, SizedFont, joined
from training.pages.runs import Placed, draw_line, shifted, spread
from training.targets import Block, Point
from training.words import Words


@dataclass
class Sheet:
    """A page being filled, and the choices that hold for it. Lengths in page pixels."""

    page: Image.Image
    face: Face
    size: int
    leading: int
    left: int
    top: int
    width: int
    bottom: int
    columns: int
    gutter: int
    justified: bool
    hyphens: bool
    quick: bool
    room: int
    """Characters that may still be set."""
    x: int = 0
    y: int = 0
    column: int = 0
    rest: Callable[[Sheet], list[Block]] | None = None
    """Sets what the column had no room for, at the top of the next one"""

    @property
    def measure(self) -> int:
        """Width of a column."""
        return (self.width - self.gutter * (self.columns - 1)) // self.columns


class SheetSetter:
    """Sets blocks on sheets, from one random source."""

    def __init__(self, rng: random.Random, shelf: FontShelf, words: Words) -> None:
        self.rng, self.shelf, self.words = rng, shelf, words

    def _font(self, sheet: Sheet, face: Face | None = None, scale: float = 1.0) -> SizedFont:
        return self.shelf.sized(face or sheet.face, int(sheet.size * scale))

    def _shown(self, words: list[str], *faces: Face) -> list[str]:
        """Words as all the faces can set them."""
        usable = CLASS_OF.keys() - {c for face in faces for c in face.missing}
        return [shown for shown in (settable(word, usable) for word in words) if shown]

    def _bold(self, sheet: Sheet) -> Face:
        faces = self.shelf.by_family[sheet.face.family]
        return self.rng.choice([f for f in faces if "bold" in f.file.lower()] or faces)

    def _set(
        self,
        sheet: Sheet,
        lines: list[Placed],
        label: str,
        x: float,
        width: float,
        leading: int,
        *,
        align: str = "left",
        joint: str = " ",
        mark: Placed | None = None,
    ) -> Block | None:
        """Draw lines from the pen down until the column or the page's characters are used up. `mark` stands before
        the first line, at places relative to x."""
        text, points, box = "", list[Point](), EMPTY
        justified = align == "justified"
        for number, line in enumerate(lines):
            if sheet.y + leading > sheet.bottom or sheet.room <= 0:
                break
            baseline = sheet.y + int(leading * 0.5 + line[0][0].font.size * 0.32)
            placed = spread(line, width) if justified and number < len(lines) - 1 else shifted(line, width, align)
            if number == 0 and mark:
                placed = [*mark, *placed]
            drawn, where, ink = draw_line(
                sheet.page, placed, x, baseline, sheet.quick, justified or (number == 0 and mark is not None)
            )
            if text:
                text += joint
                points.append(where[0])
            text += drawn
            points += where
            box = joined(box, ink)
            sheet.room -= len(drawn)
            sheet.y += leading
        return Block(label, text, points, box) if text else None

    @staticmethod
    def _kept(block: Block | None) -> list[Block]:
        return [block] if block else []
