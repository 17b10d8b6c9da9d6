"""What pages of documents are made of: paragraphs, sections, lists, listings, leaders, definitions, records, tables
and what stands beside a paragraph."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from training.charset import CLASS_OF
from training.pages.ink import FontShelf
from training.pages.runs import Placed, Run, break_runs
from training.pages.sheet import Sheet
from training.pages.tables import TableSetter
from training.pages.typewriter import TypewriterSetter
from training.particulars import Particulars
from training.targets import Block
from training.words import Words

_BULLETS = "•••–-*»·°"
_ALIKE_ITEMS = 0.25
"""Share of training's lists whose items begin with the same few words."""


@dataclass
class _List:
    """How the items of a list look. Lengths in pixels."""

    style: str
    inner: str
    """The mark of items below an item"""
    short: bool
    start: int
    gap: float
    left: float
    space: int
    begin: list[str] = field(default_factory=list)
    """Words that most items begin with"""


class ElementSetter(TypewriterSetter):
    """Sets one element after the other from the pen down; each answers its blocks in reading order."""

    def __init__(self, rng: random.Random, shelf: FontShelf, words: Words) -> None:
        super().__init__(rng, shelf, words)
        self.tables = TableSetter(rng, shelf, words)
        self.say = Particulars(words)

    def _styled(self, sheet: Sheet, words: list[str]) -> list[Run]:
        """Words in the sheet's face, sometimes a few of them in bold, italic or typewriter."""
        rng, font = self.rng, self._font(sheet)
        other, share = None, 0.0
        if rng.random() < 0.3:
            face = rng.choice(self.mono) if rng.random() < 0.5 else self.shelf.face_of(sheet.face.family)
            other, share = self._font(sheet, face), rng.choice((0.03, 0.08))
            words = self._shown(words, sheet.face, face)
        else:
            words = self._shown(words, sheet.face)
        runs, left = [], 0
        for word in words:
            if other and not left and rng.random() < share:
                left = rng.randint(1, 4)
            runs.append(Run(word, other if other and left else font))
            left = max(0, left - 1)
        return runs

    def _run_on(
        self, sheet: Sheet, lines: list[Placed], x: float, width: float, align: str = "left", mark: Placed | None = None
    ) -> list[Block]:
        """Lines from the pen down, from `x`. On training's pages, what the column has no room for goes on in the next:
        the reading then leaps from the foot of one to the top of the other, in the middle of a sentence."""
        top, inset = sheet.y, x - sheet.x
        blocks = self._kept(self._set(sheet, lines, "text", x, width, sheet.leading, align=align, mark=mark))
        left = lines[(sheet.y - top) // sheet.leading :]
        if left and self.words.trained:
            sheet.rest = lambda sheet: self._run_on(sheet, left, sheet.x + inset, width, align)
        return blocks

    def _text(self, count: int) -> list[str]:
        return self.words.manual(count) if self.rng.random() < 0.4 else self.words.run(count)

    def paragraph(self, sheet: Sheet) -> list[Block]:
        rng = self.rng
        indent = sheet.size * rng.choice((0.0, 0.0, 1.0, 2.0))
        runs = self._styled(
            sheet, self._text(rng.choice((rng.randint(3, 20), rng.randint(15, 60), rng.randint(40, 160))))
        )
        lines = self.words.repeats.lines(break_runs(runs, sheet.measure, indent, sheet.hyphens))
        align = "justified" if sheet.justified else "left"
        return self._run_on(sheet, lines, sheet.x, sheet.measure, align)

    def section(self, sheet: Sheet, spanning: bool = False) -> list[Block]:
        rng, face = self.rng, self._bold(sheet)
        font = self._font(sheet, face, rng.choice((1.0, 1.15, 1.3, 1.5, 1.8)))
        number = ".".join(str(rng.randint(1, 19)) for _ in range(rng.randint(1, 4)))
        words = self._text(rng.randint(1, 8))[:9]
        if rng.random() < 0.6:
            words = [rng.choice((number, number + ".", f"Chapter {number}.", f"§ {number}")), *words]
        width = sheet.width if spanning else sheet.measure
        lines = break_runs([Run(w, font) for w in self._shown(" ".join(words).split(), face)], width, 0.0, False)
        align = "centre" if rng.random() < 0.2 else "left"
        return self._kept(self._set(sheet, lines, "title", sheet.x, width, int(font.size * 1.3), align=align))

    def _marker(self, style: str, number: int) -> str:
        letter = chr(ord("a") + number % 26)
        return {
            "1.": f"{number + 1}.",
            "1)": f"{number + 1})",
            "a)": f"{letter})",
            "a.": f"{letter}.",
            "(1)": f"({number + 1})",
            "[1]": f"[{number + 1}]",
            "i": f"{('i', 'ii', 'iii', 'iv', 'v', 'vi', 'vii', 'viii', 'ix', 'x')[number % 10]}.",
        }.get(style, style)

    def items(self, sheet: Sheet) -> list[Block]:
        """A list: every item is a block that begins with its mark. Items may have items of their own."""
        rng = self.rng
        style = (
            rng.choice(_BULLETS)
            if rng.random() < 0.6
            else rng.choice(("1.", "1.", "1)", "a)", "a.", "(1)", "[1]", "i", "[x]", "[]", "o", "+"))
        )
        inner, short = rng.choice(_BULLETS), rng.random() < 0.5
        font, start = self._font(sheet), rng.choice((0, 0, 0, rng.randint(0, 120)))
        gap, left = font.size * rng.uniform(0.3, 1.2), font.size * rng.choice((0.0, 0.6, 1.2, 2.0))
        space = int(sheet.leading * rng.choice((0, 0, 0.2, 0.5)))
        look, count = _List(style, inner, short, start, gap, left, space), rng.randint(2, 9)
        if self.words.trained:
            look.begin = self._text(rng.randint(1, 9))[:9] if rng.random() < _ALIKE_ITEMS else []
            count = rng.choice((count, count, count, rng.randint(8, 30)))
        return self._items(sheet, look, 0, count)

    def _items(self, sheet: Sheet, look: _List, first: int, count: int) -> list[Block]:
        """The items of a list from the first on, as many as the column has room for."""
        rng, font, blocks = self.rng, self._font(sheet), list[Block]()
        for number in range(first, count):
            nested = number > 0 and rng.random() < 0.12
            sign = self._shown([look.inner if nested else self._marker(look.style, look.start + number)], sheet.face)
            longest = rng.randint(1, 6) if look.short else rng.choice((rng.randint(2, 14), rng.randint(8, 40)))
            words = self._text(longest)
            if look.begin and rng.random() < 0.8:
                words = [*look.begin, *words[: rng.randint(0, len(words))]]
            runs = self._styled(sheet, words)
            if not sign or not runs or sheet.room <= 0:
                break
            if sheet.y + sheet.leading > sheet.bottom:
                sheet.rest = partial(self._items, look=look, first=number, count=count) if self.words.trained else None
                break
            mark = Run(sign[0], font)
            hang = font.length(mark.text) + look.gap
            x = sheet.x + look.left + (font.size * 1.5 if nested else 0)
            lines = break_runs(runs, sheet.x + sheet.measure - x - hang, 0.0, sheet.hyphens)
            blocks += self._run_on(sheet, lines, x + hang, sheet.x + sheet.measure - x - hang, mark=[(mark, -hang)])
            if sheet.rest is not None:
                sheet.rest = partial(self._item_and_more, item=sheet.rest, look=look, first=number + 1, count=count)
                break
            sheet.y += look.space
        return blocks

    def _item_and_more(
        self, sheet: Sheet, item: Callable[[Sheet], list[Block]], look: _List, first: int, count: int
    ) -> list[Block]:
        """The rest of an item, and the items after it."""
        blocks = item(sheet)
        if sheet.rest is None:
            sheet.y += look.space
            blocks += self._items(sheet, look, first, count)
        return blocks

    def contents(self, sheet: Sheet) -> list[Block]:
        """Lines of a table of contents: a title, a row of dots as long as the line, a page number."""
        rng, font = self.rng, self._font(sheet)
        dot = rng.choice((".", ".", " ."))
        step, blocks = font.length(dot), list[Block]()
        for _ in range(rng.randint(2, 7)):
            words = self._shown(self._text(rng.randint(1, 5))[:5], sheet.face)
            number = str(rng.randint(1, 400))
            before = " ".join([".".join(str(rng.randint(1, 9)) for _ in range(rng.randint(1, 3))), *words])
            free = sheet.measure - font.length(before) - font.length(number) - 2 * font.space
            if free < 3 * step or not words:
                continue
            dots = (dot * int(free / step)).strip()
            line = [
                (Run(before, font), 0.0),
                (Run(dots, font), font.length(before) + font.space),
                (Run(number, font), sheet.measure - font.length(number)),
            ]
            blocks += self._kept(
                self._set(sheet, [line], "text", sheet.x, sheet.measure, sheet.leading, align="justified")
            )
        return blocks

    def definitions(self, sheet: Sheet) -> list[Block]:
        """Terms, each with an explanation set in below it."""
        rng, face, blocks = self.rng, self._bold(sheet), list[Block]()
        inset = int(sheet.size * rng.uniform(1, 3))
        font = self._font(sheet, face)
        for _ in range(rng.randint(1, 4)):
            term = (
                self.words.technical.token() if rng.random() < 0.5 else " ".join(self.words.run(rng.randint(1, 3))[:3])
            )
            runs = [Run(w, font) for w in self._shown(term.split(), face)]
            blocks += self._kept(
                self._set(
                    sheet,
                    break_runs(runs, sheet.measure, 0.0, False)[:1],
                    "text",
                    sheet.x,
                    sheet.measure,
                    sheet.leading,
                )
            )
            lines = break_runs(
                self._styled(sheet, self._text(rng.randint(4, 40))), sheet.measure - inset, 0.0, sheet.hyphens
            )
            blocks += self._kept(self._set(sheet, lines, "text", sheet.x + inset, sheet.measure - inset, sheet.leading))
        return blocks

    def records(self, sheet: Sheet) -> list[Block]:
        """Records of the same fields, of which few values differ; each a block of short lines."""
        rng = self.rng
        values = {self.say.field() + ":": self.say.value() for _ in range(rng.randint(2, 5))}
        return self._records(sheet, values, rng.choice((rng.randint(2, 7), rng.randint(5, 25))))

    def _records(self, sheet: Sheet, values: dict[str, str], count: int) -> list[Block]:
        """So many records; those that the column has no room for stand in the next one."""
        font, blocks = self._font(sheet), list[Block]()
        while count > 0 and sheet.room > 0:
            lines = []
            values[self.rng.choice(list(values))] = self.say.value()
            for name, value in values.items():
                runs = [Run(word, font) for word in self._shown(f"{name} {value}".split(), sheet.face)]
                lines += break_runs(runs, sheet.measure, 0.0, False)[:1]
            if sheet.y + len(lines) * sheet.leading > sheet.bottom:
                if sheet.y > sheet.top:
                    sheet.rest = partial(self._records, values=values, count=count)
                break
            blocks += self._kept(self._set(sheet, lines, "text", sheet.x, sheet.measure, sheet.leading))
            sheet.y += sheet.leading // 2
            count -= 1
        return blocks

    def beside(self, sheet: Sheet) -> list[Block]:
        """Words at the left edge and a paragraph beside them; of both, what stands left is read first, as a whole."""
        rng, blocks = self.rng, list[Block]()
        if sheet.measure < 22 * sheet.size:
            return self.paragraph(sheet)
        face = rng.choice((sheet.face, self._bold(sheet)))
        inset, width = sheet.measure * rng.uniform(0.2, 0.38), sheet.measure
        font, longest = self._font(sheet, face, rng.choice((0.85, 1.0, 1.0))), rng.choice((3, 6, 14))
        for _ in range(rng.choice((1, 2, rng.randint(3, 9)))):
            if sheet.y + 2 * sheet.leading > sheet.bottom or sheet.rest is not None:
                break
            top, words = sheet.y, self._shown(self._text(rng.randint(1, longest))[:longest], face)
            note = break_runs([Run(word, font) for word in words], inset - sheet.size, 0.0, False)[:6]
            blocks += self._kept(self._set(sheet, note, "text", sheet.x, inset, sheet.leading))
            below, sheet.y = sheet.y, top
            lines = break_runs(self._styled(sheet, self._text(rng.randint(5, 60))), width - inset, 0.0, sheet.hyphens)
            align = "justified" if sheet.justified else "left"
            blocks += self._run_on(sheet, lines, sheet.x + inset, width - inset, align)
            sheet.y = max(below, sheet.y) + int(sheet.leading * rng.choice((0.2, 0.5, 1.0)))
        return blocks

    def aside(self, sheet: Sheet) -> list[Block]:
        """A short line at the right edge or in the last lines of the column, with nothing around it."""
        rng, font = self.rng, self._font(sheet)
        words = self._shown(rng.choice((self._text(rng.randint(1, 5))[:5], [self.words.made_up()])), sheet.face)
        lines = break_runs([Run(word, font) for word in words], sheet.measure, 0.0, False)[:1]
        free = sheet.bottom - sheet.y - 2 * sheet.leading
        if free > 0:
            sheet.y += rng.choice((0, min(free, 2 * sheet.leading), int(free * rng.random()), free))
        align = rng.choice(("right", "right", "left", "centre"))
        return self._kept(self._set(sheet, lines, "text", sheet.x, sheet.measure, sheet.leading, align=align))

    def mark_line(self, sheet: Sheet) -> list[Block]:
        """A line of one mark repeated."""
        font = self._font(sheet)
        lines = break_runs(
            [Run(m, font) for m in self._shown([self.words.technical.marks()], sheet.face)], sheet.measure, 0.0, False
        )[:1]
        return self._kept(
            self._set(
                sheet, lines, "text", sheet.x, sheet.measure, sheet.leading, align=self.rng.choice(("left", "centre"))
            )
        )

    def table(self, sheet: Sheet) -> list[Block]:
        room = (sheet.x, sheet.y, sheet.measure, sheet.bottom - sheet.y)
        bold = self._bold(sheet) if self.rng.random() < 0.6 else sheet.face
        usable = CLASS_OF.keys() - set(sheet.face.missing) - set(bold.missing)
        block = self.tables.set(sheet.page, self._font(sheet), self._font(sheet, bold), set(usable), room, sheet.quick)
        if block is None:
            return []
        sheet.y = int(block.box[3]) + 1
        sheet.room -= len(block.text) // 2
        return [block]
