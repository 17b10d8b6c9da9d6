"""Sheets as word processors and office programs set them, most of them filled only in part: letters, memos, agendas,
invoices, forms, CVs, lists, notices, till receipts, and text in columns that end where they happen to end.

On a half-empty sheet the place where reading goes on is far from where it stopped: at the top of a second column, at
the other margin, half a page below. Nothing is to be written for what lies between.
"""

from __future__ import annotations

import random
from dataclasses import replace

from PIL import Image, ImageDraw

from training.pages.ink import FontShelf
from training.pages.runs import Run, break_runs
from training.pages.screens import ScreensSetter
from training.pages.sheet import Sheet
from training.pages.stationery import Maker
from training.particulars import GREETINGS, SUBJECTS
from training.targets import Block
from training.words import Words

_SLIP = 0.6
"""Sheets narrower than this share of their height are often receipts."""

_LYING, _WIDE = 1.2, 1.5
"""How many times as wide as high a page is that may be a screen, and one that often is."""

_LYING_REPORTS = 0.3
"""Weight of reports beside the other forms on training's pages that lie: full of long lines."""

_SCREENS_OF_LYING, _SCREENS_OF_WIDE = 0.2, 0.5
"""Shares of training's pages of these shapes that are screens."""


class OfficeSetter(ScreensSetter):
    """Fills sheets in part. Blocks come in reading order: of things side by side the left one first, as a whole."""

    def __init__(self, rng: random.Random, shelf: FontShelf, words: Words, quick_share: float) -> None:
        super().__init__(rng, shelf, words, quick_share)
        self.forms: tuple[tuple[Maker, float], ...] = (
            (self.sections, 0.46),
            (self.text, 0.08),
            (self.letter, 0.12),
            (self.memo, 0.06),
            (self.agenda, 0.06),
            (self.invoice, 0.08),
            (self.form, 0.04),
            (self.vita, 0.06),
            (self.notice, 0.04),
            (self.receipt, 0.04),
        )
        if words.trained:  # held-out pages are as they always were
            self.forms = (
                (self.sections, 0.24),
                (self.report, 0.16),
                (self.text, 0.07),
                (self.letter, 0.1),
                (self.memo, 0.04),
                (self.agenda, 0.05),
                (self.invoice, 0.1),
                (self.form, 0.03),
                (self.questionnaire, 0.06),
                (self.statement, 0.04),
                (self.vita, 0.05),
                (self.notice, 0.03),
                (self.receipt, 0.03),
            )

    # -- pages ---------------------------------------------------------------------------------------------------

    def office(self, page: Image.Image, size: int, most: int) -> list[Block]:
        """A sheet of some form, sometimes with a running head, a foot or a page number. Passages may stand twice."""
        self.words.begin_page()
        blocks = self._sheet(page, size, most)
        self.words.repeats.end()
        return blocks

    def _sheet(self, page: Image.Image, size: int, most: int) -> list[Block]:
        rng, forms = self.rng, self.forms
        if self.words.trained and page.width > _LYING * page.height:
            wide = page.width > _WIDE * page.height
            if rng.random() < (_SCREENS_OF_WIDE if wide else _SCREENS_OF_LYING):
                return self.screen(page, size, most)
            forms = (*forms, (self.report, _LYING_REPORTS))
        sheet = self.sheet(page, size, most, 1)
        if page.width < _SLIP * page.height and rng.random() < 0.5:
            return self.receipt(sheet)
        sheet = self._wide_margins(sheet)
        blocks = self.edges.head(sheet) if rng.random() < 0.12 else []
        foot = self.edges.foot(sheet) if rng.random() < 0.35 else []
        makers, weights = zip(*forms, strict=True)
        return [*blocks, *rng.choices(makers, weights)[0](sheet), *foot]

    def _wide_margins(self, sheet: Sheet) -> Sheet:
        """The sheet as an office program sets it out: margins of an inch, lines mostly ragged and seldom hyphenated."""
        rng, (width, height) = self.rng, sheet.page.size
        left, right = sorted(int(width * rng.uniform(0.0, 0.08)) for _ in range(2))
        if sheet.width - left - right < 12 * sheet.size:
            left = right = 0
        down = int(height * rng.uniform(0.0, 0.06))
        return replace(
            sheet,
            left=sheet.left + left,
            x=sheet.left + left,
            width=sheet.width - left - right,
            y=sheet.y + down,
            top=sheet.top + down,
            bottom=sheet.bottom - down,
            justified=rng.random() < 0.15,
            hyphens=rng.random() < 0.12,
            leading=int(sheet.size * rng.choice((1.15, 1.2, 1.3, 1.5, 1.8))),
        )

    # -- forms ---------------------------------------------------------------------------------------------------

    def text(self, sheet: Sheet) -> list[Block]:
        """A title and paragraphs, lists or a table, in one column that ends anywhere."""
        rng = self.rng
        if rng.random() < 0.25:
            sheet.y += int((sheet.bottom - sheet.y) * rng.uniform(0.2, 0.6))
        sheet.bottom = int(sheet.y + (sheet.bottom - sheet.y) * rng.uniform(0.15, 1.0))
        blocks = self._title(sheet) if rng.random() < 0.7 else []
        for _ in range(rng.randint(1, 5)):
            makers = (lambda part: self._paragraphs(part, 1), self.items, self._heading, self.table, self.rows)
            blocks += rng.choices(makers, (5, 2, 1, 1, 1))[0](sheet)
            self._skip(sheet, 0.3, 0.5, 1.0)
        return blocks

    def _addresses(self, sheet: Sheet) -> list[Block]:
        """Sender and recipient: below each other, each left or right, or side by side."""
        rng = self.rng
        half = max(sheet.measure * rng.uniform(0.35, 0.48), min(sheet.measure, 9.0 * sheet.size))
        right = sheet.x + sheet.measure - half
        wide = (sheet.x, half, sheet.bottom, self._sender), (right, half, sheet.bottom, self._sender)
        if half < 0.5 * sheet.measure and rng.random() < 0.35:
            return self._beside(sheet, list(wide))
        blocks = self._beside(sheet, [rng.choice(wide)]) if rng.random() < 0.8 else []
        self._skip(sheet, 0.5, 1.0, 2.0)
        return blocks + self._beside(sheet, [rng.choice((wide[0], wide[0], wide[1]))])

    def letter(self, sheet: Sheet) -> list[Block]:
        rng, blocks = self.rng, list[Block]()
        if rng.random() < 0.35:
            align = rng.choice(("left", "centre", "centre", "right"))
            blocks += self._headed(sheet, self.say.name(), rng.choice((1.2, 1.5, 2.0)), align)
            blocks += self._stacked(sheet, [" · ".join(self.say.address()[1:])], align, 0.8)
            if rng.random() < 0.4:
                self._rule(sheet)
            self._skip(sheet, 0.5, 1.5)
        blocks += self._addresses(sheet)
        self._skip(sheet, 1.0, 2.0, 3.0)
        date = rng.choice(("{}", "{}", "{town}, {}", "{town}, den {}")).format(
            self.say.date(), town=self.say.name().split()[0]
        )
        blocks += self._stacked(sheet, [date], rng.choice(("left", "right", "right")))
        self._skip(sheet, 1.0, 2.0)
        subject = f"{rng.choice(SUBJECTS)} {' '.join(self._text(rng.randint(2, 7))[:8])}"
        if rng.random() < 0.75:
            blocks += (
                self._headed(sheet, subject, 1.0, "left") if rng.random() < 0.6 else self._stacked(sheet, [subject])
            )
            self._skip(sheet, 0.7, 1.0, 2.0)
        greeting = rng.choice(GREETINGS)
        named = f"{greeting} {self.say.name()}" if " " not in greeting else greeting
        blocks += self._stacked(sheet, [named + rng.choice((",", ",", ":", "!", ""))])
        self._skip(sheet, 0.5, 1.0)
        blocks += self._paragraphs(sheet, rng.randint(1, 4))
        self._skip(sheet, 0.5, 1.0)
        blocks += self._signed(sheet)
        if rng.random() < 0.2:
            self._skip(sheet, 1.0, 2.0)
            blocks += self._stacked(
                sheet, [f"{rng.choice(('Encl.', 'Anlage:', 'Allegati:', 'cc:'))} {self.say.name()}"]
            )
        return blocks

    def memo(self, sheet: Sheet) -> list[Block]:
        rng = self.rng
        blocks = self._title(sheet, rng.choice((1.2, 1.6, 2.0)))
        blocks += self.rows(sheet)
        self._skip(sheet, 0.3, 0.8)
        if rng.random() < 0.6:
            self._rule(sheet)
        self._skip(sheet, 0.3, 1.0)
        blocks += self._paragraphs(sheet, rng.randint(1, 4))
        if rng.random() < 0.4:
            blocks += self.items(sheet)
        return blocks

    def agenda(self, sheet: Sheet) -> list[Block]:
        """A title, place and time, and points with numbers or times at the margin; sometimes a plain list."""
        rng = self.rng
        blocks = self._title(sheet)
        if rng.random() < 0.7:
            blocks += self._stacked(
                sheet, [f"{self.say.date()}, {rng.randint(8, 20)}:{rng.randint(0, 59):02d}", self.say.name()]
            )
            self._skip(sheet, 0.5, 1.0)
        if rng.random() < 0.4:
            return blocks + self.items(sheet)
        hang, timed = sheet.size * rng.uniform(1.5, 7), rng.random() < 0.5
        space = int(sheet.leading * rng.choice((0.0, 0.2, 0.5, 1.0)))
        for number in range(1, rng.randint(3, 11)):
            mark = f"{rng.randint(8, 20):02d}{rng.choice(':.')}{rng.randint(0, 59):02d}" if timed else f"{number}."
            blocks += self._hung(sheet, mark, self._text(rng.choice((rng.randint(1, 6), rng.randint(4, 25)))), hang)
            sheet.y += space
        return blocks

    def invoice(self, sheet: Sheet) -> list[Block]:
        """Addresses, labels and values, a table or rows with amounts at the right edge, totals."""
        rng = self.rng
        blocks = self._title(sheet) if rng.random() < 0.5 else []
        blocks += self._addresses(sheet)
        self._skip(sheet, 0.7, 1.5)
        width = max(sheet.measure * rng.uniform(0.4, 0.6), min(sheet.measure, 12.0 * sheet.size))
        x = rng.choice((sheet.x, sheet.x + sheet.measure - width))
        blocks += self._beside(sheet, [(x, width, sheet.bottom, self.rows)])
        self._skip(sheet, 0.7, 1.5)
        if rng.random() < 0.6:
            blocks += self.table(sheet)
        else:
            self._rule(sheet)
            goods = self._few(lambda: " ".join(self.words.run(rng.randint(1, 4))[:4]))
            amount = self._few(self.say.amount)
            for _ in range(rng.randint(1, 6)):
                named = goods()
                blocks += self._row(sheet, f"{rng.randint(1, 99)} {named}", amount(), 0.0, True)
            self._rule(sheet)
        self._skip(sheet, 0.3, 1.0)
        totals = [f"{self.say.field()} {self.say.amount()}" for _ in range(rng.randint(1, 3))]
        blocks += self._beside(
            sheet, [(x, width, sheet.bottom, self.rows)] if rng.random() < 0.4 else []
        ) or self._stacked(sheet, totals, "right")
        self._skip(sheet, 1.0, 2.0)
        return blocks + (self._paragraphs(sheet, 1, 25) if rng.random() < 0.6 else [])

    def receipt(self, sheet: Sheet) -> list[Block]:
        """The slip of a till: shop and address in the middle, goods with prices at the right edge, totals, thanks.
        Wider sheets hold it somewhere."""
        rng = self.rng
        face = rng.choice(self.mono) if rng.random() < 0.75 else sheet.face
        width = min(sheet.measure, int(sheet.size * rng.uniform(14, 30)))
        x = sheet.x + int(rng.random() * (sheet.measure - width))
        leading = int(sheet.size * rng.uniform(1.15, 1.5))
        slip = replace(sheet, face=face, left=x, x=x, width=width, columns=1, leading=leading)
        blocks = self._stacked(slip, self.say.address(), "centre", rng.choice((1.0, 1.0, 1.2)))
        self._skip(slip, 0.3, 0.6, 1.0)
        blocks += self._row(slip, self.say.date(), f"{rng.randint(0, 23):02d}:{rng.randint(0, 59):02d}", 0.0, True)
        ruled, sign = rng.random() < 0.6, rng.choice(("", "", "", " A", " B", " €", " *"))
        goods, price = self._few(lambda: " ".join(self.words.run(rng.randint(1, 3))[:3])), self._few(self.say.price)
        for _ in range(rng.choice((rng.randint(1, 6), rng.randint(4, 16), rng.randint(10, 40)))):
            named = goods()
            named = named.upper() if rng.random() < 0.3 else named
            number = rng.choice(("", "", f"{rng.randint(1, 12)} ", f"{rng.randint(1, 9)} x "))
            blocks += self._row(slip, number + named, f"{price()}{sign}", 0.0, True)
        if ruled:
            self._rule(slip)
        self._skip(slip, 0.0, 0.4, 0.8)
        for _ in range(rng.randint(1, 4)):
            blocks += self._row(slip, self.say.field(), self.say.amount(), 0.0, True)
        self._skip(slip, 0.3, 1.0, 1.5)
        thanks = " ".join(self.words.run(rng.randint(2, 6))[:6])
        return blocks + (self._stacked(slip, [thanks], "centre") if rng.random() < 0.7 else [])

    def form(self, sheet: Sheet) -> list[Block]:
        """Labels with lines or boxes to write into, of which nothing is written, and values here and there."""
        rng, draw = self.rng, ImageDraw.Draw(sheet.page)
        blocks = self._title(sheet)
        tab, space = sheet.measure * rng.uniform(0.25, 0.5), sheet.leading * rng.uniform(1.2, 2.2)
        boxed, weight = rng.random() < 0.3, max(1, sheet.size // 18)
        for _ in range(rng.randint(3, 9)):
            if sheet.y + sheet.leading > sheet.bottom:
                break
            top, filled, label = sheet.y, rng.random() < 0.4, self.say.field() + rng.choice((":", ":", ""))
            blocks += self._row(sheet, label, self.say.value(), tab, False) if filled else self._stacked(sheet, [label])
            left, right = sheet.x + tab - sheet.size * 0.3, sheet.x + sheet.measure
            if blocks and blocks[-1].box[2] < left and boxed:
                draw.rectangle((left, top, right, top + sheet.leading), outline=180, width=weight)
            elif blocks and not filled and blocks[-1].box[2] < left:
                draw.line((left, top + 0.9 * sheet.leading, right, top + 0.9 * sheet.leading), 180, weight)
            sheet.y = int(top + space)
        if rng.random() < 0.5:
            blocks += self._paragraphs(sheet, 1, 30)
        return blocks

    def vita(self, sheet: Sheet) -> list[Block]:
        """A CV: a name, how to reach it, headings, dates left and text right."""
        rng = self.rng
        align = rng.choice(("left", "left", "centre"))
        blocks = self._title(sheet, rng.choice((1.4, 1.8, 2.2)), align)
        blocks += self._stacked(sheet, self.say.address()[1:], align)
        hang, space = sheet.measure * rng.uniform(0.2, 0.36), int(sheet.leading * rng.choice((0.1, 0.4, 0.8)))
        year, until = rng.randint(1975, 2030), rng.choice(("–", "-", " - ", "/"))
        for _ in range(rng.randint(1, 4)):
            self._skip(sheet, 0.7, 1.2)
            blocks += self._heading(sheet)
            for _ in range(rng.randint(1, 4)):
                year -= rng.randint(1, 5)
                mark = rng.choice(
                    (f"{year}", f"{year}{until}{year + rng.randint(1, 5)}", f"{rng.randint(1, 12):02d}/{year}")
                )
                blocks += self._hung(sheet, mark, self._text(rng.choice((rng.randint(2, 8), rng.randint(5, 30)))), hang)
                sheet.y += space
        return blocks

    def notice(self, sheet: Sheet) -> list[Block]:
        """A big title and a few lines in the middle, anywhere on the sheet."""
        rng = self.rng
        sheet.y += int((sheet.bottom - sheet.y) * rng.uniform(0.0, 0.6))
        blocks = self._title(sheet, rng.choice((1.8, 2.2, 2.8)), "centre")
        for _ in range(rng.randint(1, 3)):
            font = self._font(sheet)
            runs = [Run(w, font) for w in self._shown(self._text(rng.randint(2, 22)), sheet.face)]
            lines = break_runs(runs, sheet.measure, 0.0, False)
            blocks += self._kept(self._set(sheet, lines, "text", sheet.x, sheet.measure, sheet.leading, align="centre"))
            self._skip(sheet, 0.5, 1.0, 2.0)
        return blocks
