"""Indexes, tables of contents, glossaries and lists of names, in one to three columns of short lines.

Blocks are what the lines of such pages in real documents become (training.pages.printed): lines below each other are
one block until one stands apart, is set in, or is a heading. Lines with leaders are a block each, as everywhere.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from PIL import ImageDraw

from training.fonts import Face
from training.pages.ink import FontShelf, SizedFont
from training.pages.runs import Placed, Run, break_runs
from training.pages.sheet import Sheet, SheetSetter
from training.particulars import Particulars
from training.targets import Block
from training.words import Words

_ROOM = 0.75
"""How much of the characters of other documents such a page may hold: numbers and short lines take more tokens."""

_MOST_BLOCKS = 70
_NARROWEST = 13
"""Em that a column is wide at least."""

_TITLES = (
    *("Index", "Contents", "Table of Contents", "Glossary", "List of Figures", "Inhaltsverzeichnis", "Stichwörter"),
    *("Indice", "Indice analitico", "Sommario", "Glossario", "Table des matières", "Sommaire", "Glossaire", "Índice"),
    *("Contenido", "Inhoud", "Register", "Innehåll", "Indhold", "Spis treści", "Obsah", "Rejstřík", "Tartalom"),
)
_SEE = ("see", "see also", "siehe", "siehe auch", "vedi", "voir", "voir aussi", "véase", "ver", "zie", "se")


@dataclass
class Row:
    """A line of a column. Lengths in pixels."""

    line: Placed
    inset: float = 0.0
    above: float = 0.0
    """Free room above it, besides the leading"""
    label: str = "text"
    own: bool = False
    """Whether it begins a block in any case"""
    tab: float | None = None
    """Where, from its inset, text after a wide gap begins; lines below that go on with it"""


def _begins(row: Row, before: Row, lines: int, em: int) -> bool:
    """Whether a row begins a new block after the row before it, the last of a block of so many lines."""
    if row.own or before.own or row.above or row.label != before.label:
        return True
    step = row.inset - before.inset
    hangs = before.tab is not None and abs(before.inset + before.tab - row.inset) < 0.5 * em
    return (0.8 * em < step < 4 * em and not hangs) or (step < -0.8 * em and lines > 1)


class IndexSetter(SheetSetter):
    """Fills pages with entries, column by column."""

    def __init__(self, rng: random.Random, shelf: FontShelf, words: Words) -> None:
        super().__init__(rng, shelf, words)
        self.say = Particulars(words)

    def index(self, sheet: Sheet) -> list[Block]:
        """A page of one of the kinds, from the pen down: a title over all columns, and the columns."""
        rng = self.rng
        sheet.room = int(sheet.room * _ROOM)
        sheet.leading = int(sheet.size * rng.uniform(1.12, 1.4))
        while sheet.columns > 1 and sheet.measure < _NARROWEST * sheet.size:
            sheet.columns -= 1
        blocks = self._title(sheet) if rng.random() < 0.5 else []
        kinds: tuple[Callable[[Sheet, int], Iterator[Row]], ...] = (
            self.terms,
            self.contents,
            self.glossary,
            self.names,
        )
        most = max(2, sheet.columns * (sheet.bottom - sheet.y) // sheet.leading)
        most = rng.randint(2, most) if rng.random() < 0.4 else most
        rows = rng.choices(kinds, (0.45, 0.25, 0.12, 0.18))[0](sheet, most)
        return blocks + self._columns(sheet, list(islice(rows, most)))

    def _title(self, sheet: Sheet) -> list[Block]:
        rng, face = self.rng, self._bold(sheet)
        font = self._font(sheet, face, rng.uniform(1.2, 2.0))
        text = rng.choice(_TITLES) if rng.random() < 0.8 else " ".join(self.words.run(3)[:4])
        words = self._shown((text.upper() if rng.random() < 0.2 else text).split(), face)
        lines = break_runs([Run(word, font) for word in words], sheet.width, 0.0, False)[:2]
        align = rng.choice(("left", "left", "centre"))
        block = self._set(sheet, lines, "title", sheet.x, sheet.width, int(font.size * 1.3), align=align)
        sheet.y += int(sheet.leading * rng.uniform(0.5, 2.0))
        return self._kept(block)

    # -- columns -------------------------------------------------------------------------------------------------

    def _columns(self, sheet: Sheet, rows: list[Row]) -> list[Block]:
        """Rows set column by column; sometimes in columns that end alike, sometimes with rules between them."""
        rng, top, blocks, block = self.rng, sheet.y, list[Block](), list[Row]()
        if rng.random() < 0.4:
            height = sum(sheet.leading + row.above for row in rows) / sheet.columns
            sheet.bottom = min(sheet.bottom, int(sheet.y + height + 2 * sheet.leading))
        if sheet.columns > 1 and rng.random() < 0.12:
            for column in range(1, sheet.columns):
                x = sheet.left + column * (sheet.measure + sheet.gutter) - sheet.gutter // 2
                weight = max(1, sheet.size // 20)
                ImageDraw.Draw(sheet.page).line((x, top, x, sheet.bottom), rng.choice((150, 255)), weight)
        y = top
        for row in rows:
            full = y + row.above + sheet.leading > sheet.bottom
            if block and (full or _begins(row, block[-1], len(block), sheet.size)):
                blocks += self._block(sheet, block)
                block = []
            if full:
                sheet.column += 1
                if sheet.column >= sheet.columns:
                    break
                sheet.x, y = sheet.left + sheet.column * (sheet.measure + sheet.gutter), top
            elif y > top:
                y += int(row.above)
            if not block:
                sheet.y = y
                if sheet.room <= 0 or len(blocks) >= _MOST_BLOCKS:
                    break
            block.append(row)
            y += sheet.leading
        return blocks + (self._block(sheet, block) if block and sheet.column < sheet.columns else [])

    def _block(self, sheet: Sheet, rows: list[Row]) -> list[Block]:
        """Rows below each other, each with its inset; words stand where the rows have them, not justified."""
        lines = [[(run, at + row.inset) for run, at in row.line] for row in rows]
        return self._kept(self._set(sheet, lines, rows[0].label, sheet.x, 0, sheet.leading, align="justified"))

    # -- parts of entries ----------------------------------------------------------------------------------------

    def _runs(self, text: str, face: Face, font: SizedFont) -> list[Run]:
        return [Run(word, font) for word in self._shown(text.split(), face)]

    def _wrapped(self, runs: list[Run], width: float, inset: float, hang: float, above: float) -> list[Row]:
        """An entry as long as it may be: its first line at the inset, what follows further in."""
        first = break_runs(runs, width - inset, 0.0, False)[:1]
        if not first:
            return []
        used = [run for run, _ in first[0]]
        rest = runs[len(used) :] if used == runs[: len(used)] else []
        more = break_runs(rest, width - inset - hang, 0.0, False)
        return [Row(first[0], inset, above), *(Row(line, inset + hang) for line in more)]

    def _led(self, sheet: Sheet, runs: list[Run], number: Run, dot: str, inset: float) -> Row | None:
        """Words, a row of dots (none where `dot` is empty) and a number at the right edge of the column."""
        font, end = number.font, sheet.measure - number.font.length(number.text)
        lines = break_runs(runs, end - inset - 2 * font.space, 0.0, False)[:1]
        if not lines:
            return None
        last, at = lines[0][-1]
        start = inset + at + last.font.length(last.text) + font.space
        dots = (dot * int((end - font.space - start) / font.length(dot))).strip() if dot else ""
        leader = [(Run(dots, font), end - inset - font.space - font.length(dots))] if len(dots) > 2 else []
        return Row([*lines[0], *leader, (number, end - inset)], inset, own=len(dots) > 2)

    def _word(self) -> str:
        word = self.rng.choice(self.words.dictionary)
        return word if self.rng.random() < 0.6 else word.lower()

    def _term(self) -> str:
        rng, kind = self.rng, self.rng.random()
        if kind < 0.2:
            return self.words.technical.token()
        if kind < 0.3:
            return self._surname_first()
        return " ".join(self._word() for _ in range(rng.choice((1, 1, 2, 2, 3, 4))))

    def _surname_first(self) -> str:
        first, *rest = reversed(self.say.name().split())
        return f"{first}, {' '.join(rest)}"

    def _places(self) -> str:
        """Page numbers of an entry, or another entry to look at."""
        rng = self.rng
        if rng.random() < 0.06:
            return f"{rng.choice(_SEE)} {self._word()}"
        page, most, found = rng.randint(1, 60), rng.choice((1, 1, 2, 3, 6)), list[str]()
        for _ in range(rng.randint(1, most)):
            page += rng.choice((1, 2, rng.randint(1, 30), rng.randint(1, 200)))
            more = page + rng.randint(1, 9)
            found.append(rng.choices((f"{page}", f"{page}–{more}", f"{page}-{more}", f"{page}f."), (12, 2, 1, 0.5))[0])
        return ", ".join(found)

    # -- kinds of page, each of at most so many entries ----------------------------------------------------------

    def terms(self, sheet: Sheet, most: int) -> Iterator[Row]:
        """An index: terms in alphabetical order with page numbers, terms of their own set in below, letters above."""
        rng, bold = self.rng, self._bold(sheet)
        strong = self._font(sheet, bold, rng.choice((1.0, 1.2, 1.5)))
        terms = sorted((self._term() for _ in range(most)), key=str.lower)
        joint, hang = rng.choice((", ", ", ", ", ", " ", ": ")), rng.choice((1.0, 1.5, 2.0)) * sheet.size
        dot = rng.choice((".", " .", "")) if rng.random() < 0.35 else None
        lettered, nested, alike = rng.random() < 0.7, rng.choice((0.0, 0.15, 0.5)), rng.choice((0.0, 0.0, 0.3))
        letter, head = "", terms[0]
        for term in terms:
            above = 0.0
            if lettered and term[:1].upper() != letter:
                letter = term[:1].upper()
                shown = self._runs(letter, bold, strong)
                if shown:
                    yield Row([(shown[0], 0.0)], 0.0, 0.8 * sheet.leading, "title")
                above = 0.4 * sheet.leading if rng.random() < 0.3 else 0.0
            first = head.split()[0].rstrip(",")
            head = f"{first} {term}" if first.isalpha() and rng.random() < alike else term
            yield from self._entry(sheet, head, self._places(), joint, dot, 0.0, hang, above)
            while rng.random() < nested:
                below = " ".join(self._word() for _ in range(rng.randint(1, 3)))
                yield from self._entry(sheet, below, self._places(), joint, dot, hang, hang, 0.0)

    def _entry(
        self,
        sheet: Sheet,
        term: str,
        places: str,
        joint: str,
        dot: str | None,
        inset: float,
        hang: float,
        above: float,
    ) -> list[Row]:
        """A term and its numbers: behind it, or (with `dot`, which may be empty) at the right edge."""
        font = self._font(sheet)
        if dot is None:
            runs = self._runs(f"{term}{joint}{places}", sheet.face, font)
            return self._wrapped(runs, sheet.measure, inset, hang, above)
        number = "".join(self._shown([places.split(",")[0].split()[-1]], sheet.face))
        row = self._led(sheet, self._runs(term, sheet.face, font), Run(number, font), dot, inset) if number else None
        if row is None:
            return []
        row.above = above
        return [row]

    def contents(self, sheet: Sheet, most: int) -> Iterator[Row]:
        """A table of contents or list of figures: numbers and titles by depth, leaders, page numbers."""
        rng, font, bold = self.rng, self._font(sheet), self._bold(sheet)
        strong, dot = self._font(sheet, bold), rng.choice((".", ".", " .", " .", ""))
        step, numbered = rng.choice((0.0, 1.0, 1.5, 2.2)) * sheet.size, rng.random() < 0.75
        page, levels, deepest = rng.randint(1, 40), [rng.randint(0, 8), 0, 0], rng.choice((0, 1, 1, 2, 2))
        apart, name = rng.choice((0.0, 0.5, 0.8)), rng.choice(("", "", "", "Chapter ", "Figure ", "Kapitel ", "Tab. "))
        depth = 0
        for _ in range(most):
            depth = min(rng.randint(0, deepest), depth + 1)
            levels[depth] += 1
            levels[depth + 1 :] = [0] * (2 - depth)
            page += rng.choice((0, 0, 1, 2, rng.randint(0, 12)))
            mark = ".".join(str(max(1, n)) for n in levels[: depth + 1]) if numbered else ""
            text = f"{name if mark and not depth else ''}{mark} {' '.join(self.words.run(rng.randint(1, 7))[:7])}"
            chapter = depth == 0 and deepest > 0 and apart > 0
            face, set_in = (bold, strong) if chapter else (sheet.face, font)
            runs, number = self._runs(text, face, set_in), Run(str(page), set_in)
            row = self._led(sheet, runs, number, "" if chapter else dot, depth * step)
            if row is not None:
                row.label = "title" if chapter else "text"
                row.above = apart * sheet.leading if chapter else 0.0
                yield row

    def glossary(self, sheet: Sheet, most: int) -> Iterator[Row]:
        """Terms with explanations: in one line with them, or in a column of their own at the right."""
        rng, bold = self.rng, self._bold(sheet) if self.rng.random() < 0.7 else sheet.face
        font, strong = self._font(sheet), self._font(sheet, bold)
        hang = rng.choice((1.0, 2.0)) * sheet.size
        tab = sheet.measure * rng.uniform(0.25, 0.4) if sheet.measure > 18 * sheet.size and rng.random() < 0.5 else None
        above, joint = rng.choice((0.0, 0.5)) * sheet.leading, rng.choice((":", "", " –", "."))
        for term in sorted((self._term() for _ in range(most)), key=str.lower):
            runs = self._runs(term + joint, bold, strong)
            said = self._runs(" ".join(self.words.run(rng.randint(2, 22))), sheet.face, font)
            if tab is None:
                yield from self._wrapped([*runs, *said], sheet.measure, 0.0, hang, above)
                continue
            first = break_runs(runs, tab - sheet.size, 0.0, False)[:1]
            lines = break_runs(said, sheet.measure - tab, 0.0, sheet.hyphens)
            if first and lines:
                yield Row([*first[0], *((run, at + tab) for run, at in lines[0])], 0.0, above, tab=tab)
                yield from (Row(line, tab) for line in lines[1:])

    def names(self, sheet: Sheet, most: int) -> Iterator[Row]:
        """A list of names, words or things, one a line, sometimes with a number or sign at the right edge."""
        rng, font = self.rng, self._font(sheet)
        kind: Callable[[], str] = rng.choice((self._surname_first, self.say.name, self._word, self._term))
        items = [kind() for _ in range(most)]
        items = sorted(items, key=str.lower) if rng.random() < 0.7 else items
        value = rng.choice((None, None, self.say.amount, self.say.date, lambda: str(rng.randint(1, 9999))))
        group, marked = rng.choice((0, 0, 3, 5)), rng.choice(("", "", "", "• ", "- ", "#"))
        for number, item in enumerate(items):
            mark = f"{number + 1}. " if marked == "#" else marked
            runs = self._runs(mark + item, sheet.face, font)
            shown = self._runs(value(), sheet.face, font) if value else []
            if shown:
                row = self._led(sheet, runs, Run(" ".join(run.text for run in shown), font), "", 0.0)
            else:
                row = next((Row(line) for line in break_runs(runs, sheet.measure, 0.0, False)), None)
            if row is not None:
                row.own = bool(mark)
                row.above = 0.6 * sheet.leading if group and number and number % group == 0 else 0.0
                yield row
