"""Apostrophes, quotes, dashes and dots as typesetters set them.

The texts of a pack write nearly all of them as a typewriter does (' " - ...), since that is how their authors typed. A
model that sees a sign in one form only reads it from habit, so on training pages a passage may be set in another form.
"""

from __future__ import annotations

import random
import re

_PAIRS = (("“", "”"), ("“", "”"), ("“", "”"), ("„", "“"), ("«", "»"), ("»", "«"), ("”", "”"), ("„", "”"))
"""Double quotes, English ones most often."""

_SINGLE = ("‘", "’")
_TYPESET, _CURLY, _QUOTED, _DASHED, _DOTTED = 0.5, 0.85, 0.85, 0.5, 0.3
"""Share of the pages that are typeset at all, and of those with each of the forms."""

_OPENS = re.compile(r"(?<![^\s(\[«„“‘—–-])(['\"])(?=\(?[^\W_])")
"""A quote before a word, at its beginning or behind a bracket or a dash."""

_INSIDE = re.compile(r"(?<=[^\W\d_])'(?=[^\W\d_])")
"""An apostrophe between two letters."""

_CLOSES = re.compile(r"(?<=[^\W_])([.,;:!?)»…]*)(['\"])(?=[.,;:!?)\]…—–-]*$)")
_CODE = frozenset("=<>{}[]\\$`|;#_/")
"""Marks of words that are left as they are typed."""

_DASHES = {"-": "–", "--": "—"}


class Typography:
    """The form of a page's signs; as they are typed until a page begins that is typeset."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.forms: dict[str, tuple[str, str]] = {}
        self.dashes = self.dots = False

    def begin(self) -> None:
        """A new page, typeset in half of the cases."""
        rng, self.forms = self.rng, {}
        typeset = rng.random() < _TYPESET
        self.dashes, self.dots = typeset and rng.random() < _DASHED, typeset and rng.random() < _DOTTED
        if typeset and rng.random() < _CURLY:
            self.forms["'"] = _SINGLE
        if typeset and rng.random() < _QUOTED:
            self.forms['"'] = rng.choice(_PAIRS)

    def passage(self, words: list[str]) -> list[str]:
        """The words with the page's signs, as many as before. Code keeps its quotes: only those at the beginning and
        the end of a word, or between letters, are set anew."""
        return [self._word(word) for word in words] if self.forms or self.dashes or self.dots else words

    def _word(self, word: str) -> str:
        if self.dashes and word in _DASHES:
            return _DASHES[word]
        if self.dots and "..." in word:
            word = word.replace("...", "…")
        if ("'" not in word and '"' not in word) or not _CODE.isdisjoint(word):
            return word
        word = _OPENS.sub(lambda found: self._form(found[1], 0), word)
        word = _CLOSES.sub(lambda found: found[1] + self._form(found[2], 1), word)
        return _INSIDE.sub(self._form("'", 1), word)

    def _form(self, sign: str, side: int) -> str:
        return self.forms[sign][side] if sign in self.forms else sign
