"""What sheets of office programs are made of: parts side by side, address lines, rows of labels and values, paragraphs
with something at the margin, and columns, each of which ends where it happens to end."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from PIL import ImageDraw

from training.pages.documents import DocumentSetter
from training.pages.ink import FontShelf
from training.pages.runs import Run, break_runs
from training.pages.sheet import Sheet
from training.particulars import CLOSINGS, TITLES, Particulars
from training.targets import Block
from training.words import Words

Maker = Callable[[Sheet], list[Block]]

_FEW = 0.3
"""Share of training's sheets with goods, labels or amounts of which few are different."""

_UNDIVIDED, _REPORT_REPEATS = 0.35, 0.4
"""Shares of reports in one column, and of those on which passages stand twice."""

_NARROWEST = 7
"""Width of a column in body sizes; fewer columns are made where they would be narrower."""


@dataclass
class Columns:
    """What stands in columns side by side, and how. Widths and gutter in pixels."""

    widths: list[int]
    gutter: int
    ends: list[float]
    """How far down each goes, as a share of what is left of the sheet"""
    going_on: bool
    """Whether text that does not fit goes on in the next"""
    makers: tuple[Maker, ...]
    weights: tuple[int, ...]
    """Of the makers of elements other than paragraphs"""
    mixed: float
    """Share of such elements"""
    indent: float
    """Of the first line of a paragraph, in body sizes"""
    gap: float
    """Below a paragraph, in lines"""
    longest: int
    """Words of a paragraph at most"""


class StationerySetter(DocumentSetter):
    """Sets such parts and elements on a sheet, besides those of documents."""

    def __init__(self, rng: random.Random, shelf: FontShelf, words: Words, quick_share: float) -> None:
        super().__init__(rng, shelf, words, quick_share)
        self.say = Particulars(words)

    # -- parts of a sheet ----------------------------------------------------------------------------------------

    def _part(self, sheet: Sheet, x: float, width: float, bottom: float, maker: Maker) -> tuple[list[Block], int]:
        """Let `maker` fill a part of the sheet from the pen down; answers its blocks and where it ended."""
        part = replace(
            sheet, left=int(x), x=int(x), width=int(width), top=sheet.y, bottom=int(bottom), columns=1, column=0
        )
        blocks = maker(part)
        sheet.room = part.room
        return blocks, part.y

    def _beside(self, sheet: Sheet, parts: list[tuple[float, float, float, Maker]]) -> list[Block]:
        """Parts (x, width, bottom, maker) side by side, in this order; the pen goes on below the longest."""
        blocks, ends = list[Block](), [sheet.y]
        for x, width, bottom, maker in parts:
            made, end = self._part(sheet, x, width, bottom, maker)
            blocks += made
            ends.append(end)
        sheet.y = max(ends)
        return blocks

    def _skip(self, sheet: Sheet, *lines: float) -> None:
        """Move the pen down by one of the numbers of lines."""
        sheet.y += int(sheet.leading * self.rng.choice(lines))

    # -- elements ------------------------------------------------------------------------------------------------

    def _stacked(self, sheet: Sheet, lines: list[str], align: str = "left", scale: float = 1.0) -> list[Block]:
        """Short lines as one block, each cut where the measure ends."""
        font, broken = self._font(sheet, scale=scale), []
        for line in lines:
            runs = [Run(word, font) for word in self._shown(line.split(), sheet.face)]
            broken += break_runs(runs, sheet.measure, 0.0, False)[:1]
        leading = max(int(font.size * 1.15), int(sheet.leading * scale))
        return self._kept(self._set(sheet, broken, "text", sheet.x, sheet.measure, leading, align=align))

    def _headed(self, sheet: Sheet, words: str, scale: float, align: str) -> list[Block]:
        """A title, bold where the family has it."""
        face = self._bold(sheet)
        font = self._font(sheet, face, scale)
        runs = [Run(word, font) for word in self._shown(words.split(), face)]
        lines = break_runs(runs, sheet.measure, 0.0, False)[:3]
        return self._kept(self._set(sheet, lines, "title", sheet.x, sheet.measure, int(font.size * 1.3), align=align))

    def _title(self, sheet: Sheet, scale: float = 0.0, align: str = "") -> list[Block]:
        rng = self.rng
        words = rng.choice(TITLES) if rng.random() < 0.4 else " ".join(self._text(rng.randint(1, 6))[:7])
        scale = scale or rng.choice((1.0, 1.2, 1.4, 1.7, 2.0))
        align = align or rng.choices(("left", "centre", "right"), (0.5, 0.35, 0.15))[0]
        blocks = self._headed(sheet, words, scale, align)
        self._skip(sheet, 0.3, 0.6, 1.0, 1.5)
        return blocks

    def _row(self, sheet: Sheet, label: str, value: str, tab: float, right: bool, leader: str = "") -> list[Block]:
        """A line of a label and, at the tab stop or at the right edge, its value. A leader fills the gap between."""
        font = self._font(sheet)
        parts = [" ".join(self._shown(words.split(), sheet.face)) for words in (label, value)]
        label, value = (part or "-" for part in parts)
        at = sheet.measure - font.length(value) if right else max(tab, font.length(label) + font.space)
        if at < font.length(label) + font.space or at + font.length(value) > sheet.measure:
            return self._stacked(sheet, [label])
        line = [(Run(label, font), 0.0), (Run(value, font), at)]
        start = font.length(label) + font.space
        marks = int((at - font.space - start) / font.length(leader)) if leader else 0
        if marks > 2:
            line.insert(1, (Run((leader * marks).strip(), font), start))
        return self._kept(self._set(sheet, [line], "text", sheet.x, sheet.measure, sheet.leading, align="justified"))

    def _few(self, maker: Callable[[], str]) -> Callable[[], str]:
        """What `maker` says, or on some of training's sheets again and again one of the few things it has said."""
        if not self.words.trained or self.rng.random() >= _FEW:
            return maker
        said = [maker() for _ in range(self.rng.randint(1, 4))]
        return lambda: self.rng.choice(said)

    def rows(self, sheet: Sheet) -> list[Block]:
        """Labels and values: a block each, as the lines of a table of contents are."""
        rng, blocks = self.rng, list[Block]()
        right, colon = rng.random() < 0.45, rng.choice((":", ":", "", " :"))
        tab = sheet.measure * rng.uniform(0.2, 0.5)
        space = int(sheet.leading * rng.choice((0, 0, 0.2, 0.5)))
        short, leader = 0.0, ""
        if self.words.trained:  # held-out pages are as they always were
            short = rng.choice((0.0, 0.0, 0.3, 1.0))
            right = right or rng.random() < 0.2
            leader = rng.choice((".", ".", " .", "-")) if right and rng.random() < 0.15 else ""
            tab = sheet.measure * rng.uniform(0.5, 0.85) if rng.random() < 0.2 else tab
        field, value_of = self._few(self.say.field), self._few(self.say.amount if right else self.say.value)
        count = rng.randint(2, 7)
        if self.words.trained and rng.random() < 0.15:
            count = rng.randint(8, 30)
        for _ in range(count):
            if self.words.trained and sheet.y + sheet.leading > sheet.bottom:
                break
            value = value_of()
            value = self.say.short() if short and rng.random() < short else value
            blocks += self._row(sheet, field() + colon, value, tab, right, leader)
            sheet.y += space
        return blocks

    def _hung(self, sheet: Sheet, mark: str, words: list[str], hang: float) -> list[Block]:
        """A paragraph that stands `hang` pixels in, with its mark (a date, a time, a number) at the margin."""
        font = self._font(sheet)
        shown = self._shown(mark.split(), sheet.face)
        before = Run(" ".join(shown), font)
        hang = max(hang, font.length(before.text) + font.space)
        if hang > 0.6 * sheet.measure:
            return self._stacked(sheet, [mark])
        lines = break_runs(self._styled(sheet, words), sheet.measure - hang, 0.0, sheet.hyphens)
        width = sheet.measure - hang
        return self._kept(
            self._set(
                sheet, lines, "text", sheet.x + hang, width, sheet.leading, mark=[(before, -hang)] if shown else None
            )
        )

    def _paragraphs(self, sheet: Sheet, count: int, longest: int = 70) -> list[Block]:
        """Paragraphs as programs part them: by a gap, or by the first line being set in."""
        rng, blocks = self.rng, list[Block]()
        indent, gap = rng.choice(((0.0, 0.5), (0.0, 1.0), (0.0, 1.0), (2.0, 0.0), (0.0, 0.2)))
        for _ in range(count):
            runs = self._styled(sheet, self._text(rng.choice((rng.randint(3, 16), rng.randint(12, longest)))))
            lines = break_runs(runs, sheet.measure, indent * sheet.size, sheet.hyphens)
            align = "justified" if sheet.justified else "left"
            blocks += self._kept(self._set(sheet, lines, "text", sheet.x, sheet.measure, sheet.leading, align=align))
            self._skip(sheet, gap)
        return blocks

    def _rule(self, sheet: Sheet) -> None:
        """A line across, of which nothing is written."""
        y = sheet.y + sheet.leading // 4
        if y < sheet.bottom:
            draw = ImageDraw.Draw(sheet.page)
            tone, weight = self.rng.choice((255, 255, 130)), max(1, sheet.size // self.rng.choice((10, 20)))
            draw.line((sheet.x, y, sheet.x + sheet.measure, y), tone, weight)
        sheet.y += sheet.leading // 2

    def _signed(self, sheet: Sheet) -> list[Block]:
        """Closing, room for a signature (sometimes a stroke of the pen, which says nothing), a name."""
        rng = self.rng
        blocks = self._stacked(sheet, [rng.choice(CLOSINGS) + rng.choice((",", ""))])
        top = sheet.y
        self._skip(sheet, 1.0, 2.0, 3.0)
        if rng.random() < 0.3 and top + 2 * sheet.leading < sheet.y < sheet.bottom:
            x, middle = sheet.x + sheet.size, (top + sheet.y) // 2
            strokes = [
                (x + n * sheet.size * 0.45, middle + rng.uniform(-0.6, 0.6) * sheet.leading)
                for n in range(rng.randint(5, 12))
            ]
            ImageDraw.Draw(sheet.page).line(strokes, 220, max(1, sheet.size // 14), "curve")
        blocks += self._stacked(sheet, [self.say.name(), *([" ".join(self.words.run(3)[:3])] * (rng.random() < 0.3))])
        return blocks

    # -- columns -------------------------------------------------------------------------------------------------

    def sections(self, sheet: Sheet) -> list[Block]:
        """Sections of columns, each perhaps under a title over all of them, and often nothing below the last."""
        rng, blocks = self.rng, list[Block]()
        if rng.random() < 0.25:
            sheet.y += int((sheet.bottom - sheet.y) * rng.uniform(0.1, 0.55))
        for _ in range(rng.choice((1, 1, 1, 1, 1, 2, 3))):
            if sheet.y + 3 * sheet.leading > sheet.bottom:
                break
            if rng.random() < 0.6:
                blocks += self._title(sheet)
            if rng.random() < 0.2:
                blocks += self._paragraphs(sheet, 1)
                self._skip(sheet, 0.3, 1.0)
            blocks += self._columns(sheet)
            self._skip(sheet, 0.5, 1.0, 2.0)
        return blocks

    def _widths(self, sheet: Sheet) -> tuple[list[int], int]:
        """Widths of columns and the gutter between them, in pixels."""
        rng = self.rng
        gutter = int(sheet.size * rng.choice((rng.uniform(0.9, 1.6), rng.uniform(1.5, 3), rng.uniform(3, 8))))
        count = rng.choice((2, 2, 2, 2, 2, 2, 3))
        if sheet.width - gutter < 2 * _NARROWEST * sheet.size:
            gutter = sheet.size
        while count > 1 and sheet.width - gutter * (count - 1) < count * _NARROWEST * sheet.size:
            count -= 1
        free, least = sheet.width - gutter * (count - 1), _NARROWEST * sheet.size
        if count == 2 and rng.random() < 0.3:
            first = int(max(least, min(free - least, free * rng.choice((0.3, 0.36, 0.4, 0.6, 0.64, 0.7)))))
            return [first, free - first], gutter
        return [free // count] * count, gutter

    def _ends(self, columns: int) -> tuple[list[float], bool]:
        """How far down each column goes, as a share of what is left of the sheet; whether text that does not fit goes
        on in the next column, as it does where columns are balanced or the first is full."""
        rng, kind = self.rng, self.rng.random()
        if kind < 0.25:  # the first full, the last short
            return [1.0] * (columns - 1) + [rng.uniform(0.08, 0.8)], True
        if kind < 0.58:  # all end in the upper half
            return [rng.uniform(0.1, 0.5) for _ in range(columns)], False
        if kind < 0.8:  # balanced
            return [rng.uniform(0.12, 0.75)] * columns, True
        if kind < 0.88:  # the last columns empty
            return [rng.uniform(0.2, 1.0), *[0.0] * (columns - 1)], False
        return [rng.uniform(0.1, 1.0) for _ in range(columns)], False

    def _columns(self, sheet: Sheet) -> list[Block]:
        """Columns of paragraphs, or of all kinds of elements. Text goes on from one column to the next."""
        rng = self.rng
        widths, gutter = self._widths(sheet)
        ends, going_on = self._ends(len(widths))
        return self._filled(
            sheet,
            Columns(
                widths,
                gutter,
                ends,
                going_on,
                (self.items, self._heading, self.rows, self._sender, self.table),
                (4, 3, 2, 1, 1),
                rng.choice((0.0, 0.0, 0.2, 0.5, 0.9)),
                *rng.choice(((0.0, 0.5), (0.0, 1.0), (0.0, 1.0), (1.5, 0.0), (0.0, 0.2))),
                rng.choice((25, 60, 140)),
            ),
        )

    def _filled(self, sheet: Sheet, look: Columns) -> list[Block]:
        """Columns filled from the pen down, one after the other; the pen goes on below the longest."""
        rng = self.rng
        rest: list[Run] = []

        def fill(part: Sheet) -> list[Block]:
            nonlocal rest
            blocks: list[Block] = []
            while part.room > 0 and part.y + part.leading <= part.bottom:
                if not rest and rng.random() < look.mixed:
                    blocks += rng.choices(look.makers, look.weights)[0](part)
                else:
                    start = 0.0 if rest else look.indent * part.size
                    runs = rest or self._styled(part, self._text(rng.randint(3, look.longest)))
                    lines = break_runs(runs, part.measure, start, part.hyphens)
                    top, align = part.y, "justified" if part.justified else "left"
                    blocks += self._kept(
                        self._set(part, lines, "text", part.x, part.measure, part.leading, align=align)
                    )
                    left = lines[(part.y - top) // part.leading :]
                    rest = [run for line in left for run, _ in line] if look.going_on else []
                part.y += int(part.leading * look.gap)
            return blocks

        parts, x = list[tuple[float, float, float, Maker]](), sheet.x
        for width, end in zip(look.widths, look.ends, strict=True):
            if end > 0:
                bottom = sheet.y + max(end * (sheet.bottom - sheet.y), 2.0 * sheet.leading)
                parts.append((x, width, min(bottom, sheet.bottom), fill))
            x += width + look.gutter
        if len(look.widths) > 1 and rng.random() < 0.1:  # a rule between the columns
            at, down = sheet.x + look.widths[0] + look.gutter // 2, look.ends[0] * (sheet.bottom - sheet.y)
            weight = max(1, sheet.size // 16)
            ImageDraw.Draw(sheet.page).line((at, sheet.y, at, sheet.y + down), 200, weight)
        return self._beside(sheet, parts)

    def report(self, sheet: Sheet) -> list[Block]:
        """A title, and headed paragraphs down to the foot: in columns of which only the last may be short, or in one of
        long lines."""
        rng = self.rng
        self.words.repeats.begin(_REPORT_REPEATS)
        blocks = self._title(sheet) if rng.random() < 0.75 else []
        if rng.random() < 0.25:
            blocks += self._paragraphs(sheet, 1)
            self._skip(sheet, 0.3, 1.0)
        widths, gutter = ([sheet.width], 0) if rng.random() < _UNDIVIDED else self._widths(sheet)
        ends = [1.0] * (len(widths) - 1) + [rng.choice((1.0, rng.uniform(0.05, 1.0)))]
        heads, gap = rng.choice((0.0, 0.15, 0.3)), rng.choice((0.3, 0.5, 0.5, 1.0))
        longest = rng.choice((20, 45, 45, 90))
        return blocks + self._filled(
            sheet, Columns(widths, gutter, ends, True, (self._heading,), (1,), heads, 0.0, gap, longest)
        )

    def _heading(self, sheet: Sheet) -> list[Block]:
        return self._title(sheet, self.rng.choice((1.0, 1.0, 1.2, 1.4)), "left")

    def _sender(self, sheet: Sheet) -> list[Block]:
        return self._stacked(sheet, self.say.address())
