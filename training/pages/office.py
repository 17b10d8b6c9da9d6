"""Sheets as word processors and office programs set them, most of them filled only in part: letters, memos, agendas,
invoices, forms, CVs, lists, notices, and text in columns that end where they happen to end.

On a half-empty sheet the place where reading goes on is far from where it stopped: at the top of a second column, at
the other margin, half a page below. Nothing is to be written for what lies between.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from PIL import Image, ImageDraw

from training.pages.documents import DocumentSetter
from training.pages.ink import FontShelf
from training.pages.runs import Run, break_runs
from training.pages.sheet import Sheet
from training.targets import Block
from training.words import Words

Maker = Callable[[Sheet], list[Block]]

_NARROWEST = 7
"""Width of a column in body sizes; fewer columns are made where they would be narrower."""

_MONTHS = (
    "January February March April May June July August September October November December".split(),
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre".split(),
    "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split(),
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split(),
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split(),
)
_SUBJECTS = ("Re:", "Subject:", "Betreff:", "Oggetto:", "Objet :", "Asunto:", "Assunto:", "Betreft:", "Ref.", "")
_GREETINGS = (
    *("Dear Sir or Madam", "Dear", "Sehr geehrte Damen und Herren", "Liebe", "Gentile", "Egregio", "Madame, Monsieur"),
    *("Estimado", "Caro", "Prezado", "Geachte", "Kära", "Kære", "Szanowni", "Vážení", "Tisztelt"),
)
_CLOSINGS = (
    *("Yours sincerely", "Kind regards", "Best wishes", "Mit freundlichen Grüßen", "Cordiali saluti", "Atentamente"),
    *("Distinti saluti", "Cordialement", "Atenciosamente", "Met vriendelijke groet", "Med vänliga hälsningar"),
)
_FIELDS = (
    *("Name", "Date", "Nome", "Data", "Datum", "Telefon", "Phone", "E-mail", "Fax", "Customer", "Kunde", "Cliente"),
    *("Invoice no.", "Order", "Nr.", "Art.", "Total", "Subtotal", "VAT", "IVA", "MwSt.", "TVA", "Net", "Due", "From"),
    *("To", "Subject", "Cc", "Place", "Ort", "Luogo", "Indirizzo", "Address", "Adresse", "Fecha", "Summe", "IBAN"),
)
_TITLES = (
    *("MEMO", "Memorandum", "Agenda", "Minutes", "Protokoll", "Verbale", "Ordine del giorno", "Compte rendu", "Notice"),
    *("Invoice", "Rechnung", "Fattura", "Facture", "Factura", "Order form", "Anmeldung", "Modulo", "Curriculum vitae"),
    *("Lebenslauf", "Avviso", "Programme", "Programm", "Report", "Price list", "Contents", "Aushang", "Quittung"),
)


class OfficeSetter(DocumentSetter):
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
        )

    # -- pages ---------------------------------------------------------------------------------------------------

    def office(self, page: Image.Image, size: int, most: int) -> list[Block]:
        """A sheet of some form, sometimes with a running head, a foot or a page number."""
        rng = self.rng
        sheet = self._wide_margins(self.sheet(page, size, most, 1))
        blocks = self.edges.head(sheet) if rng.random() < 0.12 else []
        foot = self.edges.foot(sheet) if rng.random() < 0.35 else []
        makers, weights = zip(*self.forms, strict=True)
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

    # -- what stands on a line -----------------------------------------------------------------------------------

    def _name(self) -> str:
        words = self.rng.choices(self.words.dictionary, k=self.rng.choice((2, 2, 3)))
        return " ".join(word[:1].upper() + word[1:] for word in words)

    def _date(self) -> str:
        rng = self.rng
        day, month, year = rng.randint(1, 31), rng.randint(1, 12), rng.randint(1965, 2034)
        name = rng.choice(_MONTHS)[month - 1]
        return rng.choice(
            (
                f"{day} {name} {year}",
                f"{day}. {name} {year}",
                f"{name.capitalize()} {day}, {year}",
                f"{day:02d}.{month:02d}.{year}",
                f"{day:02d}/{month:02d}/{year}",
                f"{year}-{month:02d}-{day:02d}",
            )
        )

    def _amount(self) -> str:
        rng = self.rng
        mark, point = rng.choice(((",", "."), (".", ","), ("", "."), ("", ",")))
        euros = rng.randint(0, 10 ** rng.randint(1, 5))
        whole = f"{euros:,}".replace(",", mark)
        return rng.choice(("{}", "{}", "{} €", "€ {}", "EUR {}", "${}", "£{}")).format(
            f"{whole}{point}{rng.randint(0, 99):02d}"
        )

    def _value(self) -> str:
        rng = self.rng
        return rng.choice(
            (self._name, self._date, self._amount, self.words.made_up, lambda: str(rng.randint(1, 99999)))
        )()

    def _field(self) -> str:
        rng = self.rng
        if rng.random() < 0.6:
            return rng.choice(_FIELDS)
        return " ".join(rng.choices(self.words.dictionary, k=rng.choice((1, 1, 2)))).capitalize()

    def _address(self) -> list[str]:
        """Lines of an address: name, perhaps a firm, street, town, sometimes country, telephone or mail."""
        rng, town = self.rng, self._name().split()[0]
        street, number = self._name().split()[0], rng.randint(1, 299)
        code = f"{rng.randint(1000, 99999):05d}" if rng.random() < 0.7 else self.words.technical.letters().upper()
        lines = [
            self._name(),
            rng.choice(
                (f"{street} {number}", f"{number} {street} Street", f"Via {street} {number}", f"{street}, {number}")
            ),
            rng.choice((f"{code} {town}", f"{town} {code}", f"D-{code} {town}", f"{town}, {code}")),
        ]
        if rng.random() < 0.3:
            lines.insert(1, " ".join(self.words.run(3)[:3]))
        if rng.random() < 0.35:
            lines.append(
                f"{rng.choice(('Tel.', 'Tel:', 'Phone', 'T'))} +{rng.randint(1, 99)} {rng.randint(10**5, 10**9)}"
            )
        if rng.random() < 0.3:
            lines.append(
                f"{self.words.technical.word()}@{self.words.technical.word()}.{rng.choice(('org', 'eu', 'it'))}"
            )
        return lines

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
        words = rng.choice(_TITLES) if rng.random() < 0.4 else " ".join(self._text(rng.randint(1, 6))[:7])
        scale = scale or rng.choice((1.0, 1.2, 1.4, 1.7, 2.0))
        align = align or rng.choices(("left", "centre", "right"), (0.5, 0.35, 0.15))[0]
        blocks = self._headed(sheet, words, scale, align)
        self._skip(sheet, 0.3, 0.6, 1.0, 1.5)
        return blocks

    def _row(self, sheet: Sheet, label: str, value: str, tab: float, right: bool) -> list[Block]:
        """A line of a label and, at the tab stop or at the right edge, its value."""
        font = self._font(sheet)
        parts = [" ".join(self._shown(words.split(), sheet.face)) for words in (label, value)]
        label, value = (part or "-" for part in parts)
        at = sheet.measure - font.length(value) if right else max(tab, font.length(label) + font.space)
        if at < font.length(label) + font.space or at + font.length(value) > sheet.measure:
            return self._stacked(sheet, [label])
        line = [(Run(label, font), 0.0), (Run(value, font), at)]
        return self._kept(self._set(sheet, [line], "text", sheet.x, sheet.measure, sheet.leading, align="justified"))

    def rows(self, sheet: Sheet) -> list[Block]:
        """Labels and values: a block each, as the lines of a table of contents are."""
        rng, blocks = self.rng, list[Block]()
        right, colon = rng.random() < 0.45, rng.choice((":", ":", "", " :"))
        tab = sheet.measure * rng.uniform(0.2, 0.5)
        space = int(sheet.leading * rng.choice((0, 0, 0.2, 0.5)))
        for _ in range(rng.randint(2, 7)):
            value = self._amount() if right else self._value()
            blocks += self._row(sheet, self._field() + colon, value, tab, right)
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
        blocks = self._stacked(sheet, [rng.choice(_CLOSINGS) + rng.choice((",", ""))])
        top = sheet.y
        self._skip(sheet, 1.0, 2.0, 3.0)
        if rng.random() < 0.3 and top + 2 * sheet.leading < sheet.y < sheet.bottom:
            x, middle = sheet.x + sheet.size, (top + sheet.y) // 2
            strokes = [
                (x + n * sheet.size * 0.45, middle + rng.uniform(-0.6, 0.6) * sheet.leading)
                for n in range(rng.randint(5, 12))
            ]
            ImageDraw.Draw(sheet.page).line(strokes, 220, max(1, sheet.size // 14), "curve")
        blocks += self._stacked(sheet, [self._name(), *([" ".join(self.words.run(3)[:3])] * (rng.random() < 0.3))])
        return blocks

    # -- columns -------------------------------------------------------------------------------------------------

    def sections(self, sheet: Sheet) -> list[Block]:
        """Sections of columns, each perhaps under a title over all of them, and often nothing below the last."""
        rng, blocks = self.rng, list[Block]()
        if rng.random() < 0.25:
            sheet.y += int((sheet.bottom - sheet.y) * rng.uniform(0.1, 0.55))
        for _ in range(rng.choice((1, 1, 1, 1, 2, 2, 3))):
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
        if kind < 0.3:  # the first full, the last short
            return [1.0] * (columns - 1) + [rng.uniform(0.08, 0.8)], True
        if kind < 0.55:  # all end in the upper half
            return [rng.uniform(0.1, 0.5) for _ in range(columns)], False
        if kind < 0.8:  # balanced
            return [rng.uniform(0.12, 0.95)] * columns, True
        if kind < 0.88:  # the last columns empty
            return [rng.uniform(0.2, 1.0), *[0.0] * (columns - 1)], False
        return [rng.uniform(0.1, 1.0) for _ in range(columns)], False

    def _columns(self, sheet: Sheet) -> list[Block]:
        """Columns of paragraphs, or of all kinds of elements. Text goes on from one column to the next."""
        rng = self.rng
        widths, gutter = self._widths(sheet)
        ends, going_on = self._ends(len(widths))
        makers, weights = (self.items, self._heading, self.rows, self._sender, self.table), (4, 3, 2, 1, 1)
        mixed = rng.choice((0.0, 0.0, 0.2, 0.5, 0.9))
        indent, gap = rng.choice(((0.0, 0.5), (0.0, 1.0), (0.0, 1.0), (1.5, 0.0), (0.0, 0.2)))
        longest = rng.choice((25, 60, 140))
        rest: list[Run] = []

        def fill(part: Sheet) -> list[Block]:
            nonlocal rest
            blocks: list[Block] = []
            while part.room > 0 and part.y + part.leading <= part.bottom:
                if not rest and rng.random() < mixed:
                    blocks += rng.choices(makers, weights)[0](part)
                else:
                    start = 0.0 if rest else indent * part.size
                    runs = rest or self._styled(part, self._text(rng.randint(3, longest)))
                    lines = break_runs(runs, part.measure, start, part.hyphens)
                    top, align = part.y, "justified" if part.justified else "left"
                    blocks += self._kept(
                        self._set(part, lines, "text", part.x, part.measure, part.leading, align=align)
                    )
                    left = lines[(part.y - top) // part.leading :]
                    rest = [run for line in left for run, _ in line] if going_on else []
                part.y += int(part.leading * gap)
            return blocks

        parts, x = list[tuple[float, float, float, Maker]](), sheet.x
        for width, end in zip(widths, ends, strict=True):
            if end > 0:
                bottom = sheet.y + max(end * (sheet.bottom - sheet.y), 2.0 * sheet.leading)
                parts.append((x, width, min(bottom, sheet.bottom), fill))
            x += width + gutter
        if len(widths) > 1 and rng.random() < 0.1:  # a rule between the columns
            at, draw = sheet.x + widths[0] + gutter // 2, ImageDraw.Draw(sheet.page)
            draw.line((at, sheet.y, at, sheet.y + ends[0] * (sheet.bottom - sheet.y)), 200, max(1, sheet.size // 16))
        return self._beside(sheet, parts)

    def _heading(self, sheet: Sheet) -> list[Block]:
        return self._title(sheet, self.rng.choice((1.0, 1.0, 1.2, 1.4)), "left")

    def _sender(self, sheet: Sheet) -> list[Block]:
        return self._stacked(sheet, self._address())

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
            blocks += self._headed(sheet, self._name(), rng.choice((1.2, 1.5, 2.0)), align)
            blocks += self._stacked(sheet, [" · ".join(self._address()[1:])], align, 0.8)
            if rng.random() < 0.4:
                self._rule(sheet)
            self._skip(sheet, 0.5, 1.5)
        blocks += self._addresses(sheet)
        self._skip(sheet, 1.0, 2.0, 3.0)
        date = rng.choice(("{}", "{}", "{town}, {}", "{town}, den {}")).format(
            self._date(), town=self._name().split()[0]
        )
        blocks += self._stacked(sheet, [date], rng.choice(("left", "right", "right")))
        self._skip(sheet, 1.0, 2.0)
        subject = f"{rng.choice(_SUBJECTS)} {' '.join(self._text(rng.randint(2, 7))[:8])}"
        if rng.random() < 0.75:
            blocks += (
                self._headed(sheet, subject, 1.0, "left") if rng.random() < 0.6 else self._stacked(sheet, [subject])
            )
            self._skip(sheet, 0.7, 1.0, 2.0)
        greeting = rng.choice(_GREETINGS)
        named = f"{greeting} {self._name()}" if " " not in greeting else greeting
        blocks += self._stacked(sheet, [named + rng.choice((",", ",", ":", "!", ""))])
        self._skip(sheet, 0.5, 1.0)
        blocks += self._paragraphs(sheet, rng.randint(1, 4))
        self._skip(sheet, 0.5, 1.0)
        blocks += self._signed(sheet)
        if rng.random() < 0.2:
            self._skip(sheet, 1.0, 2.0)
            blocks += self._stacked(sheet, [f"{rng.choice(('Encl.', 'Anlage:', 'Allegati:', 'cc:'))} {self._name()}"])
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
                sheet, [f"{self._date()}, {rng.randint(8, 20)}:{rng.randint(0, 59):02d}", self._name()]
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
            for _ in range(rng.randint(1, 6)):
                goods = " ".join(self.words.run(rng.randint(1, 4))[:4])
                blocks += self._row(sheet, f"{rng.randint(1, 99)} {goods}", self._amount(), 0.0, True)
            self._rule(sheet)
        self._skip(sheet, 0.3, 1.0)
        totals = [f"{rng.choice(_FIELDS)} {self._amount()}" for _ in range(rng.randint(1, 3))]
        blocks += self._beside(
            sheet, [(x, width, sheet.bottom, self.rows)] if rng.random() < 0.4 else []
        ) or self._stacked(sheet, totals, "right")
        self._skip(sheet, 1.0, 2.0)
        return blocks + (self._paragraphs(sheet, 1, 25) if rng.random() < 0.6 else [])

    def form(self, sheet: Sheet) -> list[Block]:
        """Labels with lines or boxes to write into, of which nothing is written, and values here and there."""
        rng, draw = self.rng, ImageDraw.Draw(sheet.page)
        blocks = self._title(sheet)
        tab, space = sheet.measure * rng.uniform(0.25, 0.5), sheet.leading * rng.uniform(1.2, 2.2)
        boxed, weight = rng.random() < 0.3, max(1, sheet.size // 18)
        for _ in range(rng.randint(3, 9)):
            if sheet.y + sheet.leading > sheet.bottom:
                break
            top, filled, label = sheet.y, rng.random() < 0.4, self._field() + rng.choice((":", ":", ""))
            blocks += self._row(sheet, label, self._value(), tab, False) if filled else self._stacked(sheet, [label])
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
        blocks += self._stacked(sheet, self._address()[1:], align)
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
