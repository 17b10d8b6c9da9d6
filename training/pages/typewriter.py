"""Listings: lines of code in some notation, of commands, of tokens, of what programs report; set in typewriter."""

from __future__ import annotations

import random
import re

from PIL import ImageDraw

from training.fonts import Face
from training.listings import Listings
from training.pages.ink import FontShelf, SizedFont
from training.pages.runs import Placed, Run, break_runs
from training.pages.sheet import Sheet, SheetSetter
from training.targets import Block
from training.words import Words

_MONO = ("mono", "code", "cour", "hack", "incons", "typewriter", "cmuntt", "anonymous", "fantasque")
_WRITTEN = 0.5
"""Share of training's listings that are in some notation; the others are lines of tokens."""

_ALIKE_LINES = 0.25
"""Share of these in training whose lines begin with the same few words."""


class TypewriterSetter(SheetSetter):
    """Sets listings from the pen down."""

    def __init__(self, rng: random.Random, shelf: FontShelf, words: Words) -> None:
        super().__init__(rng, shelf, words)
        mono = [f for faces in shelf.by_family.values() for f in faces if any(k in f.file.lower() for k in _MONO)]
        self.mono = mono or [f for faces in shelf.by_family.values() for f in faces]
        self.listings = Listings(words.technical, words.sources)

    def listing(self, sheet: Sheet) -> list[Block]:
        """Lines of code or commands in typewriter, sometimes on grey or in a frame. Its line ends are kept."""
        rng = self.rng
        face = rng.choice(self.mono)
        font = self._font(sheet, face, rng.uniform(0.8, 1.0))
        leading, pad = int(font.size * rng.uniform(1.1, 1.35)), int(font.size * rng.uniform(0.3, 0.9))
        count, width = rng.choice((rng.randint(1, 6), rng.randint(3, 12), rng.randint(8, 40))), sheet.measure - 2 * pad
        written = self.words.trained and rng.random() < _WRITTEN
        lines = self._code(face, font, count, width) if written else self._tokens(face, font, count, width)
        lines = self.words.repeats.lines(lines)
        height = min(len(lines) * leading, max(0, (sheet.bottom - sheet.y - 2 * pad) // leading * leading))
        if not height:
            sheet.y = sheet.bottom
            return []
        look = rng.random()
        if look < 0.5:
            draw = ImageDraw.Draw(sheet.page)
            area = (sheet.x, sheet.y, sheet.x + sheet.measure, sheet.y + height + 2 * pad)
            draw.rectangle(
                area,
                fill=rng.randint(10, 45) if look < 0.35 else None,
                outline=rng.choice((None, 120, 255)) if look < 0.35 else 255,
                width=max(1, sheet.size // 20),
            )
        sheet.y += pad
        # Lines of code have places for their words: justified to no width, every word stands at its own.
        align, width = ("justified", 0) if written else ("left", sheet.measure)
        block = self._set(sheet, lines, "text", sheet.x + pad, width, leading, align=align, joint="\n")
        sheet.y += pad
        return self._kept(block)

    def _tokens(self, face: Face, font: SizedFont, count: int, width: int) -> list[Placed]:
        """Lines of tokens or of running words, set in by turns."""
        rng, technical = self.rng, self.words.technical
        if self.words.trained and rng.random() < _ALIKE_LINES:
            return self._alike(face, font, count, width)
        lines: list[Placed] = []
        depth, share = 0, 0.01 if self.words.trained else 0.04
        for _ in range(count):
            words = (
                " ".join(technical.token() for _ in range(rng.randint(1, 4))).split()
                if rng.random() < 0.8
                else [technical.marks() if rng.random() < share else word for word in self.words.run(rng.randint(2, 9))]
            )
            depth = max(0, min(3, depth + rng.choice((-1, 0, 0, 1))))
            indent = depth * 2 * font.advance("n")
            lines += break_runs([Run(w, font) for w in self._shown(words, face)], width, indent, False)[:1]
        return lines

    def _alike(self, face: Face, font: SizedFont, count: int, width: int) -> list[Placed]:
        """Lines as programs report what they do: a few beginnings that come by turns, then the same folder or name and
        something that differs by little."""
        rng, technical = self.rng, self.words.technical
        begins = [[technical.token() for _ in range(rng.randint(1, 3))] for _ in range(rng.choice((1, 2, 2, 3)))]
        begins = [" ".join(words).split()[:3] for words in begins]
        common, end = technical.path()[: rng.randint(6, 24)], technical.token()
        lines, number = list[Placed](), rng.randint(0, 99)
        for _ in range(count):
            kind = rng.random()
            if kind < 0.4:
                end = f"{common}{rng.choice(('', '-', '/', '.'))}{technical.word()}"
            elif kind < 0.6:
                number += rng.randint(0, 3)
                end = f"{common}{number}"
            elif kind < 0.75:
                end = technical.token()
            words = self._shown([*rng.choice(begins), *end.split()], face)
            lines += break_runs([Run(word, font) for word in words], width, 0.0, False)[:1]
        return lines

    def _code(self, face: Face, font: SizedFont, count: int, width: int) -> list[Placed]:
        """Lines of a listing in some notation. What is too long is cut, or goes on in a line of its own."""
        most = None if self.rng.random() < 0.3 else 1
        return [line for text in self.listings.lines(count) for line in self._typed(text, face, font, width)[:most]]

    def _typed(self, text: str, face: Face, font: SizedFont, width: int) -> list[Placed]:
        """Words in the places that the text's spaces give them, or further right where the face is no typewriter's;
        parted at the edge as a terminal does it."""
        step, pen, back = font.advance("n"), 0.0, 0.0
        lines, line = list[Placed](), list[tuple[Run, float]]()
        for word in re.finditer(r"\S+", text):
            rest = "".join(self._shown([word[0]], face))
            at = max(pen, word.start() * step - back)
            while rest:
                fitting = break_runs([Run(rest, font)], width - at, 0.0, False)
                if fitting:
                    run = fitting[0][0][0]
                    line.append((run, at))
                    rest, pen = rest[len(run.text) :], at + font.length(run.text) + font.space
                elif at == 0:
                    break
                if rest:
                    lines += [line] if line else []
                    line, at, back = [], 0.0, (word.end() - len(rest)) * step
        return [*lines, line] if line else lines
