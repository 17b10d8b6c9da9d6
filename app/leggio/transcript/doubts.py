"""Doubtful words of a block: where they stand once it is laid out, and how they look.

A word is known by its place in the block's text, which a layout without tags, entities and markers no longer has: signs
are put around the words before the text becomes parts, and the writer takes them out where it comes upon them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from PySide6.QtGui import QColor, QPalette, QTextCharFormat
from uocr.document import Block
from uocr.export.content import Formula, Heading, List, Paragraph, Part, Picture, parts_of
from uocr.markup.grid import Table
from uocr.markup.inline import Line, Run

from leggio.look.colours import colours

DOUBT_PROPERTY = QTextCharFormat.Property.UserProperty + 1

_OPEN, _CLOSE, _DIGITS = "\ufde0", "\ufde1", "\ufde2\ufde3\ufde4\ufde5\ufde6\ufde7\ufde8\ufde9\ufdea\ufdeb"
"""Characters that Unicode keeps out of texts: no page has them, and no format replaces them. Qt uses others."""
SIGN = re.compile(f"{_OPEN}([{_DIGITS}]+)|{_CLOSE}([{_DIGITS}]+)")
_NUMERALS = str.maketrans(_DIGITS, "0123456789")
_SIGNS = str.maketrans("0123456789", _DIGITS)


class Places:
    """Where words stand: `found` has (start, end) of each that was laid out, by its number in the block."""

    def __init__(self) -> None:
        self.found: dict[int, tuple[int, int]] = {}
        self._begun: dict[int, int] = {}

    def meet(self, sign: re.Match[str], position: int) -> None:
        """The next character is written at `position`."""
        if sign.group(1):
            self._begun[int(sign.group(1).translate(_NUMERALS))] = position
            return
        number = int(sign.group(2).translate(_NUMERALS))
        start = self._begun.get(number, position)
        if start < position:
            self.found[number] = (start, position)


def doubtful_numbers(block: Block, below: float) -> list[int]:
    """Numbers of the words to mark, of those that stand in the text where they say."""
    return [
        number
        for number, word in enumerate(block.words)
        if word.confidence < below and word.text and block.text.startswith(word.text, word.start)
    ]


def signed_parts(block: Block, parts: Sequence[Part], below: float) -> list[Part]:
    """`parts`, the block's, with signs around its doubtful words.

    Words whose signs would make other parts are left without: a list's number, a formula on a line of its own.
    """
    numbers = doubtful_numbers(block, below)
    if not numbers or any(_OPEN <= character <= _DIGITS[-1] for character in block.text):
        return list(parts)
    bare = [_bare(part, block) for part in parts]
    waiting, fit = [numbers], []
    while waiting:  # halves of what does not fit, until the words that do not are found
        some = waiting.pop()
        if _fits(block, some, bare):
            fit += some
        elif len(some) > 1:
            waiting += [some[: len(some) // 2], some[len(some) // 2 :]]
    signed = _parts(block, fit)
    return signed if [_bare(part, block) for part in signed] == bare else list(parts)


def without_signs(text: str) -> str:
    return SIGN.sub("", text)


def doubt_format(palette: QPalette, confidence: float) -> QTextCharFormat:
    """How a doubtful word looks, with its confidence on hover."""
    tones = colours(palette)
    format_ = QTextCharFormat()
    format_.setBackground(tones.doubt_fill)
    format_.setUnderlineStyle(QTextCharFormat.UnderlineStyle.DotLine)
    format_.setUnderlineColor(QColor(tones.doubt))
    format_.setProperty(DOUBT_PROPERTY, float(confidence))
    return format_


def _fits(block: Block, numbers: list[int], bare: list[Part]) -> bool:
    return [_bare(part, block) for part in _parts(block, numbers)] == bare


def _parts(block: Block, numbers: list[int]) -> list[Part]:
    """The parts of the block with signs around the words `numbers`."""
    signs = []
    for number in numbers:
        word, digits = block.words[number], str(number).translate(_SIGNS)
        signs += [(word.start, f"{_OPEN}{digits}"), (word.start + len(word.text), f"{_CLOSE}{digits}")]
    signs.sort(key=lambda sign: sign[0])
    cuts = [0, *(offset for offset, _ in signs), len(block.text)]
    pieces = [block.text[start:end] for start, end in pairwise(cuts)]
    text = pieces[0] + "".join(sign + piece for (_, sign), piece in zip(signs, pieces[1:], strict=True))
    printed = tuple(
        offset + sum(len(sign) for place, sign in signs if place <= offset) for offset in block.printed_tags
    )
    return parts_of(replace(block, text=text, printed_tags=printed))[0]


def _bare(part: Part, block: Block) -> Part:
    """`part` without signs, for comparing."""
    match part:
        case Heading(line=line):
            return replace(part, line=_bare_line(line))
        case Paragraph(lines=lines):
            return replace(part, lines=tuple(map(_bare_line, lines)))
        case List(items=items):
            return List(tuple(replace(item, line=_bare_line(item.line)) for item in items))
        case Formula(tex=tex):
            return Formula(without_signs(tex))
        case Picture(box=box):
            return Picture(box, block)
        case Table(rows=rows, outside=outside):
            cells = [[replace(cell, lines=list(map(_bare_line, cell.lines))) for cell in row] for row in rows]
            return replace(part, rows=cells, outside=without_signs(outside))


def _bare_line(line: Line) -> Line:
    """`line` without signs and without runs in which nothing else was."""
    return tuple(Run(run.kind, text) for run in line if (text := without_signs(run.text)))
