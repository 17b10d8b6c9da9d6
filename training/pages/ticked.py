"""Sheets to fill in: boxes to tick and rings to choose from, empty or marked, lines to sign on, sums at the right edge.

A box or a ring is no text, whether it is marked or not: nothing is written for it, only for the words beside it.
"""

from __future__ import annotations

from PIL import ImageDraw

from training.pages.runs import Run, break_runs
from training.pages.sheet import Sheet
from training.pages.stationery import Maker, StationerySetter
from training.targets import Block

_ANSWERS = (
    *("yes no", "ja nein", "sì no", "oui non", "sí no", "sim não", "ja nej", "ano ne", "tak nie", "igen nem", "ja nee"),
    *("m f d", "A B C D", "1 2 3 4 5", "never sometimes often always", "on off", "Mr Ms", "I II III", "0 1 2 3"),
)
_SIGNED = (
    *("Signature", "Place, date", "Date", "Unterschrift", "Ort, Datum", "Firma", "Luogo e data", "Fecha", "Stamp"),
    *("Handtekening", "Datum", "Signature du client", "Assinatura", "Namnteckning", "Podpis", "Dato", "Aláírás"),
)
_EMPTY = 0.5
"""Share of boxes that nobody has marked."""


class TickedSetter(StationerySetter):
    """Sets such sheets and their parts."""

    # -- boxes ---------------------------------------------------------------------------------------------------

    def _mark(self, sheet: Sheet, x: float, middle: float, side: int, ring: bool, tone: int = 255) -> None:
        """A box or a ring `side` pixels wide, its left end at x; often empty, otherwise crossed, ticked or filled."""
        rng, draw = self.rng, ImageDraw.Draw(sheet.page)
        left, top, right, bottom = int(x), int(middle - side / 2), int(x) + side, int(middle - side / 2) + side
        weight, inset = max(1, side // 12), max(2, side // 4)
        inner = left + inset, top + inset, right - inset, bottom - inset
        if ring:
            draw.ellipse((left, top, right, bottom), outline=tone, width=weight)
            if rng.random() > _EMPTY:
                draw.ellipse(inner, fill=tone)
            return
        draw.rectangle((left, top, right, bottom), outline=tone, width=weight)
        if rng.random() < _EMPTY:
            return
        form, pen, over = rng.random(), max(weight, side // 8), rng.choice((0, 0, side // 6))
        if form < 0.4:
            draw.line((left - over, top - over, right + over, bottom + over), 255, pen)
            draw.line((left - over, bottom + over, right + over, top - over), 255, pen)
        elif form < 0.85:
            foot = left + side * 0.4, bottom - side * 0.1
            draw.line((left + side * 0.1, top + side * 0.5, *foot, right + over, top + side * 0.1 - over), 255, pen)
        else:
            draw.rectangle(inner, fill=255)

    def ticks(self, sheet: Sheet) -> list[Block]:
        """Boxes or rings, each before its words; in one column, or in as many as fit, the left one first."""
        rng, size = self.rng, sheet.size
        ring, side, tone = rng.random() < 0.3, int(size * rng.uniform(0.55, 1.0)), rng.choice((255, 255, 140))
        hang = side + size * rng.uniform(0.3, 0.9)
        count = rng.choice((1, 1, 1, 2, 3))
        while count > 1 and sheet.measure / count < hang + 9 * size:
            count -= 1
        gap, longest = int(sheet.leading * rng.choice((0.0, 0.15, 0.4))), rng.choice((2, 6, 14))

        def column(part: Sheet) -> list[Block]:
            blocks: list[Block] = []
            for _ in range(rng.randint(2, 6)):
                top, width = part.y, part.measure - hang
                runs = self._styled(part, self._text(rng.randint(1, longest))[: longest + 2])
                lines = break_runs(runs, width, 0.0, False)[:3]
                made = self._set(part, lines, "text", part.x + hang, width, part.leading)
                if made is None:
                    break
                self._mark(part, part.x, top + part.leading * 0.5, side, ring, tone)
                blocks.append(made)
                part.y += gap
            return blocks

        width = sheet.measure / count
        parts: list[tuple[float, float, float, Maker]] = [
            (sheet.x + n * width, width - (size if n < count - 1 else 0), sheet.bottom, column) for n in range(count)
        ]
        return self._beside(sheet, parts)

    def options(self, sheet: Sheet) -> list[Block]:
        """Questions with a few answers behind each, on one line, a box or a ring before every answer: a block a
        line."""
        rng, font, blocks = self.rng, self._font(sheet), list[Block]()
        ring, side = rng.random() < 0.4, int(sheet.size * rng.uniform(0.55, 0.9))
        answers = self._shown(rng.choice(_ANSWERS).split(), sheet.face)
        wide = [side + 0.4 * sheet.size + font.length(answer) + sheet.size * 1.2 for answer in answers]
        start = sheet.measure - sum(wide) if rng.random() < 0.4 else sheet.measure * rng.uniform(0.3, 0.6)
        if start < 7 * sheet.size or start + sum(wide) > sheet.measure + sheet.size * 1.2 or not answers:
            return self.ticks(sheet)
        space = int(sheet.leading * rng.choice((0.0, 0.2, 0.6)))
        for _ in range(rng.randint(1, 6)):
            words = [Run(word, font) for word in self._shown(self._text(rng.randint(1, 7)), sheet.face)]
            line = (break_runs(words, start - sheet.size, 0.0, False) or [[]])[0]
            places = [start + sum(wide[:n]) for n in range(len(answers))]
            after = side + 0.4 * sheet.size
            line += [(Run(answer, font), at + after) for answer, at in zip(answers, places, strict=True)]
            top = sheet.y
            made = self._set(sheet, [line], "text", sheet.x, sheet.measure, sheet.leading, align="justified")
            if made is None:
                break
            for at in places:
                self._mark(sheet, sheet.x + at, top + sheet.leading * 0.5, side, ring)
            blocks.append(made)
            sheet.y += space
        return blocks

    # -- sheets --------------------------------------------------------------------------------------------------

    def signatures(self, sheet: Sheet) -> list[Block]:
        """Lines to sign on, side by side, with what is to be written in small print below each."""
        rng = self.rng
        count = rng.choice((1, 2, 2, 3)) if sheet.measure > 30 * sheet.size else 1
        self._skip(sheet, 1.5, 2.5, 4.0)
        width, draw = sheet.measure / count, ImageDraw.Draw(sheet.page)

        def line(part: Sheet) -> list[Block]:
            y = part.y
            part.y += part.leading // 6
            made = self._stacked(part, [rng.choice(_SIGNED)], rng.choice(("left", "centre")), 0.9)
            if made:
                draw.line((part.x, y, part.x + part.measure, y), 200, max(1, part.size // 18))
            return made

        parts: list[tuple[float, float, float, Maker]] = [
            (sheet.x + n * width, width * 0.85, sheet.bottom, line) for n in range(count)
        ]
        return self._beside(sheet, parts)

    def questionnaire(self, sheet: Sheet) -> list[Block]:
        """A title, and by turns lines to fill in, boxes to tick, questions with answers, text; lines to sign on."""
        rng = self.rng
        blocks = self._title(sheet)
        for _ in range(rng.randint(2, 5)):
            if sheet.y + 3 * sheet.leading > sheet.bottom:
                break
            if rng.random() < 0.4:
                blocks += self._title(sheet, rng.choice((1.0, 1.2)), "left")
            makers = (self.ticks, self.options, self._blanks, self.rows, lambda part: self._paragraphs(part, 1, 30))
            blocks += rng.choices(makers, (4, 3, 3, 1, 1))[0](sheet)
            self._skip(sheet, 0.5, 1.0, 1.5)
        return blocks + (self.signatures(sheet) if rng.random() < 0.6 else [])

    def _blanks(self, sheet: Sheet) -> list[Block]:
        """Labels, and behind each a line or a box to write in; two side by side where there is room."""
        rng, font, draw = self.rng, self._font(sheet), ImageDraw.Draw(sheet.page)
        boxed, count = rng.random() < 0.4, rng.choice((1, 2)) if sheet.measure > 36 * sheet.size else 1
        space, width = int(sheet.leading * rng.choice((0.2, 0.5, 0.9))), sheet.measure / count
        colon = rng.choice((":", "", ""))

        def one(part: Sheet) -> list[Block]:
            top, label = part.y, self.say.field() + colon
            made = self._stacked(part, [label])
            if made:
                left, right = made[0].box[2] + font.size * 0.5, part.x + part.measure
                area = (left, top + part.leading * 0.02, right, top + part.leading * 0.98)
                if right - left > 2 * font.size and boxed:
                    draw.rectangle(area, outline=170, width=max(1, part.size // 20))
                elif right - left > 2 * font.size:
                    draw.line((left, area[3], right, area[3]), 200, max(1, part.size // 18))
            return made

        blocks: list[Block] = []
        for _ in range(rng.randint(1, 6)):
            parts: list[tuple[float, float, float, Maker]] = [
                (sheet.x + n * width, width * (0.93 if count > 1 else 1), sheet.bottom, one) for n in range(count)
            ]
            blocks += self._beside(sheet, parts)
            sheet.y += space
        return blocks

    def statement(self, sheet: Sheet) -> list[Block]:
        """An account: what was bought or paid, and the amounts at the right edge, far from the words; totals."""
        rng = self.rng
        blocks = self._title(sheet) if rng.random() < 0.7 else []
        blocks += self.rows(sheet) if rng.random() < 0.4 else []
        self._skip(sheet, 0.5, 1.0)
        signed, dated, ruled = rng.random() < 0.3, rng.random() < 0.4, rng.random() < 0.3
        space = int(sheet.leading * rng.choice((0.0, 0.0, 0.2, 0.5)))
        for group in range(rng.choice((1, 1, 2, 3))):
            if group or rng.random() < 0.3:
                blocks += self._title(sheet, 1.0, "left")
            for _ in range(rng.choice((rng.randint(2, 6), rng.randint(4, 16)))):
                if sheet.y + sheet.leading > sheet.bottom or sheet.room <= 0:
                    break
                goods = " ".join(self.words.run(rng.randint(1, 5))[:5])
                amount = (rng.choice("+-−") if signed else "") + self.say.price()
                label = f"{self.say.date()} {goods}" if dated else goods
                blocks += self._row(sheet, label, amount, 0.0, True)
                if ruled and sheet.y + sheet.leading < sheet.bottom:
                    self._rule(sheet)
                sheet.y += space
            self._rule(sheet)
            for _ in range(rng.randint(1, 3)):
                blocks += self._row(sheet, self.say.field(), self.say.amount(), 0.0, True)
            self._skip(sheet, 0.5, 1.0)
        return blocks
