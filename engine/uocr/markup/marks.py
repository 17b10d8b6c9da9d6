"""Where the marks of the grammar stand in the output.

A vocabulary has most marks as tokens of their own. Where it is known, such a mark is one only if its token was
written: the same letters in ordinary tokens are printed on the page. Marks that are no tokens, and all marks where no
vocabulary is known, are found by their letters.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence

from uocr.document import Token

PAGE_MARK, REF_OPEN, REF_CLOSE, DET_OPEN, DET_CLOSE = "<PAGE>", "<|ref|>", "<|/ref|>", "<|det|>", "<|/det|>"
MARKS = (PAGE_MARK, REF_OPEN, REF_CLOSE, DET_OPEN, DET_CLOSE)
CELL_TAGS = ("<td>", "</td>", "<tr>", "</tr>", "<th>", "</th>")
"""Tags of a table that a vocabulary may have as tokens; they belong to the text of a table and to no other."""

_BAR = "<|"


class Marks:
    """Finds marks in a buffer whose first character is the output's character `offset`.

    special: text of the tokens that are no text, by id (`Tokenizer.added`); None: no vocabulary is known.
    """

    def __init__(self, special: Mapping[int, str] | None = None) -> None:
        self._special = special or {}
        tokens = set(self._special.values())
        self._spelled = tuple(mark for mark in MARKS if mark not in tokens)
        self._pattern = re.compile("|".join(map(re.escape, self._spelled))) if self._spelled else None
        self._longest = max(map(len, self._spelled), default=0)
        self._written: deque[tuple[int, int]] = deque()  # (start, end) in the output of tokens that are marks
        self.cell_tags = frozenset(tag for tag in CELL_TAGS if tag in tokens)
        """The tags of a table that are tokens of this vocabulary."""

    def add(self, end: int, text: str, tokens: Sequence[Token]) -> None:
        """`tokens` wrote `text`, which ends at `end` of the output."""
        mark = self._special.get(tokens[-1].id) if tokens else None
        if mark and text.endswith(mark):
            self._written.append((end - len(mark), end))

    def next(self, buffer: str, offset: int, start: int) -> tuple[int, int] | None:
        """(start, end) in `buffer` of the first mark at or after `start`; None when no whole mark is there."""
        while self._written and self._written[0][0] < offset + start:
            self._written.popleft()
        spelled = self._pattern.search(buffer, start) if self._pattern else None
        if self._written:
            first, end = (place - offset for place in self._written[0])
            if end <= len(buffer) and (spelled is None or first < spelled.start()):
                return first, end
        return spelled.span() if spelled else None

    def undecided(self, buffer: str, offset: int, start: int) -> int:
        """Where in `buffer`, behind its last mark at `start`, a mark may have begun; its length: nowhere."""
        place = len(buffer)
        if self._spelled:
            begun = buffer.rfind("<", max(start, len(buffer) - self._longest + 1))
            if begun >= 0 and any(mark.startswith(buffer[begun:]) for mark in self._spelled):
                place = begun
        return min(place, self._written[0][0] - offset) if self._written else place


def is_broken_mark(tail: str) -> bool:
    """Whether the end of an output, which began a mark, is no text of the page: `<|` never ends a text."""
    return tail.startswith(_BAR)
