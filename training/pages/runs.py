"""Lines of words in several faces: breaking with hyphens, placing, drawing."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from PIL import Image

from training.pages.ink import EMPTY, Box, SizedFont, draw_pieces, joined
from training.targets import Point


@dataclass
class Run:
    """A word and the font it is set in."""

    text: str
    font: SizedFont


Placed = list[tuple[Run, float]]
"""Words of a line and where they begin, in pixels from the left edge of the column."""


def _fitting(run: Run, room: float, hyphen: str) -> int:
    """How many characters of a word fit with a hyphen after them."""
    width, count = run.font.length(hyphen), 0
    for char in run.text:
        width += run.font.advance(char)
        if width > room:
            break
        count += 1
    return count


def break_runs(words: list[Run], width: float, indent: float, hyphens: bool) -> list[Placed]:
    """Lines no wider than `width`, the first indented. Words are parted with hyphens if asked; a word wider than the
    column is parted without."""
    lines: list[Placed] = []
    line: Placed = []
    pen = indent
    for run in words:
        rest = run
        while rest.text:
            gap = rest.font.space if line else 0.0
            room = width - pen - gap
            length = rest.font.length(rest.text)
            if length <= room:
                line.append((rest, pen + gap))
                pen += gap + length
                break
            if hyphens and len(rest.text) >= 6 and rest.text.isalpha():
                count = min(_fitting(rest, room, "-"), len(rest.text) - 3)
                if count >= 3:
                    line.append((Run(rest.text[:count] + "-", rest.font), pen + gap))
                    rest = Run(rest.text[count:], rest.font)
            elif not line:
                count = _fitting(rest, room, "")
                if count < 1:
                    break
                line.append((Run(rest.text[:count], rest.font), pen))
                rest = Run(rest.text[count:], rest.font)
            lines.append(line)
            line, pen = [], 0.0
    return [part for part in [*lines, line] if part]


def spread(line: Placed, width: float) -> Placed:
    """The line widened to fill the column, unless its gaps would become too large."""
    last, at = line[-1]
    free = width - at - last.font.length(last.text)
    if len(line) < 3 or not 0 < free < 0.3 * width:
        return line
    return [(run, x + free * n / (len(line) - 1)) for n, (run, x) in enumerate(line)]


def shifted(line: Placed, width: float, align: str) -> Placed:
    """The line moved as a whole: "left" stays, "centre" and "right" take up the free room."""
    last, at = line[-1]
    free = max(0.0, width - at - last.font.length(last.text)) * {"centre": 0.5, "right": 1.0}.get(align, 0.0)
    return [(run, x + free) for run, x in line]


def draw_line(
    page: Image.Image, line: Placed, x: float, baseline: int, quick: bool, apart: bool
) -> tuple[str, list[Point], Box]:
    """Draw a line; answers its text, the place of each character and its ink box. `apart`: word by word, where gaps
    are not the font's own."""
    text, points, box = "", list[Point](), EMPTY
    groups = [[pair] for pair in line] if apart else [list(g) for _, g in groupby(line, key=lambda p: id(p[0].font))]
    for group in groups:
        font, at = group[0][0].font, x + group[0][1]
        drawn, where, ink = draw_pieces(page, [(" ".join(run.text for run, _ in group), at)], font, baseline, quick)
        if text:
            text += " "
            points.append(where[0])
        text += drawn
        points += where
        box = joined(box, ink)
    return text, points, box
