"""Pictures of whole screens: programs in windows with bars, panels and lists, editors, terminals, web pages, dialogues
on an empty desktop; light ones, dark ones, and dark parts in light ones.

Read window by window, and in a window from its title bar down: of panels side by side the left one first, as a whole,
then what stands below all of them.
"""

from __future__ import annotations

import random
from dataclasses import replace

from PIL import Image, ImageDraw

from training.pages.ink import FontShelf
from training.pages.panes import Box, PanesSetter
from training.pages.sheet import Sheet
from training.pages.stationery import Maker
from training.targets import Block
from training.words import Words

_DARK = 0.25
"""Share of screens that are dark as a whole."""

_TURNED = [int(225 - 0.88 * ink) for ink in range(256)]
"""Ink of a dark part by the ink of the same part in light colours: print is what carries none."""

_CHARACTERS = 0.65
"""Of the characters that a sheet of paper may hold: names and code need more tokens than running text does."""


class ScreensSetter(PanesSetter):
    """Draws screens; blocks come in reading order."""

    def __init__(self, rng: random.Random, shelf: FontShelf, words: Words, quick_share: float) -> None:
        super().__init__(rng, shelf, words, quick_share)
        self.bodies: tuple[tuple[Maker, float], ...] = (
            (self._editor, 0.26),
            (self._browser, 0.3),
            (self._mail, 0.12),
            (self._program, 0.22),
            (self._terminal_window, 0.1),
        )

    def screen(self, page: Image.Image, size: int, most: int) -> list[Block]:
        """A screen, filled by one window, shared by two or three, or empty but for a dialogue."""
        rng, (width, height) = self.rng, page.size
        sheet = replace(
            self.sheet(page, size, int(most * _CHARACTERS), 1),
            face=self._upright(self.shelf.by_family[rng.choice(self.sans)]),
            leading=int(size * rng.uniform(1.25, 1.75)),
            justified=False,
            hyphens=False,
        )
        bar, below, top, bottom = list[Block](), rng.random() < 0.6, 0, height
        if rng.random() < 0.5:  # a bar of the desktop, with what is open and the time
            tall = int(sheet.leading * rng.uniform(1.2, 1.8))
            top, bottom = (0, height - tall) if below else (tall, height)
            area = (0, bottom, width, height) if below else (0, 0, width, top)
            self._fill(sheet, area, rng.randint(15, 60))
            words = [self._label(1) for _ in range(rng.randint(0, 4))]
            clock = f"{rng.randint(0, 23)}:{rng.randint(0, 59):02d}"
            bar = self._bar(sheet, area, words, [rng.choice((clock, f"{self.say.date()} {clock}"))], size * 2.0)
        maker = rng.choices((self._window, self._tiled, self._dialogue), (0.64, 0.2, 0.16))[0]
        inside = maker(sheet, (0, top, width, bottom))
        blocks = [*inside, *bar] if below else [*bar, *inside]
        if rng.random() < _DARK:
            page.paste(page.point(_TURNED))
        return blocks

    # -- windows -------------------------------------------------------------------------------------------------

    def _pane(self, sheet: Sheet, area: Box, maker: Maker, pad: float = 0.7, dark: bool = False) -> list[Block]:
        """Let a maker fill an area, with a margin of `pad` body sizes; `dark`: light on dark."""
        margin = int(pad * sheet.size)
        left, top, right, bottom = area[0] + margin, area[1] + margin, area[2] - margin, area[3] - margin // 2
        if right - left < 6 * sheet.size or bottom - top < 2 * sheet.leading:
            return []
        part = replace(sheet, left=left, x=left, width=right - left, top=top, y=top, bottom=bottom, columns=1, column=0)
        blocks = maker(part)
        sheet.room = part.room
        if dark:
            sheet.page.paste(sheet.page.crop(area).point(_TURNED), area[:2])
        return blocks

    def _tiled(self, sheet: Sheet, area: Box) -> list[Block]:
        """Two or three windows on a desktop, beside each other and apart."""
        rng, (left, top, right, bottom) = self.rng, area
        self._fill(sheet, area, rng.randint(20, 110))
        count, blocks = rng.choice((2, 2, 3)), list[Block]()
        least, gap = 18 * sheet.size, int(sheet.size * rng.uniform(0.5, 3))
        while count > 1 and (right - left) < count * (least + gap):
            count -= 1
        cuts = [left + (right - left) * n / count for n in range(count + 1)]
        for n in range(1, count):
            cuts[n] += rng.uniform(-0.15, 0.15) * (right - left) / count
        for n in range(count):
            y0 = top + int((bottom - top) * rng.choice((0.02, rng.uniform(0.02, 0.3))))
            y1 = bottom - int((bottom - top) * rng.choice((0.02, rng.uniform(0.02, 0.25))))
            blocks += self._window(sheet, (int(cuts[n]) + gap // 2, y0, int(cuts[n + 1]) - gap // 2, y1))
        return blocks

    def _title_bar(self, sheet: Sheet, area: Box) -> tuple[list[Block], Box]:
        """A window's frame, ground and title bar with its signs; answers the blocks and what is left of the window."""
        rng, (left, top, right, bottom) = self.rng, area
        tall = int(sheet.leading * rng.uniform(1.2, 1.7))
        self._fill(sheet, area, 0, 160)
        if rng.random() < 0.15:
            return [], area
        self._fill(sheet, (left, top, right, top + tall), rng.randint(15, 70))
        side, signs = int(sheet.size * 0.6), rng.choice((1, 3, 3))
        at_left = rng.random() < 0.3
        for n in range(signs):
            x = left + side + int(1.8 * n * side) if at_left else right - 2 * side - int(1.8 * n * side)
            self._mark_of_window(sheet, x, top + (tall - side) // 2, side, at_left)
        room = int(sheet.size * 0.4) + int(1.8 * signs * side)
        inner = (left + room, top, right, top + tall) if at_left else (left, top, right - room, top + tall)
        title = rng.choice((self._label(rng.randint(1, 4)), f"{self._name()} – {self._label(1)}"))
        blocks = self._bar(sheet, inner, [title], [], sheet.size)
        for block in blocks:
            block.label = "title"
        return blocks, (left, top + tall, right, bottom)

    def _mark_of_window(self, sheet: Sheet, x: int, y: int, side: int, round_: bool) -> None:
        draw, weight = ImageDraw.Draw(sheet.page), max(1, side // 8)
        form = self.rng.randrange(3)
        if round_:
            draw.ellipse((x, y, x + side, y + side), self.rng.randint(90, 200))
        elif form == 0:
            draw.line((x, y, x + side, y + side), 200, weight)
            draw.line((x, y + side, x + side, y), 200, weight)
        elif form == 1:
            draw.rectangle((x, y, x + side, y + side), outline=200, width=weight)
        else:
            draw.line((x, y + side, x + side, y + side), 200, weight)

    def _window(self, sheet: Sheet, area: Box) -> list[Block]:
        """A window: title, perhaps menus and tools, what it holds, perhaps a status bar."""
        rng = self.rng
        blocks, (left, top, right, bottom) = self._title_bar(sheet, area)
        makers, weights = zip(*self.bodies, strict=True)
        body = rng.choices(makers, weights)[0]
        for maker, share in ((self._menu, 0.6), (self._tools, 0.4)):
            if body not in (self._browser, self._terminal_window) and rng.random() < share:
                tall = int(sheet.leading * rng.uniform(1.1, 1.6))
                self._fill(sheet, (left, top, right, top + tall), rng.choice((0, 12, 30)))
                blocks += maker(sheet, (left, top, right, top + tall))
                top += tall
        foot = list[Block]()
        if rng.random() < 0.4:
            tall = int(sheet.leading * rng.uniform(1.0, 1.3))
            bar = (left, bottom - tall, right, bottom)
            self._fill(sheet, bar, rng.randint(10, 60))
            state = (f"Ln {rng.randint(1, 999)}, Col {rng.randint(1, 99)}", "UTF-8", f"{rng.randint(10, 200)} %", "LF")
            words = [self._label(rng.randint(1, 3)) for _ in range(rng.randint(0, 2))]
            foot = self._bar(sheet, bar, words, rng.sample(state, rng.randint(1, 3)), sheet.size * rng.uniform(1, 2))
            bottom -= tall
        return [*blocks, *self._within(sheet, (left, top, right, bottom), body), *foot]

    def _within(self, sheet: Sheet, area: Box, body: Maker) -> list[Block]:
        """The inside of a window: the maker divides it up itself."""
        left, top, right, bottom = area
        part = replace(sheet, left=left, x=left, width=right - left, top=top, y=top, bottom=bottom, columns=1)
        blocks = body(part)
        sheet.room = part.room
        return blocks

    def _divided(self, sheet: Sheet, shares: list[float]) -> list[Box]:
        """Areas side by side over the whole sheet, with lines between them; fewer where they would be too narrow."""
        rng, least = self.rng, 11 * sheet.size
        while len(shares) > 1 and min(shares) / sum(shares) * sheet.width < least:
            shares = shares[1:] if shares[0] < shares[-1] else shares[:-1]
        x, areas, total, tone = sheet.left, list[Box](), sum(shares), rng.choice((0, 90, 160))
        for share in shares:
            end = x + int(sheet.width * share / total)
            areas.append((x, sheet.y, end, sheet.bottom))
            if x > sheet.left and tone:
                self._fill(sheet, (x, sheet.y, x + max(1, sheet.size // 16), sheet.bottom), tone)
            x = end
        return areas

    # -- programs ------------------------------------------------------------------------------------------------

    def _editor(self, sheet: Sheet) -> list[Block]:
        """Files at the left, code under the tabs of open files, perhaps a terminal below and an outline at the
        right."""
        rng = self.rng
        shares = rng.choice(([1.0], [0.2, 0.8], [0.16, 0.84], [0.18, 0.62, 0.2], [0.5, 0.5]))
        areas, blocks = self._divided(sheet, shares), list[Block]()
        dark = rng.random() < 0.25
        for number, (left, top, right, bottom) in enumerate(areas):
            if len(areas) > 1 and (right - left) < 0.3 * sheet.width:
                ground = rng.choice((0, 15, 35))
                self._fill(sheet, (left + 2, top, right, bottom), ground)
                blocks += self._pane(sheet, (left, top, right, bottom), self.entries)
                continue
            if rng.random() < 0.6:
                tall = int(sheet.leading * 1.3)
                self._fill(sheet, (left, top, right, top + tall), rng.randint(10, 40))
                names = [self.words.technical.word() + rng.choice((".c", ".py", ".h", ".md")) for _ in range(4)]
                tabs = names[: rng.randint(1, 4)]
                blocks += self._bar(sheet, (left, top, right, top + tall), tabs, [], 2.0 * sheet.size)
                top += tall
            cut = int(top + (bottom - top) * rng.uniform(0.55, 0.8))
            below = rng.random() < 0.25 and number == len(areas) - 1
            blocks += self._pane(sheet, (left, top, right, cut if below else bottom), self.source, 0.5, dark)
            if below:
                self._fill(sheet, (left, cut, right, cut + 2), 160)
                blocks += self._pane(sheet, (left, cut + 2, right, bottom), self.terminal, 0.5, rng.random() < 0.5)
        return blocks

    def _terminal_window(self, sheet: Sheet) -> list[Block]:
        area = sheet.left, sheet.y, sheet.left + sheet.width, sheet.bottom
        return self._pane(sheet, area, self.terminal, 0.5, self.rng.random() < 0.6)

    def _mail(self, sheet: Sheet) -> list[Block]:
        """Folders, a list of messages, one of them opened."""
        shares = self.rng.choice(([0.16, 0.3, 0.54], [0.2, 0.8], [0.35, 0.65], [0.18, 0.35, 0.47]))
        areas = self._divided(sheet, shares)
        makers = {1: [self.message], 2: [self.messages, self.message]}.get(
            len(areas), [self.entries, self.messages, self.message]
        )
        return [block for area, maker in zip(areas, makers, strict=True) for block in self._pane(sheet, area, maker)]

    def _program(self, sheet: Sheet) -> list[Block]:
        """A list at the left, then settings, a table, a document, or figures in frames."""
        rng = self.rng
        areas = self._divided(sheet, rng.choice(([1.0], [0.22, 0.78], [0.25, 0.75], [0.2, 0.55, 0.25], [0.7, 0.3])))
        makers = (self.settings, self.table, self.article, self.cards, self.statement, self.rows)
        blocks = list[Block]()
        for left, top, right, bottom in areas:
            if len(areas) > 1 and right - left < 0.35 * sheet.width:
                self._fill(sheet, (left + 2, top, right, bottom), rng.choice((0, 15, 35)))
                maker = rng.choice((self.entries, self.entries, self.rows, self.ticks))
            else:
                maker = rng.choices(makers, (3, 2, 2, 2, 1, 1))[0]
            blocks += self._pane(sheet, (left, top, right, bottom), maker, rng.uniform(0.6, 1.6))
        return blocks

    def _browser(self, sheet: Sheet) -> list[Block]:
        """Tabs and an address, then a web page: its name and navigation, columns, a foot."""
        rng, blocks = self.rng, list[Block]()
        left, right, tall = sheet.left, sheet.left + sheet.width, int(sheet.leading * 1.35)
        if rng.random() < 0.7:
            self._fill(sheet, (left, sheet.y, right, sheet.y + tall), rng.randint(15, 50))
            tabs = [self._label(rng.randint(1, 3)) for _ in range(rng.randint(1, 5))]
            blocks += self._bar(sheet, (left, sheet.y, right, sheet.y + tall), tabs, [], 2.5 * sheet.size)
            sheet.y += tall
        if rng.random() < 0.8:
            inner = left + 4 * tall, sheet.y, right - 2 * tall, sheet.y + tall
            self._fill(sheet, (inner[0], sheet.y + 3, inner[2], sheet.y + tall - 3), rng.choice((None, 15)), 130)
            blocks += self._bar(sheet, inner, [self.words.technical.address()], [], sheet.size)
            sheet.y += tall
        inset = int(sheet.width * rng.choice((0.0, 0.02, 0.1, 0.2)))
        inset = 0 if sheet.width - 2 * inset < 24 * sheet.size else inset
        if rng.random() < 0.7:
            head = left, sheet.y, right, sheet.y + int(1.5 * tall)
            self._fill(sheet, head, rng.choice((0, 15, 40)))
            names = [self._label(1) for _ in range(rng.randint(2, 7))]
            inner = left + inset, head[1], right - inset, head[3]
            blocks += self._bar(sheet, inner, [self._label(2)], names, rng.uniform(1, 2.4) * sheet.size)
            sheet.y = head[3]
        foot = list[Block]()
        if rng.random() < 0.3:
            area = left + inset, sheet.bottom - tall, right - inset, sheet.bottom
            words = [self._label(1) for _ in range(rng.randint(2, 5))]
            foot = self._bar(sheet, area, words, [f"© {rng.randint(1998, 2034)} {self.say.name()}"], 1.5 * sheet.size)
            sheet.bottom -= tall + sheet.size // 2
        shares = rng.choice(([1.0], [0.2, 0.8], [0.75, 0.25], [0.2, 0.55, 0.25], [0.5, 0.5]))
        for x0, y0, x1, y1 in self._divided(replace(sheet, left=left + inset, width=sheet.width - 2 * inset), shares):
            slim = x1 - x0 < 0.35 * sheet.width and len(shares) > 1
            maker = rng.choices((self.entries, self.article, self.cards), (6, 1, 1) if slim else (0, 5, 1))[0]
            blocks += self._pane(sheet, (x0, y0, x1, y1), maker, rng.uniform(0.6, 1.4))
        return blocks + foot

    def _dialogue(self, sheet: Sheet, area: Box) -> list[Block]:
        """A small window on a desktop: a message or a few settings, and buttons."""
        rng, (left, top, right, bottom) = self.rng, area
        self._fill(sheet, area, rng.choice((0, rng.randint(20, 120))))
        width = int((right - left) * rng.uniform(0.35, 0.75))
        width = min(right - left, max(width, 20 * sheet.size))
        tall = int((bottom - top) * rng.uniform(0.4, 0.85))
        x, y = left + int((right - left - width) * rng.random()), top + int((bottom - top - tall) * rng.random())
        blocks, inner = self._title_bar(sheet, (x, y, x + width, y + tall))

        def inside(part: Sheet) -> list[Block]:
            foot = replace(part, y=part.bottom - int(1.5 * part.leading))
            part.bottom = foot.y - part.leading // 4
            makers = (lambda pane: self._paragraphs(pane, rng.randint(1, 3), 40), self.settings, self.ticks, self.rows)
            made = rng.choices(makers, (5, 2, 2, 1))[0](part)
            foot.room = max(part.room, 1)
            return made + self._buttons(foot)

        return blocks + self._pane(sheet, inner, inside, rng.uniform(0.8, 1.6))
