"""Setting lines of text: measuring, breaking, drawing. Ink is 255 on a black page, so that colour can come
later."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import accumulate, repeat
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from training.fonts import Face
from training.pages.files import require
from training.targets import Point

Box = tuple[float, float, float, float]
_CACHE_FONTS = 3000
EMPTY: Box = (1e9, 1e9, -1e9, -1e9)


def joined(a: Box, b: Box) -> Box:
    """Smallest box around two boxes."""
    return min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])


class _Advances(dict[str, float]):
    """Advances of characters in pixels, each asked of the font once."""

    def __init__(self, font: ImageFont.FreeTypeFont) -> None:
        super().__init__()
        self.font = font
        self.whole = True
        """Whether all so far are whole pixels, as they are where a font is hinted."""

    def __missing__(self, char: str) -> float:
        value = self[char] = self.font.getlength(char)
        self.whole = self.whole and value.is_integer()
        return value


Glyph = tuple[int, int, int, int, Any]
"""A drawn character: its box around the pen on the baseline, which holds the pen's way too, and its mask; None instead
when it has no ink."""


class _Glyphs(dict[str, Glyph]):
    """Glyphs of characters, each drawn once."""

    def __init__(self, font: ImageFont.FreeTypeFont) -> None:
        super().__init__()
        self.font = font

    def __missing__(self, char: str) -> Glyph:
        mask, (left, top) = self.font.getmask2(char, "L", anchor="ls")
        width, height = mask.size
        box = left, top, left + width, top + height
        glyph = self[char] = (*box, mask if width and height and mask.getbbox() else None)
        return glyph


def _has_kerning(path: Path) -> bool:
    """Whether a font file has the table of kerning that the basic layout of lines knows."""
    with path.open("rb") as file:
        head = file.read(12)
        tags = file.read(16 * int.from_bytes(head[4:6], "big"))
    return head[:4] == b"ttcf" or b"kern" in {tags[n : n + 4] for n in range(0, len(tags), 16)}


def _canvas(page: Image.Image) -> Any:
    """A page's pixels to paste on. Pillow's own paste looks at its arguments for longer than it pastes a glyph."""
    return ImageDraw.Draw(page).im


class SizedFont:
    """A face at a pixel size, with advances and glyphs remembered."""

    def __init__(self, path: Path, size: int) -> None:
        self.size = size
        self.font = ImageFont.truetype(str(path), size, layout_engine=ImageFont.Layout.BASIC)
        self.space = self.font.getlength(" ")
        self._advances, self._glyphs = _Advances(self.font), _Glyphs(self.font)
        self._kerning = _has_kerning(path)

    def advance(self, char: str) -> float:
        return self._advances[char]

    def length(self, text: str) -> float:
        return sum(map(self._advances.__getitem__, text))

    def stamp(self, page: Image.Image, x: int, baseline: int, text: str) -> tuple[Box, list[float]]:
        """Draw character by character, without kerning; answers the ink box and the middle of each
        character."""
        advances = [*map(self._advances.__getitem__, text)]
        pens = [*accumulate(advances, initial=0.0)]
        paste, glyphs = _canvas(page).paste, self._glyphs
        lefts, tops, rights, bottoms = [], [], [], []
        for char, pen in zip(text, pens, strict=False):
            if char != " ":
                left, top, right, bottom, mask = glyphs[char]
                at = x + int(pen + 0.5)
                left, top, right, bottom = left + at, top + baseline, right + at, bottom + baseline
                if mask is not None:
                    paste(255, (left, top, right, bottom), mask)
                else:  # as high and wide as a mask is at least
                    right, bottom = max(right, left + 1), max(bottom, top + 1)
                lefts.append(left)
                tops.append(top)
                rights.append(right)
                bottoms.append(bottom)
        box = (min(lefts), min(tops), max(rights), max(bottoms)) if lefts else EMPTY
        return box, [x + pen + advance / 2 for pen, advance in zip(pens, advances, strict=False)]

    def write(self, page: Image.Image, x: int, baseline: int, text: str) -> tuple[Box, list[float]]:
        """Draw a line as the font intends, kerning included; answers as `stamp`."""
        advances = [*map(self._advances.__getitem__, text)]
        pens = [*accumulate(advances, initial=0.0)]
        if self._kerning or not self._advances.whole or not text:
            ImageDraw.Draw(page).text((x, baseline), text, 255, self.font, anchor="ls")
            left, top, right, bottom = (int(side) for side in self.font.getbbox(text, anchor="ls"))
        else:
            left, top, right, bottom = self._composed(_canvas(page), (x, baseline), text, pens)
        stretch = max(right, 1) / max(pens[-1], 1)
        middles = [x + (pen + advance / 2) * stretch for pen, advance in zip(pens, advances, strict=False)]
        return (x + left, baseline + top, x + right, baseline + bottom), middles

    def _composed(self, canvas: Any, at: tuple[int, int], text: str, pens: list[float]) -> tuple[int, int, int, int]:
        """Draw a line from the glyphs, as FreeType does where nothing is kerned: glyphs over each other first, then the
        line over the page. Answers the box of the line around where it begins."""
        placed = [(glyph, int(pen)) for glyph, pen in zip(map(self._glyphs.__getitem__, text), pens, strict=False)]
        left, right = min(g[0] + pen for g, pen in placed), max(g[2] + pen for g, pen in placed)
        top, bottom = min(g[1] for g, _ in placed), max(g[3] for g, _ in placed)
        if right > left and bottom > top:
            line = Image.new("L", (right - left, bottom - top)).im
            for (x0, y0, x1, y1, mask), pen in placed:
                if mask is not None:
                    line.paste(255, (x0 + pen - left, y0 - top, x1 + pen - left, y1 - top), mask)
            canvas.paste(255, (at[0] + left, at[1] + top, at[0] + right, at[1] + bottom), line)
        return left, top, right, bottom


class FontShelf:
    """Faces of a split grouped by family, and sized fonts made from them."""

    def __init__(self, pack: Path, faces: list[Face], rng: random.Random, families: int = 0) -> None:
        self.folder = pack / "fonts"
        require(self.folder, (face.file for face in faces), "fonts.json")
        self.rng = rng
        self.by_family: dict[str, list[Face]] = {}
        for face in faces:
            self.by_family.setdefault(face.family, []).append(face)
        names = sorted(self.by_family)
        self.families = rng.sample(names, families) if 0 < families < len(names) else names
        self._sized: dict[tuple[str, int], SizedFont] = {}

    def any_face(self) -> tuple[str, Face]:
        """A family at random and one of its faces."""
        family = self.rng.choice(self.families)
        return family, self.rng.choice(self.by_family[family])

    def face_of(self, family: str) -> Face:
        return self.rng.choice(self.by_family[family])

    def sized(self, face: Face, size: int) -> SizedFont:
        """The face at about `size` pixels; large sizes are rounded so that glyphs are reused."""
        size = max(size, 4)
        size -= size % 4 if size > 40 else size % 2 if size > 20 else 0
        key = (face.file, size)
        if key not in self._sized:
            if len(self._sized) >= _CACHE_FONTS:
                self._sized.clear()
            self._sized[key] = SizedFont(self.folder / face.file, size)
        return self._sized[key]


@dataclass
class Line:
    """A broken line: words with their widths, and its whole width in pixels."""

    words: list[tuple[str, float]]
    width: float


def break_lines(words: list[str], font: SizedFont, width: float) -> list[Line]:
    """Greedy line breaking; a word wider than the column is left out."""
    lines: list[Line] = []
    current = Line([], 0.0)
    for word in words:
        length = font.length(word)
        if length > width:
            continue
        gap = font.space if current.words else 0.0
        if current.words and current.width + gap + length > width:
            lines.append(current)
            current, gap = Line([], 0.0), 0.0
        current.width += gap + length
        current.words.append((word, length))
    return [*lines, current] if current.words else lines


def place_line(line: Line, x: float, width: float, align: str, last: bool) -> list[tuple[str, float]]:
    """Pieces of a line and where they begin: one piece, or one per word when the line is justified."""
    if align == "justified" and not last and len(line.words) > 2 and width - line.width < 0.35 * width:
        gap = (width - sum(length for _, length in line.words)) / (len(line.words) - 1)
        pieces, pen = [], x
        for word, length in line.words:
            pieces.append((word, pen))
            pen += length + gap
        return pieces
    free = {"centre": (width - line.width) / 2, "right": width - line.width}.get(align, 0.0)
    return [(" ".join(word for word, _ in line.words), x + free)]


def draw_pieces(
    page: Image.Image, pieces: list[tuple[str, float]], font: SizedFont, baseline: int, quick: bool
) -> tuple[str, list[Point], Box]:
    """Draw a line; answers its text, the position of each character (spaces between pieces too), its ink
    box."""
    text, points, box = "", [], EMPTY
    height = baseline - 0.3 * font.size
    for piece, x in pieces:
        ink, middles = (font.stamp if quick else font.write)(page, int(x), baseline, piece)
        if text:
            text += " "
            points.append((float(int(x)), height))
        text += piece
        points += zip(middles, repeat(height))
        box = joined(box, ink)
    return text, points, box
