"""Pages on which passages stand twice: for a page, later passages are made from earlier ones.

Who reads such a page must know where on it the reading is, since what was written last stands in several places. So
every repetition is to be written out, as often as it stands there.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeVar

Item = TypeVar("Item")

SHARE = 0.2
"""Share of the pages that ask for repetitions: prose, documents and sheets of office programs."""

_OFTEN = 0.7
"""Share of a page's passages that repeat something."""

_WEIGHTS = (1, 1, 1, 1, 1, 1, 3)
"""How often the ways to repeat are chosen, in the order of `Repeats._ways`: most often, sentences stand in several
places, each time between others. There the words before are the same at both places, and only the place tells how to
go on."""

_MOST_IN_A_ROW = 6
_LONGEST = 30
"""Words that passages of a page begin or end with alike, at most."""

_SENTENCE = (3, 30)
"""Words of a sentence that stands on a page in several places; running text without stops is cut into such parts."""

_FEW = 8
"""Sentences that a page has before most are such that stand on it already."""


class Repeats:
    """What a page's passages repeat; nothing until a page begins with repetitions, and after it has ended."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self._way: Callable[[list[str]], list[str]] | None = None
        self._earlier: list[list[str]] = []
        self._sentences: list[list[str]] = []
        self._common = 3
        self._ways = (self._passage, self._whole, self._begin, self._end, self._record, self._in_a_row, self._shuffled)

    def begin(self, share: float = SHARE) -> None:
        """A new page, which repeats passages in one of the ways in `share` of the cases."""
        self._earlier, self._sentences = [], []
        self._way = self.rng.choices(self._ways, _WEIGHTS)[0] if self.rng.random() < share else None
        self._common = self.rng.choice((self.rng.randint(3, 8), self.rng.randint(3, _LONGEST)))

    def end(self) -> None:
        """The page is full; what comes until the next one begins is as it comes."""
        self._way = None

    def passage(self, words: list[str]) -> list[str]:
        """A passage for the page, made from new words and earlier passages; not much longer than the new words."""
        if self._way is None or not words:
            return words
        if self._earlier and self.rng.random() < _OFTEN:
            words = self._way(words)
        self._earlier.append(words)
        return words

    def lines(self, lines: list[Item]) -> list[Item]:
        """Lines of a block: some stand several times in a row, or again further down; not so where sentences do."""
        rng = self.rng
        if self._way is None or self._way == self._shuffled or not lines or rng.random() < 0.5:
            return lines
        at = rng.randrange(len(lines))
        if rng.random() < 0.5:
            return lines[:at] + [lines[at]] * rng.randint(2, _MOST_IN_A_ROW) + lines[at + 1 :]
        start = rng.randint(0, at)
        return lines + lines[start : start + rng.randint(1, 4)] + lines[at:]

    # -- ways ----------------------------------------------------------------------------------------------------

    def _passage(self, words: list[str]) -> list[str]:
        """Some words of an earlier passage somewhere between the new ones."""
        rng, source = self.rng, self.rng.choice(self._earlier)
        start, at = rng.randrange(len(source)), rng.randint(0, len(words))
        return words[:at] + source[start : start + rng.randint(4, 4 + len(words))] + words[at:]

    def _whole(self, words: list[str]) -> list[str]:
        """An earlier passage, as it is."""
        likely = [source for source in self._earlier if len(source) <= 2 * len(words) + 4]
        return self.rng.choice(likely) if likely else words

    def _begin(self, words: list[str]) -> list[str]:
        """All passages begin as the first does."""
        return self._earlier[0][: self._common] + words

    def _end(self, words: list[str]) -> list[str]:
        """All passages end as the first does."""
        return words + self._earlier[0][-self._common :]

    def _record(self, words: list[str]) -> list[str]:
        """An earlier passage with some words exchanged, as in records of the same fields."""
        record = list(self._whole(words))
        for _ in range(self.rng.randint(1, 1 + len(record) // 6)):
            record[self.rng.randrange(len(record))] = self.rng.choice(words)
        return record

    def _in_a_row(self, words: list[str]) -> list[str]:
        """Words that stand several times one after the other."""
        start = self.rng.randrange(len(words))
        count = self.rng.randint(1, 12)
        part = words[start : start + count]
        return words[:start] + part * self.rng.randint(2, _MOST_IN_A_ROW) + words[start + count :]

    def _shuffled(self, words: list[str]) -> list[str]:
        """As many words in sentences of the page, most of which stand there already, in any order."""
        rng, passage = self.rng, list[str]()
        if not self._sentences:
            self._sentences = [part for source in self._earlier for part in self._parted(source)]
        fresh, last = self._parted(words), list[str]()
        while len(passage) < len(words):
            new = bool(fresh) and rng.random() < (0.8 if len(self._sentences) < _FEW else 0.3)
            last = rng.choice(fresh if new else [part for part in self._sentences if part is not last] or fresh)
            passage += last
            if new:
                fresh.remove(last)
                self._sentences.append(last)
        return passage

    def _parted(self, words: list[str]) -> list[list[str]]:
        """The sentences of a passage, or parts of its length where it has no stops."""
        parts, part, most = list[list[str]](), list[str](), self.rng.randint(*_SENTENCE)
        for word in words:
            part.append(word)
            stops = word[-1:] in (".", "!", "?", ":", ";") and len(part) >= _SENTENCE[0]
            if stops or len(part) >= most:
                parts, part, most = [*parts, part], [], self.rng.randint(*_SENTENCE)
        return [*parts, part] if part else parts
