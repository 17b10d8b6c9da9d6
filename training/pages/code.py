"""Pages of program text: listings of a file, of commands and what they print, with prose, captions or headings between
them, or one down to the foot of the page; mostly in small print.

A line begins in the target with its first mark: how far it is set in is not written, several blanks are one. An empty
line ends a block, as a wider gap does in real documents; where lines have numbers, which are text, it is its number.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from PIL import Image, ImageChops, ImageDraw

from training.fonts import Face
from training.pages.documents import DocumentSetter
from training.pages.ink import EMPTY, FontShelf, SizedFont, draw_pieces, joined
from training.pages.runs import Run, break_runs
from training.pages.sheet import Sheet, SheetSetter
from training.sessions import Sessions
from training.targets import Block, Point
from training.words import Words

_PRINTED = ("nimbusmono", "liberationmono", "dejavusansmono", "lmmono", "cmuntt", "freemono", "notosansmono", "courier")
"""Parts of names of the faces that typesetters take for listings unless they are told otherwise."""

_SLANTED = ("italic", "oblique", "slant")
_FULL = 200
"""More lines than a page has."""

_LONGEST = 120
"""Columns of the longest line that is let run into the margin, or for which a listing's print is made smaller."""

_TOKENS = re.compile(
    r"""(?P<comment>(?:(?<=\s)|^)(?:\#|//|/\*|\*|--|;+|%+|dnl)\s.*|<!--.*)|(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    r"""|(?P<name>[^\W\d]\w*)|(?P<other>\d\w*|[^\s\w"']+|["'])"""
)
_KEYWORDS = frozenset(
    """if else elif fi then for foreach while do done case esac switch break continue return def class import from as in
    is not and or with try except catch finally raise throw new delete public private protected static const final var
    let fn func function local my our sub use package require module end begin struct enum union typedef void int char
    long unsigned bool string float double true false null None True False nil self this lambda yield async await type
    interface impl match pub mut set unset export select insert update where create table echo print exit define include
    ifdef ifndef endif""".split()
)
_TURNED = [int(225 - 0.88 * ink) for ink in range(256)]
"""Ink of a dark listing by the ink of the same in light colours."""


@dataclass
class _Look:
    """How the listings of a page are set. Lengths in page pixels."""

    face: Face
    size: int
    least: int
    """To which the print is made smaller at most"""
    leading: int
    inset: int
    pad: int
    numbered: bool
    wrap: str
    """What becomes of too long a line: it is "cut" or runs on into the margin ("over"), or goes on in the next line,
    parted anywhere ("hard") or at a blank ("soft")"""
    hang: int
    """Columns by which a line parted at a blank is set in further"""
    tone: int | None
    frame: str
    styles: dict[str, tuple[Face | None, int]]
    """By kind of token: a face of its own, and its ink"""
    dark: bool


@dataclass
class _Piece:
    """Part of a line without blanks: its text, the column it begins in, whether it follows on the piece before."""

    text: str
    column: int
    glued: bool
    kind: str = ""


def pieces(text: str, styled: bool) -> list[_Piece]:
    """The words of a line, or its tokens where these look different."""
    found = list[_Piece]()
    parts: Iterator[tuple[str, int, str]] = iter([(text, 0, "")])
    if styled:
        parts = ((match[0], match.start(), match.lastgroup or "") for match in _TOKENS.finditer(text))
    for part, start, kind in parts:
        for word in re.finditer(r"\S+", part):
            at = start + word.start()
            known = "keyword" if kind == "name" and word[0] in _KEYWORDS else kind
            found.append(_Piece(word[0], at, at > 0 and text[at - 1] != " ", known))
    return found


def wrapped(text: str, columns: int, wrap: str, hang: int = 0) -> list[str]:
    """A line as lines of at most `columns` characters; of one that is cut, what is left."""
    if len(text) <= columns:
        return [text]
    if wrap == "cut":
        return [text[:columns].rstrip()]
    lines, inner = list[str](), len(text) - len(text.lstrip())
    inner = inner + hang if inner + hang < columns // 2 else 0
    while len(text) > columns:
        blank = text.rfind(" ", len(text) - len(text.lstrip()) + columns // 4, columns + 1) if wrap == "soft" else -1
        end = blank if blank > 0 else columns
        lines.append(text[:end].rstrip())
        text = text[end:].lstrip() if wrap == "soft" else text[end:]
        text = " " * inner + text if wrap == "soft" else text
    return [line for line in [*lines, text] if line.strip()]


class CodeSetter(SheetSetter):
    """Fills pages with listings; what stands between them is set by `documents`."""

    def __init__(self, rng: random.Random, shelf: FontShelf, words: Words, documents: DocumentSetter) -> None:
        super().__init__(rng, shelf, words)
        self.documents = documents
        self.sessions = Sessions(documents.listings, words.sources)
        faces = documents.mono
        self.printed = [f for f in faces if any(part in f.file.lower() for part in _PRINTED)] or faces

    # -- pages ---------------------------------------------------------------------------------------------------

    def page(self, page: Image.Image, size: int, least: int, most: int) -> list[Block]:
        """A page whose listings are set in print of about `size` pixels, not under `least`, and which has about `most`
        characters at most."""
        rng = self.rng
        sheet = self.documents.sheet(page, int(size * rng.choice((1.0, rng.uniform(1.0, 1.35)))), most, 1)
        edges = self.documents.edges
        blocks = edges.head(sheet) if rng.random() < 0.5 else []
        foot = edges.foot(sheet) if rng.random() < 0.5 else []
        look = self._look(sheet, size, least)
        if rng.random() < 0.45:
            blocks += self._between(sheet) if rng.random() < 0.6 else []
            return [*blocks, *self.listing(sheet, look, _FULL), *foot]
        for _ in range(rng.choice((1, 2, 3, _FULL, _FULL))):
            if sheet.room <= 0 or sheet.y + 3 * look.leading > sheet.bottom:
                break
            count = rng.choice((rng.randint(3, 10), rng.randint(6, 25), rng.randint(15, 50)))
            blocks += [*self._between(sheet), *self.listing(sheet, look, count)]
            sheet.y += int(sheet.leading * rng.uniform(0.3, 1.0))
        return [*blocks, *(self._between(sheet) if rng.random() < 0.7 else []), *foot]

    def _look(self, sheet: Sheet, size: int, least: int) -> _Look:
        """How the listings of a page are set."""
        rng = self.rng
        some = self.printed if rng.random() < 0.6 else self.documents.mono
        face = rng.choice([f for f in some if not any(k in f.file.lower() for k in _SLANTED)] or some)
        if rng.random() < 0.06:
            face = sheet.face
        faces = self.shelf.by_family[face.family]
        bold = [f for f in faces if "bold" in f.file.lower() and not any(k in f.file.lower() for k in _SLANTED)]
        slanted = [f for f in faces if any(k in f.file.lower() for k in _SLANTED) and "bold" not in f.file.lower()]
        styles = dict[str, tuple[Face | None, int]]()
        if rng.random() < 0.45:
            tones = (255, 255, rng.randint(110, 200))
            styles["comment"] = (rng.choice(slanted) if slanted and rng.random() < 0.5 else None, rng.choice(tones[1:]))
            styles["string"] = (None, rng.choice(tones[1:]))
            styles["keyword"] = (rng.choice(bold) if bold and rng.random() < 0.6 else None, rng.choice(tones))
            styles["name"] = (None, rng.choice((255, 255, 255, rng.randint(150, 220))))
        return _Look(
            face=face,
            size=size,
            least=min(size, least),
            leading=int(size * rng.uniform(1.0, 1.35)) + 1,
            inset=int(size * rng.choice((0.0, 0.0, 0.5, 2.0, rng.uniform(0, 5)))),
            pad=int(size * rng.uniform(0.3, 0.9)),
            numbered=rng.random() < 0.18,
            wrap=rng.choice(("cut", "over", "hard", "soft", "soft")),
            hang=rng.choice((0, 0, 2, 4)),
            tone=rng.randint(8, 45) if rng.random() < 0.35 else None,
            frame=rng.choices(("", "box", "rules", "bar"), (0.66, 0.2, 0.09, 0.05))[0],
            styles=styles,
            dark=rng.random() < 0.03,
        )

    def _between(self, sheet: Sheet) -> list[Block]:
        """Prose, a heading, or both: what stands above a listing or below the last one."""
        rng, documents = self.rng, self.documents
        if sheet.room <= 0 or sheet.y + 2 * sheet.leading > sheet.bottom:
            return []
        form = rng.random()
        blocks = documents.section(sheet) if form < 0.3 else []
        if form < 0.85:
            sheet.y += sheet.leading // 4
            part = sheet.bottom
            # A paragraph of a few lines, so that most of the page is left to the listings.
            sheet.bottom = min(part, sheet.y + sheet.leading * rng.choice((1, 2, 3, 6)))
            blocks += documents.paragraph(sheet)
            sheet.bottom = part
        elif form < 0.93:
            blocks += documents.items(sheet)
        sheet.y += int(sheet.leading * rng.uniform(0.2, 0.7))
        return blocks

    # -- listings ------------------------------------------------------------------------------------------------

    def listing(self, sheet: Sheet, look: _Look, count: int) -> list[Block]:
        """A listing of at most `count` lines, as far as there is room, on its ground and in its frame."""
        rng = self.rng
        count = min(count, (sheet.bottom - sheet.y - 2 * look.pad) // look.leading)
        if count < 1 or sheet.room <= 0:
            sheet.y = sheet.bottom
            return []
        name, texts = self.sessions.lines(count)
        missing = set(look.face.missing).union(*(face.missing for face, _ in look.styles.values() if face))
        texts = [text for text in texts if not missing.intersection(text)]
        font = self._fitted(sheet, look, texts)
        blocks = self._caption(sheet, name) if name and rng.random() < 0.2 else []
        top, sheet.y = sheet.y, sheet.y + look.pad
        first = rng.choice((1, 1, 1, rng.randint(2, 1500)))
        rows = list(self._rows(sheet, look, font, texts, first if look.numbered else None))
        blocks += self._drawn(sheet, look, font, rows)
        sheet.y += look.pad
        self._ground(sheet, look, (sheet.x + look.inset // 2, top, sheet.x + sheet.measure, min(sheet.y, sheet.bottom)))
        return blocks

    def _fitted(self, sheet: Sheet, look: _Look, texts: list[str]) -> SizedFont:
        """The listing's font, sometimes so much smaller that its longest line fits."""
        font, rng = self.shelf.sized(look.face, look.size), self.rng
        longest = min(_LONGEST, max(map(len, texts), default=0))
        room = sheet.measure - look.inset - 2 * look.pad
        if longest * font.advance("n") > room and rng.random() < 0.4:
            return self.shelf.sized(look.face, max(look.least, int(room / longest / font.advance("n") * look.size)))
        return font

    def _rows(
        self, sheet: Sheet, look: _Look, font: SizedFont, texts: list[str], first: int | None
    ) -> Iterator[list[tuple[_Piece, float, SizedFont]]]:
        """Lines as they are drawn: pieces, where they begin (pixels from the listing's left edge), and their fonts; an
        empty line has none. `first`: the number of the first line, where they have numbers."""
        step = font.advance("n")
        wide = step * (len(str((first or 0) + len(texts))) + 1.5) if first is not None else 0.0
        edge = sheet.page.width - sheet.x - font.size if look.wrap == "over" else sheet.measure - look.pad
        room = edge - look.inset - look.pad - wide
        fonts = {kind: self.shelf.sized(face, font.size) if face else font for kind, (face, _) in look.styles.items()}
        for number, text in enumerate(texts, first or 0):
            columns, parts = max(8, int(room / step)), list[list[tuple[_Piece, float, SizedFont]]]()
            while text:
                lines = wrapped(text, columns, "hard" if look.wrap == "over" else look.wrap, look.hang)
                parts = [self._placed(line, look, font, fonts, wide) for line in lines]
                # Faces that are no typewriter's may need more than their columns.
                if columns <= 4 or all(at + f.length(p.text) <= room + wide for row in parts for p, at, f in row[-1:]):
                    break
                columns = int(columns * 0.85)
            if first is not None:
                parts = parts or [[]]
                piece = _Piece(str(number), 0, False, "number")
                parts[0].insert(0, (piece, wide - step - font.length(piece.text), font))
            yield from parts or [[]]

    def _placed(
        self, text: str, look: _Look, font: SizedFont, fonts: dict[str, SizedFont], start: float
    ) -> list[tuple[_Piece, float, SizedFont]]:
        """The pieces of a line in their columns; further right where the face is no typewriter's."""
        placed, pen, step = list[tuple[_Piece, float, SizedFont]](), start, font.advance("n")
        fixed = abs(font.advance("i") - step) < 0.01 and abs(font.advance("W") - step) < 0.01
        for piece in pieces(text, bool(look.styles)):
            own = fonts.get(piece.kind, font)
            column = start + piece.column * step
            if not fixed or own is not font:
                column = pen if piece.glued else max(column, pen + (font.space if placed else 0.0))
            placed.append((piece, column, own))
            pen = column + own.length(piece.text)
        return placed

    def _drawn(
        self, sheet: Sheet, look: _Look, font: SizedFont, rows: list[list[tuple[_Piece, float, SizedFont]]]
    ) -> list[Block]:
        """Draw lines from the pen down, as far as there is room; what empty lines part are blocks of their own."""
        blocks, left = list[Block](), sheet.x + look.inset + look.pad
        text, points, box = "", list[Point](), EMPTY
        tones = {kind: ink for kind, (_, ink) in look.styles.items()}
        grey = self.rng.choice((255, 255, 120)) if look.numbered else 255
        for row in rows:
            if sheet.y + look.leading > sheet.bottom or sheet.room <= 0:
                break
            if not row:
                blocks += [Block("text", text, points, box)] if text else []
                text, points, box = "", list[Point](), EMPTY
                sheet.y += look.leading
                continue
            baseline = sheet.y + int(look.leading * 0.5 + font.size * 0.32)
            for number, (piece, at, own) in enumerate(row):
                shown, where, ink = draw_pieces(sheet.page, [(piece.text, left + at)], own, baseline, sheet.quick)
                if text and (number == 0 or not piece.glued):
                    text += " " if number else "\n"
                    points.append(where[0])
                text += shown
                points += where
                box = joined(box, ink)
                tone = grey if piece.kind == "number" else tones.get(piece.kind, 255)
                if tone < 255:
                    area = int(ink[0]), int(ink[1]), int(ink[2]), int(ink[3])
                    sheet.page.paste(sheet.page.crop(area).point([ink * tone // 255 for ink in range(256)]), area[:2])
                sheet.room -= len(shown)
            sheet.y += look.leading
        return [*blocks, Block("text", text, points, box)] if text else blocks

    def _ground(self, sheet: Sheet, look: _Look, area: tuple[int, int, int, int]) -> None:
        """Tint and frame of a listing that is drawn."""
        left, top, right, bottom = area
        if bottom <= top:
            return
        weight = max(1, look.size // 14)
        if look.tone is not None:
            tinted = ImageChops.lighter(sheet.page.crop(area), Image.new("L", (right - left, bottom - top), look.tone))
            sheet.page.paste(tinted, (left, top))
        draw, ink = ImageDraw.Draw(sheet.page), self.rng.choice((255, 255, 120))
        if look.frame == "box":
            draw.rectangle(area, None, ink, weight)
        elif look.frame == "rules":
            draw.line((left, top, right, top), ink, weight)
            draw.line((left, bottom, right, bottom), ink, weight)
        elif look.frame == "bar":
            draw.line((left, top, left, bottom), ink, 3 * weight)
        if look.dark:
            sheet.page.paste(sheet.page.crop(area).point(_TURNED), (left, top))

    def _caption(self, sheet: Sheet, name: str) -> list[Block]:
        """A line above a listing: its number, the file it is of."""
        rng = self.rng
        short = name if rng.random() < 0.5 else name.rsplit("/", 1)[-1]
        words = rng.choice(("{}", "{}:", "Listing {n}: {}", "Listing {n}. {}", "Example {n}. {}", "Fig. {n}: {}"))
        number = rng.choice((f"{rng.randint(1, 40)}", f"{rng.randint(1, 19)}.{rng.randint(1, 30)}"))
        face = self._bold(sheet) if rng.random() < 0.5 else sheet.face
        shown = self._shown(words.format(short, n=number).split(), face)
        lines = break_runs([Run(word, self._font(sheet, face)) for word in shown], sheet.measure, 0.0, False)
        return self._kept(self._set(sheet, lines, "text", sheet.x, sheet.measure, sheet.leading))
