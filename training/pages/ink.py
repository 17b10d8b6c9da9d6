"""Setting lines of text: measuring, breaking, drawing. Ink is 255 on a black page, so that colour can come
later."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

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


@dataclass
class Glyph:
    """A drawn character and its offset from the pen position on the baseline."""

    mask: Image.Image
    left: int
    top: int


class SizedFont:
    """A face at a pixel size, with advances and glyphs remembered."""

    def __init__(self, path: Path, size: int) -> None:
        self.size = size
        self.font = ImageFont.truetype(str(path), size, layout_engine=ImageFont.Layout.BASIC)
        self.space = self.font.getlength(" ")
        self._advance: dict[str, float] = {}
        self._glyphs: dict[str, Glyph] = {}

    def advance(self, char: str) -> float:
        value = self._advance.get(char)
        if value is None:
            value = self._advance[char] = self.font.getlength(char)
        return value

    def length(self, text: str) -> float:
        return sum(map(self.advance, text))

    def _glyph(self, char: str) -> Glyph:
        glyph = self._glyphs.get(char)
        if glyph is None:
            left, top, right, bottom = (int(v) for v in self.font.getbbox(char, anchor="ls"))
            mask = Image.new("L", (max(right - left, 1), max(bottom - top, 1)))
            ImageDraw.Draw(mask).text((-left, -top), char, 255, self.font, anchor="ls")
            glyph = self._glyphs[char] = Glyph(mask, left, top)
        return glyph

    def stamp(self, page: Image.Image, x: int, baseline: int, text: str) -> tuple[Box, list[float]]:
        """Draw character by character, without kerning; answers the ink box and the middle of each
        character."""
        box, pen, middles = EMPTY, 0.0, []
        for char in text:
            advance = self.advance(char)
            if char != " ":
                glyph = self._glyph(char)
                left, top = x + int(pen + 0.5) + glyph.left, baseline + glyph.top
                corner = left + glyph.mask.width, top + glyph.mask.height
                page.paste(255, (left, top, *corner), glyph.mask)
                box = joined(box, (left, top, *corner))
            middles.append(x + pen + advance / 2)
            pen += advance
        return box, middles

    def write(self, page: Image.Image, x: int, baseline: int, text: str) -> tuple[Box, list[float]]:
        """Draw a line as the font intends, kerning included; answers as `stamp`."""
        ImageDraw.Draw(page).text((x, baseline), text, 255, self.font, anchor="ls")
        left, top, right, bottom = self.font.getbbox(text, anchor="ls")
        stretch = max(right, 1) / max(self.length(text), 1)
        pen, middles = 0.0, []
        for char in text:
            advance = self.advance(char)
            middles.append(x + (pen + advance / 2) * stretch)
            pen += advance
        return (x + left, baseline + top, x + right, baseline + bottom), middles


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
        points += [(middle, height) for middle in middles]
        box = joined(box, ink)
    return text, points, box
