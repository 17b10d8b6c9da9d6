"""Ink beside a block's box that its text tells of: a model may end a box before the last word of its lines.

A block's text has room for what its lines go on with, if ink and text suit each other: the width of a line's ink is
proportional to its height and its number of characters, much alike in all the blocks of a page. Where the block's own
ink fills its text already, what stands beside the box was not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uocr.document import Block

Mask = NDArray[np.bool_]
Region = tuple[int, int, int, int]
"""Left, top, right, bottom in pixels."""

_TAGS = re.compile(r"<[^<>]*>")
_LEAST_TEXT = 8
"""Characters of a block that helps to tell the width of one."""
_LEAST_BLOCKS = 3
_WIDTH = 0.45
"""Heights of a line: the width of a character where too few blocks tell it."""
_USUAL = 70
"""Percent: of the blocks' widths of a character that one is the page's. The lower ones are those of short boxes."""
_WIDTHS = (0.3, 0.95)
"""Heights of a line: where characters are narrower or wider, lines have run into one another or into something else."""
_GAP = 1
"""Heights of a line: what is further from the ink before it does not go on with its line."""
_WORD = 6
"""Heights of a line: the width of a long word."""
_SLACK, _TIGHT = 1.25, 1.15
"""How much more ink than its text asks for a block may have with a word, and with more, beside its box."""
_LOWEST = 4
"""Pixels; lower lines cannot be measured."""
_HIGHER = 2
"""Times the common height of lines."""


@dataclass(slots=True)
class _Measured:
    """A block's lines in its box: rows (top, bottom) of the page, their height, the width of their ink; pixels."""

    box: Region
    lines: list[tuple[int, int]]
    height: float
    width: float
    characters: int

    @property
    def character(self) -> float:
        """The width of a character, space included, in heights of its line."""
        return self.width / (self.characters * self.height)


def told_of(ink: Mask, blocks: Sequence[Block]) -> Mask:
    """Pixels, [height, width], beside the boxes of text where its lines go on and its length suits that."""
    height, width = ink.shape
    taken = np.zeros_like(ink)
    measured = []
    for block in blocks:
        for box in block.boxes:
            left, top, right, bottom = box.pixels(width, height)
            taken[top:bottom, left:right] = True
        characters = len(_TAGS.sub("", block.text).strip())
        if len(block.boxes) == 1 and characters and block.label != "table":
            found = _measured(ink, block.boxes[0].pixels(width, height), characters)
            if found is not None:
                measured.append(found)
    told = np.zeros_like(ink)
    usual = _usual(measured)
    common = float(np.median([found.height for found in measured])) if measured else 0.0
    few = len(measured) < _LEAST_BLOCKS
    for found in measured if usual else ():
        # Lines that slant run into one another: one that is high and has too many characters is several.
        if found.character >= _WIDTHS[0] or (found.height < _HIGHER * common and not few):
            _go_on(ink, taken, found, usual, told)
    return told


def _measured(ink: Mask, box: Region, characters: int) -> _Measured | None:
    left, top, right, bottom = box
    inside = ink[top:bottom, left:right]
    lines = [(top + first, top + last) for first, last in _runs(_columns(inside.T), 1) if last - first >= _LOWEST]
    if not lines:
        return None
    height = float(np.percentile([last - first for first, last in lines], 75))  # some lack a letter that hangs or rises
    wide = sum(_width(_columns(ink[first:last, left:right]), height) for first, last in lines)
    return _Measured(box, lines, height, wide, characters)


def _usual(measured: Sequence[_Measured]) -> float:
    """The width of a character in heights of its line, as the page's blocks have it; 0 where that cannot be."""
    told = [found.character for found in measured if found.characters >= _LEAST_TEXT]
    if len(told) < _LEAST_BLOCKS:
        return _WIDTH
    usual = float(np.percentile(told, _USUAL))
    return usual if _WIDTHS[0] <= usual <= _WIDTHS[1] else 0.0


def _go_on(ink: Mask, taken: Mask, found: _Measured, usual: float, told: Mask) -> None:
    """Mark in `told` how far the lines of a block go on beside its box, if its text has room for that."""
    left, _, right, _ = found.box
    gap = max(round(_GAP * found.height), 1)
    beside, longest = [], 0
    for top, bottom in found.lines:
        columns = _columns(ink[top:bottom]) & ~_columns(taken[top:bottom])
        after, before = _reach(columns[right:], gap), _reach(columns[:left][::-1], gap)
        beside += [(top, bottom, right, right + after), (top, bottom, left - before, left)]
        longest = max(longest, after + before)
    more = sum(end - start for _, _, start, end in beside)
    room = found.characters * usual * found.height * (_SLACK if longest <= _WORD * found.height else _TIGHT)
    if not more or found.width + more > room:
        return
    around = round(found.height / 3)
    for top, bottom, start, end in beside:
        told[max(top - around, 0):bottom + around, max(start - 1, 0):end + 1] |= start < end


def _columns(ink: Mask) -> Mask:
    """Which columns have ink, [width]."""
    return np.asarray(ink.any(axis=0))


def _reach(columns: Mask, gap: int) -> int:
    """How far ink goes from the start of `columns`, over gaps of at most `gap` columns."""
    places = np.flatnonzero(columns)
    if not len(places) or places[0] > gap:
        return 0
    wide = np.flatnonzero(np.diff(places) > gap + 1)
    return int(places[wide[0]] if len(wide) else places[-1]) + 1


def _width(columns: Mask, gap: float) -> int:
    """Columns with ink, gaps of at most `gap` columns between them included."""
    return sum(last - first for first, last in _runs(columns, round(gap)))


def _runs(marked: Mask, gap: int) -> list[tuple[int, int]]:
    """Runs of marked places as (first, behind the last), those that at most `gap` places part as one."""
    places = np.flatnonzero(marked)
    if not len(places):
        return []
    cuts = np.flatnonzero(np.diff(places) > gap + 1)
    firsts, lasts = places[np.r_[0, cuts + 1]], places[np.r_[cuts, len(places) - 1]]
    return [(int(first), int(last) + 1) for first, last in zip(firsts, lasts, strict=True)]
