"""What windows on a screen hold: bars of menus and buttons, lists and trees, code with line numbers, terminals,
settings, messages, web pages.

A bar is one block, from its left end to its right one; entries of a list are a block each. Icons, arrows, switches and
boxes are no text: nothing is written for them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from PIL import ImageDraw

from training.fonts import Face
from training.pages.ink import FontShelf
from training.pages.runs import Placed, Run, break_runs
from training.pages.sheet import Sheet
from training.pages.stationery import Maker
from training.pages.ticked import TickedSetter
from training.sessions import Sessions
from training.targets import Block
from training.words import Words

Box = tuple[int, int, int, int]
"""Left, top, right, bottom in page pixels."""

_FULL = 50
"""More elements than fit: a pane that is filled down to its bottom, or until the page's characters are used up."""

_SANS = (
    *("sans", "arimo", "carlito", "roboto", "inter", "lato", "cantarell", "oxygen", "karla", "manrope", "andika"),
    *("verana", "gillius", "universalis", "switzera", "heros", "play", "sora", "fonts-go", "libris", "adventor"),
)
"""Parts of names of families that programs are set in."""

_SLANTED = ("italic", "oblique", "slant", "-it.", "-bi.", "-ri.", "-i.")
"""Parts of names of slanted faces."""

_MENUS = (
    *("File Edit View Search Tools Help", "File Edit Selection View Go Run Terminal Help", "File Edit Format Window"),
    *("Datei Bearbeiten Ansicht Einfügen Extras Hilfe", "File Modifica Visualizza Inserisci Strumenti Aiuto"),
    *("Fichier Édition Affichage Outils Aide", "Archivo Editar Ver Insertar Herramientas Ayuda", "Home Blog About"),
    *("Arquivo Editar Exibir Ajuda", "Bestand Bewerken Beeld Extra Help", "Arkiv Redigera Visa Hjälp"),
    *("Plik Edycja Widok Narzędzia Pomoc", "Soubor Úpravy Zobrazit Nástroje", "Fájl Szerkesztés Nézet Súgó"),
)
_BUTTONS = (
    *("OK", "Cancel", "Apply", "Help", "Close", "Save", "Open…", "Print", "Yes", "No", "Next >", "< Back", "Retry"),
    *("Abbrechen", "Übernehmen", "Schließen", "Speichern", "Annulla", "Chiudi", "Salva", "Annuler", "Fermer"),
    *("Aceptar", "Cancelar", "Guardar", "Annuleren", "Avbryt", "Anuluj", "Zrušit", "Mégse", "Browse…", "Search"),
)


class PanesSetter(TickedSetter):
    """Fills parts of a screen. Every method takes a sheet that is one pane, its pen at the top."""

    def __init__(self, rng: random.Random, shelf: FontShelf, words: Words, quick_share: float) -> None:
        super().__init__(rng, shelf, words, quick_share)
        sans = [name for name in shelf.families if any(part in name.lower() for part in _SANS)]
        self.sans = [name for name in sans if "mono" not in name.lower()] or shelf.families
        self.sessions = Sessions(self.listings, words.sources)

    def _upright(self, faces: list[Face]) -> Face:
        """One of some faces, upright if there is such a one: programs seldom set anything in italics."""
        return self.rng.choice([f for f in faces if not any(k in f.file.lower() for k in _SLANTED)] or faces)

    # -- bars ----------------------------------------------------------------------------------------------------

    def _fill(self, sheet: Sheet, area: Box, tone: int | None, outline: int | None = None) -> None:
        if area[2] > area[0] and area[3] > area[1]:
            ImageDraw.Draw(sheet.page).rectangle(area, tone, outline, max(1, sheet.size // 18))

    def _bar(
        self, sheet: Sheet, area: Box, left: list[str], right: list[str], gap: float, boxed: bool = False
    ) -> list[Block]:
        """Words on one line in the middle of an area, from its left end on and up to its right end. `gap`: pixels
        between them; `boxed`: each in a frame, as a button is."""
        font, line = self._font(sheet), list[tuple[Run, float]]()
        inset = int(0.6 * sheet.size)
        room, pen = area[2] - area[0] - 2 * inset, 0.0
        shown = [[" ".join(self._shown(words.split(), sheet.face)) for words in part] for part in (left, right)]
        tail = sum(font.length(words) + gap for words in shown[1])
        for words in filter(None, shown[0]):
            if pen + font.length(words) + gap + tail > room:
                break
            line.append((Run(words, font), pen))
            pen += font.length(words) + gap
        pen = max(pen, room - tail + gap)
        for words in filter(None, shown[1]):
            if pen + font.length(words) > room:
                break
            line.append((Run(words, font), pen))
            pen += font.length(words) + gap
        height = area[3] - area[1]
        bar = replace(sheet, y=area[1] + (height - sheet.leading) // 2, bottom=area[3] + sheet.leading)
        made = self._set(bar, [line], "text", area[0] + inset, room, sheet.leading, align="justified") if line else None
        sheet.room = bar.room
        if made is None:
            return []
        if boxed:
            for run, at in line:
                x, over = int(area[0] + inset + at), int(min(0.4 * gap, 0.6 * sheet.size))
                frame = (x - over, area[1] + height // 8, int(x + font.length(run.text)) + over, area[3] - height // 8)
                self._fill(sheet, frame, None, 150)
        return [made]

    def _menu(self, sheet: Sheet, area: Box) -> list[Block]:
        rng = self.rng
        words = rng.choice(_MENUS).split() if rng.random() < 0.6 else [self._label(1) for _ in range(rng.randint(3, 9))]
        return self._bar(sheet, area, words, [self._label(1)] * (rng.random() < 0.2), sheet.size * rng.uniform(0.8, 2))

    def _tools(self, sheet: Sheet, area: Box) -> list[Block]:
        """A tool bar: icons, which say nothing, and sometimes buttons with words."""
        rng, side = self.rng, int((area[3] - area[1]) * 0.55)
        x, top, draw = area[0] + sheet.size // 2, area[1] + (area[3] - area[1] - side) // 2, ImageDraw.Draw(sheet.page)
        for _ in range(rng.randint(2, 12)):
            if x + 2 * side > area[2]:
                break
            self._icon(draw, x, top, side)
            x += int(side * rng.choice((1.4, 1.4, 2.2)))
        if rng.random() < 0.5:
            return []
        words = [self._label(rng.choice((1, 1, 2))) for _ in range(rng.randint(1, 5))]
        return self._bar(sheet, (x, area[1], area[2], area[3]), words, [], sheet.size * 1.6, rng.random() < 0.5)

    def _icon(self, draw: ImageDraw.ImageDraw, x: int, y: int, side: int) -> None:
        """Some sign of a program, larger and plainer than letters are."""
        rng, tone = self.rng, self.rng.randint(70, 200)
        area, form = (x, y, x + side, y + side), rng.random()
        if form < 0.4:
            draw.rectangle(area, tone if rng.random() < 0.5 else None, 200, max(1, side // 10))
        elif form < 0.7:
            draw.ellipse(area, tone)
        else:
            draw.polygon((x, y + side, x + side // 2, y, x + side, y + side), tone)

    def _buttons(self, sheet: Sheet) -> list[Block]:
        """Buttons side by side at the right end, the left one or in the middle."""
        rng, height = self.rng, int(sheet.leading * 1.5)
        if sheet.y + height > sheet.bottom:
            return []
        words = rng.sample(_BUTTONS, rng.choice((1, 2, 2, 3)))
        area = sheet.x, sheet.y, sheet.x + sheet.measure, sheet.y + height
        left, right = (words, []) if rng.random() < 0.3 else ([], words)
        sheet.y += height + sheet.leading // 3
        return self._bar(sheet, area, left, right, sheet.size * rng.uniform(1.6, 3.0), True)

    # -- what panes hold -----------------------------------------------------------------------------------------

    def _label(self, count: int) -> str:
        return " ".join(self.rng.choices(self.words.dictionary, k=count)).capitalize()

    def _name(self) -> str:
        """What entries of lists are called."""
        rng, technical = self.rng, self.words.technical
        return rng.choice(
            (
                lambda: self._label(rng.randint(1, 3)),
                lambda: f"{technical.word()}.{rng.choice('c py h txt pdf odt png html toml md js csv'.split())}",
                technical.path,
                self.say.name,
                lambda: f"{self._label(1)} ({rng.randint(1, 400)})",
            )
        )()

    def entries(self, sheet: Sheet) -> list[Block]:
        """A list or a tree: short entries below each other, icons before them, one of them chosen."""
        rng, blocks, draw = self.rng, list[Block](), ImageDraw.Draw(sheet.page)
        if rng.random() < 0.4:
            blocks += self._headed(sheet, self._label(rng.randint(1, 2)), 1.0, "left")[:1]
        step, icons, same = sheet.size * rng.uniform(0.8, 1.6), rng.random() < 0.5, rng.random() < 0.5
        depth, maker, chosen = 0, self._name, rng.randint(-4, 12)
        kind = rng.choice((lambda: self._label(1), lambda: self._label(2), self.words.technical.word))
        for number in range(rng.choice((rng.randint(2, 8), rng.randint(5, 24)))):
            if sheet.y + sheet.leading > sheet.bottom or sheet.room <= 0:
                break
            side = int(sheet.size * 0.7) if icons else 0
            x = sheet.x + int(depth * step)
            if number == chosen:
                area = sheet.x, sheet.y, sheet.x + sheet.measure, sheet.y + sheet.leading - 1
                self._fill(sheet, area, rng.randint(25, 60))
            start = x + int(1.5 * side)
            entry = replace(sheet, x=start, width=sheet.x + sheet.measure - start, columns=1)
            made = self._stacked(entry, [kind() if same else maker()])
            sheet.y, sheet.room = max(entry.y, sheet.y + sheet.leading // 2), entry.room
            if made and icons:
                self._icon(draw, x, entry.y - sheet.leading + (sheet.leading - side) // 2, side)
            blocks += made
            depth = max(0, min(2, depth + rng.choice((-1, 0, 0, 0, 1)))) if not same else 0
        return blocks

    def _code_block(self, sheet: Sheet, lines: list[Placed], leading: int) -> list[Block]:
        """Lines whose words have places, as one block with its line ends."""
        if not lines:
            return []
        return self._kept(self._set(sheet, lines, "text", sheet.x, 0, leading, align="justified", joint="\n"))

    def source(self, sheet: Sheet) -> list[Block]:
        """An editor: a listing down to the bottom, mostly with line numbers. Where these are missing an empty line ends
        a block."""
        rng, face = self.rng, self._upright(self.mono)
        font, blocks = self._font(sheet, face, rng.uniform(0.85, 1.0)), list[Block]()
        leading = int(font.size * rng.uniform(1.2, 1.5))
        count = min(int((sheet.bottom - sheet.y) / leading * rng.choice((1.0, 1.0, 0.5))), 60)
        first, numbered = rng.choice((1, 1, rng.randint(2, 1900))), rng.random() < 0.7
        wide = font.length(str(first + count)) + font.size * rng.uniform(0.8, 1.8) if numbered else 0.0
        lines = list[Placed]()
        texts: list[str] = []
        while len(texts) < count:
            # Mostly one file that is longer than the pane.
            some = count if self.sessions.sources and rng.random() < 0.5 else rng.randint(4, 25)
            texts += [*self.sessions.source(some), ""]
        for number, text in enumerate(texts[:count], first):
            typed = self._typed(text, face, font, int(sheet.measure - wide))[:1] if text else []
            line = [(run, at + wide) for run, at in typed[0]] if typed else []
            if numbered:
                shown = Run(str(number), font)
                line.insert(0, (shown, wide - font.size * 0.7 - font.length(shown.text)))
            if line:
                lines.append(line)
            else:
                blocks += self._code_block(sheet, lines, leading)
                sheet.y, lines = sheet.y + leading, []
        return blocks + self._code_block(sheet, lines, leading)

    def terminal(self, sheet: Sheet) -> list[Block]:
        """Commands behind a prompt and what they print; an empty line ends a block."""
        rng, face = self.rng, self._upright(self.mono)
        font, blocks, word = self._font(sheet, face), list[Block](), self.words.technical.word
        leading, measure = int(font.size * rng.uniform(1.15, 1.4)), sheet.measure
        prompt = rng.choice((f"{word()}@{word()}:~$ ", "$ ", "# ", f"[{word()}@{word()} ~]$ ", f"{word()}> ", "% "))
        for _ in range(rng.choice((rng.randint(1, 5), _FULL))):
            if sheet.y + leading > sheet.bottom or sheet.room <= 0:
                break
            texts = [prompt + self.words.technical.command(), *self.sessions.printed(rng.randint(1, 14))]
            lines = [line for text in texts for line in self._typed(text, face, font, measure)[:2]]
            blocks += self._code_block(sheet, lines, leading)
            sheet.y += leading
        return blocks

    def settings(self, sheet: Sheet) -> list[Block]:
        """Headings, labels with values, boxes to tick, buttons."""
        rng, blocks = self.rng, list[Block]()
        for _ in range(rng.randint(1, 4)):
            blocks += self._heading(sheet) if rng.random() < 0.7 else []
            makers = (self.rows, self.ticks, self.options, self._blanks, lambda part: self._paragraphs(part, 1, 25))
            blocks += rng.choices(makers, (3, 3, 1, 2, 1))[0](sheet)
            self._skip(sheet, 0.3, 0.8, 1.2)
        return blocks + (self._buttons(sheet) if rng.random() < 0.6 else [])

    def messages(self, sheet: Sheet) -> list[Block]:
        """A list of messages: a name and a time at the right edge, what it is about below."""
        rng, blocks = self.rng, list[Block]()
        for _ in range(rng.choice((rng.randint(2, 9), _FULL))):
            if sheet.y + 2 * sheet.leading > sheet.bottom or sheet.room <= 0:
                break
            time = rng.choice((self.say.date(), f"{rng.randint(0, 23)}:{rng.randint(0, 59):02d}"))
            blocks += self._row(sheet, self.say.name(), time, 0.0, True)
            blocks += self._stacked(sheet, [" ".join(self._text(rng.randint(2, 9)))])
            self._rule(sheet) if rng.random() < 0.5 else self._skip(sheet, 0.4)
        return blocks

    def message(self, sheet: Sheet) -> list[Block]:
        """One message, opened: what it is about, from whom, its text."""
        blocks = self._title(sheet, self.rng.choice((1.2, 1.5)), "left") + self.rows(sheet)
        self._skip(sheet, 0.5, 1.0)
        return blocks + self._paragraphs(sheet, self.rng.randint(1, 4)) + self._signed(sheet)

    def article(self, sheet: Sheet) -> list[Block]:
        """The text of a web page or of a document: titles, paragraphs, lists, a listing, a table."""
        rng = self.rng
        blocks = self._title(sheet, rng.choice((1.4, 1.8, 2.2)), "left")
        makers: tuple[Callable[[Sheet], list[Block]], ...]
        makers = (lambda part: self._paragraphs(part, rng.randint(1, 3)), self.items, self._heading, self.listing)
        for _ in range(rng.choice((rng.randint(2, 8), _FULL))):
            if sheet.y + 3 * sheet.leading > sheet.bottom or sheet.room <= 0:
                break
            blocks += rng.choices((*makers, self.table), (6, 2, 2, 1, 1))[0](sheet)
            self._skip(sheet, 0.4, 0.8)
        return blocks

    def cards(self, sheet: Sheet) -> list[Block]:
        """Frames side by side, row by row: each with a title or a figure and a few words."""
        rng, blocks = self.rng, list[Block]()
        count = max(1, min(rng.randint(2, 4), int(sheet.measure // (12 * sheet.size))))
        width, pad, tall = sheet.measure / count, sheet.size * 0.8, sheet.leading * rng.randint(4, 7)
        figures = rng.random() < 0.4

        def card(part: Sheet) -> list[Block]:
            area = part.x - int(pad / 2), part.y, part.x + part.measure + int(pad / 2), part.y + tall
            self._fill(part, area, rng.choice((None, 20)), 120)
            part.y += sheet.leading // 3
            if figures:
                return self._stacked(part, [self.say.field()]) + self._headed(part, self.say.amount(), 1.5, "left")[:1]
            runs = self._styled(part, self._text(rng.randint(3, 30)))
            made = self._headed(part, self._label(rng.randint(1, 2)), 1.1, "left")[:1]
            lines = break_runs(runs, part.measure, 0.0, False)
            return made + self._kept(self._set(part, lines, "text", part.x, part.measure, part.leading))

        for _ in range(rng.randint(1, 3)):
            if sheet.y + tall > sheet.bottom:
                break
            bottom = sheet.y + tall - sheet.leading // 4
            parts: list[tuple[float, float, float, Maker]] = [
                (sheet.x + n * width + pad, width - 2 * pad, bottom, card) for n in range(count)
            ]
            top = sheet.y
            blocks += self._beside(sheet, parts)
            sheet.y = top + tall + sheet.leading // 2
        return blocks
