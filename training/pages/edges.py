"""Running heads, feet and page numbers, outside the body of a page."""

from __future__ import annotations

from PIL import ImageDraw

from training.pages.runs import Run, break_runs, draw_line, shifted
from training.pages.sheet import Sheet, SheetSetter
from training.targets import Block

_NUMBERED, _CUT, _CAPITALS = 0.25, 0.25, 0.4
"""Share of running titles of training that are those of a numbered chapter and section, and of those the shares that
are too long for the line, which three dots show, and that are set in capitals."""

_CHAPTERS = ("Chapter", "Appendix", "Part", "Capitolo", "Kapitel", "Anhang", "Capítulo", "Chapitre", "Annexe")


class EdgeSetter(SheetSetter):
    """Sets what stands above and below the body, and takes its room off the sheet."""

    def _edge(self, sheet: Sheet, label: str, baseline: int, parts: list[tuple[str, str, str]]) -> list[Block]:
        """Pieces (label, text, align) on one line outside the body."""
        font, blocks = self._font(sheet, scale=self.rng.uniform(0.8, 1.0)), list[Block]()
        most = sheet.width * (0.6 if sum(name != "page_number" for name, _, _ in parts) < 2 else 0.47)
        for name, text, align in parts:
            words = self._shown(text.split(), sheet.face)
            lines = break_runs([Run(w, font) for w in words], most, 0.0, False)[:1]
            if lines:
                placed = shifted(lines[0], sheet.width, align)
                drawn, where, ink = draw_line(sheet.page, placed, sheet.left, baseline, sheet.quick, False)
                blocks.append(Block(name or label, drawn, where, ink))
        return blocks

    def _pieces(self, label: str) -> list[tuple[str, str, str]]:
        rng = self.rng
        number = ("page_number", rng.choice(("{}", "{}", "- {} -", "Page {}", "{} / 400")).format(rng.randint(1, 399)))
        if self.words.trained and rng.random() < _NUMBERED:
            return self._numbered(label, number)
        title = (label, " ".join(self.words.run(rng.randint(1, 6))[:6]))
        form = rng.random()
        if form < 0.3:
            return [(*number, rng.choice(("centre", "right", "left")))]
        if form < 0.5:
            return [(*title, rng.choice(("centre", "right", "left")))]
        return [(*title, "left"), (*number, "right")] if form < 0.85 else [(*number, "left"), (*title, "right")]

    def _numbered(self, label: str, number: tuple[str, str]) -> list[tuple[str, str, str]]:
        """Chapter and section, or one of them with the number of the page."""
        rng = self.rng
        chapter, section = rng.choice((str(rng.randint(1, 24)), rng.choice("ABCDEF"))), rng.randint(1, 19)
        capitals, names = rng.random() < _CAPITALS, list[str]()
        for name in (f"{rng.choice(_CHAPTERS)} {chapter}.", f"{chapter}.{section}."):
            words = [name, *self.words.run(rng.randint(1, 5))[:5]]
            text = " ".join([*words, "…"] if rng.random() < _CUT else words)
            names.append(text.upper() if capitals else text)
        pieces = [(label, names[0], "left"), (label, names[1], "right")]
        return pieces if rng.random() < 0.5 else [(*rng.choice(pieces)[:2], "left"), (*number, "right")]

    def _rule(self, sheet: Sheet, y: float) -> None:
        if self.rng.random() < 0.4:
            weight = max(1, sheet.size // 20)
            ImageDraw.Draw(sheet.page).line((sheet.left, y, sheet.left + sheet.width, y), 255, weight)

    def head(self, sheet: Sheet) -> list[Block]:
        blocks = self._edge(sheet, "header", sheet.top + sheet.size, self._pieces("header"))
        self._rule(sheet, sheet.top + sheet.size * 1.45)
        sheet.top = sheet.y = int(sheet.top + sheet.size * self.rng.uniform(1.9, 3.5))
        return blocks

    def foot(self, sheet: Sheet) -> list[Block]:
        blocks = self._edge(sheet, "footer", sheet.bottom, self._pieces("footer"))
        self._rule(sheet, sheet.bottom - sheet.size * 1.3)
        sheet.bottom = int(sheet.bottom - sheet.size * self.rng.uniform(1.7, 3.0))
        return blocks
