"""Matter that must map to nothing: what nobody could read, and what is no text at all.

Each painter fills a rectangle of the page's ink. Pictures are not among them (they will get blocks of their
own); neither is text between MICRO_PX and the smallest trained size, about which nothing is taught.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from training.pages.ink import FontShelf, break_lines
from training.pages.kinds import MICRO_PX
from training.words import Words

Rect = tuple[int, int, int, int]
"""x, y, width, height in page pixels."""


class Unreadable:
    """Painters over one random source; `unit` is page pixels for one pixel of the view the page is read
    from."""

    def __init__(self, rng: random.Random, shelf: FontShelf, words: Words) -> None:
        self.rng, self.shelf, self.words = rng, shelf, words
        self.painters: tuple[tuple[Callable[[Image.Image, Rect, float], None], float], ...] = (
            (self.micro_text, 0.30),
            (self.blurred_text, 0.20),
            (self.handwriting, 0.16),
            (self.strokes, 0.14),
            (self.speckle, 0.12),
            (self.rules, 0.08),
        )

    def paint(self, page: Image.Image, rect: Rect, unit: float) -> None:
        """Fill a rectangle with one kind of unreadable matter."""
        painters, weights = zip(*self.painters, strict=True)
        self.rng.choices(painters, weights)[0](page, rect, unit)

    def _set_text(self, page: Image.Image, rect: Rect, size: int, spacing: float) -> None:
        x, y, width, height = rect
        _, face = self.shelf.any_face()
        font = self.shelf.sized(face, size)
        step = max(int(size * spacing), 3)
        words = [w for w in self.words.run(height // step * 14 + 8) if not set(w) & set(face.missing)]
        for index, line in enumerate(break_lines(words, font, width)):
            if (index + 1) * step > height:
                break
            font.stamp(page, x, y + index * step + int(size * 0.8), " ".join(w for w, _ in line.words))

    def micro_text(self, page: Image.Image, rect: Rect, unit: float) -> None:
        """Print far too small for the view."""
        size = max(4, int(self.rng.uniform(*MICRO_PX) * unit))
        x, y, width, height = rect
        self._set_text(page, (x, y, width, min(height, size * 22)), size, self.rng.uniform(1.1, 1.5))

    def blurred_text(self, page: Image.Image, rect: Rect, unit: float) -> None:
        """Ordinary print out of focus beyond reading."""
        size = int(self.rng.uniform(13, 36) * unit)
        x, y, width, height = rect
        patch = Image.new("L", (width, height))
        self._set_text(patch, (0, 0, width, height), size, self.rng.uniform(1.1, 1.6))
        patch = patch.filter(ImageFilter.GaussianBlur(size * self.rng.uniform(0.35, 0.6)))
        page.paste(patch.point(lambda v: min(255, int(v * 1.4))), (x, y))

    def handwriting(self, page: Image.Image, rect: Rect, unit: float) -> None:
        """Joined-up loops along lines, in no alphabet."""
        rng, draw = self.rng, ImageDraw.Draw(page)
        x, y, width, height = rect
        size = rng.uniform(14, 40) * unit
        weight = max(1, int(size * rng.uniform(0.04, 0.1)))
        row = y + size
        while row < y + height:
            pen, end = x + rng.uniform(0, width * 0.2), x + width * rng.uniform(0.4, 1.0)
            points = [(pen, row)]
            while pen < end:
                pen += size * rng.uniform(0.08, 0.3)
                points.append(
                    (
                        pen - size * rng.uniform(0, 0.2),
                        row - size * rng.choice((0, 0.4, 0.4, 0.9)) * rng.random(),
                    )
                )
                if rng.random() < 0.12:
                    draw.line(points, 255, weight, joint="curve")
                    pen += size * 0.4
                    points = [(pen, row)]
            draw.line(points, 255, weight, joint="curve")
            row += size * rng.uniform(1.2, 1.9)

    def strokes(self, page: Image.Image, rect: Rect, unit: float) -> None:
        """Rows of signs that belong to no script."""
        rng, draw = self.rng, ImageDraw.Draw(page)
        x, y, width, height = rect
        size = rng.uniform(14, 40) * unit
        weight = max(1, int(size * 0.08))
        row = float(y)
        while row + size < y + height:
            pen = float(x)
            while pen + size < x + width:
                for _ in range(rng.randint(2, 6)):
                    ends = [(pen + rng.random() * size * 0.85, row + rng.random() * size * 0.9) for _ in range(2)]
                    draw.line(ends, 255, weight)
                pen += size * (1.0 if rng.random() > 0.1 else 1.8)
            row += size * 1.35

    def speckle(self, page: Image.Image, rect: Rect, unit: float) -> None:
        """Grain: salt, smudges or halftone."""
        x, y, width, height = rect
        cells = max(1, int(self.rng.choice((1, 2, 6, 24)) * unit))
        rough = np.random.default_rng(self.rng.getrandbits(32)).random((height // cells + 1, width // cells + 1))
        level = self.rng.uniform(0.5, 0.97)
        ink = Image.fromarray(
            (np.clip((rough - level) / (1 - level), 0, 1) * self.rng.randint(90, 255)).astype(np.uint8)
        )
        resample = Image.Resampling.BICUBIC if self.rng.random() < 0.5 else Image.Resampling.NEAREST
        page.paste(ink.resize((width, height), resample), (x, y))

    def rules(self, page: Image.Image, rect: Rect, unit: float) -> None:
        """Empty frames, rules and shaded bars."""
        rng, draw = self.rng, ImageDraw.Draw(page)
        x, y, width, height = rect
        for _ in range(rng.randint(1, 5)):
            left, top = x + rng.randint(0, width // 2), y + rng.randint(0, max(height - 2, 1))
            right = left + rng.randint(width // 8 + 1, width)
            bottom = min(y + height, top + rng.choice((1, 2, int(30 * unit) + 2, height)))
            right = min(right, x + width)
            if rng.random() < 0.5 or bottom - top < 4:
                draw.line((left, top, right, top), 255, max(1, int(rng.uniform(0.6, 3) * unit)))
            else:
                draw.rectangle(
                    (left, top, right, bottom),
                    outline=255,
                    width=max(1, int(unit)),
                    fill=rng.choice((None, None, rng.randint(20, 120))),
                )
