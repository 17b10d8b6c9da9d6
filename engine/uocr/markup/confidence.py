"""From tokens to confidences: a word has its weakest token's, a block the geometric mean of its tokens'.

The token that ended a cell or a block is one of its last word's too: where the model broke off "6.00" behind the 6, no
other token tells.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence

from uocr.document import Token, Word
from uocr.markup.tables import masked

_WORD = re.compile(
    # Table markup parts words but is none: its tags are skipped, so "</td><td>" is never a doubtful word.
    r"</?(?:table|thead|tbody|tfoot|caption|tr|td|th|br)(?:\s[^<>]*)?/?>"
    r"|(?P<word>(?:(?!</?(?:table|thead|tbody|tfoot|caption|tr|td|th|br)[\s/>])\S)+)",
    re.IGNORECASE,
)
_BREAK = re.compile("<br", re.IGNORECASE)


class TokenSpans:
    """Which tokens wrote which characters of the output. Offsets count characters of the whole output."""

    def __init__(self) -> None:
        self._spans: list[tuple[int, int, Token]] = []
        self._waiting: list[Token] = []

    def add(self, start: int, end: int, tokens: list[Token]) -> None:
        """`tokens` wrote the characters `start`..`end` together; without a character they wait for the next."""
        for token in tokens:
            if not any(token is waiting for waiting in self._waiting):
                self._waiting.append(token)
        if start == end:
            return
        tokens, self._waiting = self._waiting, []
        for token in tokens:
            self._append(start, end, token, len(tokens))

    def _append(self, start: int, end: int, token: Token, reach: int) -> None:
        # A token whose text arrives in two pieces is one token: it must not weigh twice in a mean.
        for i in range(len(self._spans) - 1, max(len(self._spans) - 1 - reach, -1), -1):
            old_start, old_end, old_token = self._spans[i]
            if old_token is token and old_end == start:
                self._spans.append((old_start, end, self._spans.pop(i)[2]))
                return
        self._spans.append((start, end, token))

    def forget_before(self, offset: int) -> None:
        """Drop what ends at or before `offset`."""
        del self._spans[: bisect_right(self._spans, offset, key=lambda span: span[1])]

    def touching(self, start: int, end: int) -> list[Token]:
        """Tokens that wrote at least one character of `start`..`end`, in order."""
        found = []
        for i in range(bisect_right(self._spans, start, key=lambda span: span[1]), len(self._spans)):
            if self._spans[i][0] >= end:
                break
            found.append(self._spans[i][2])
        return found


def words_of(
    text: str, place: Callable[[int], int], spans: TokenSpans, printed: Collection[int] = (), end: Sequence[Token] = ()
) -> list[Word]:
    """The words of a block's text; none where no token is known.

    place: from an offset in `text` to the output's. printed: offsets of tags that are words and no markup. end: the
    tokens that ended the block.
    """
    found: list[tuple[re.Match[str], list[Token]]] = []
    last: list[Token] = []  # of the word that the next tag of a table, or the end of the block, ends
    for match in _WORD.finditer(masked(text, printed, "\uffff")):
        first, behind = place(match.start()), place(match.end() - 1) + 1
        if match.group("word") is not None:
            if last := spans.touching(first, behind):
                # White space is no sign of doubt, unless the repeat guard put it there.
                last += [token for token in spans.touching(behind, behind + 1) if token.guard_acted]
                found.append((match, last))
        elif not _BREAK.match(match.group()):
            if last:
                last += spans.touching(first, first + 1)
            last = []
    if last:
        last += end
    return [
        Word(text[match.start():match.end()], match.start(), math.exp(min(token.logprob for token in tokens)))
        for match, tokens in found
    ]


def geometric_mean(tokens: list[Token]) -> float | None:
    """exp of the mean log-probability, 0..1; None without tokens."""
    if not tokens:
        return None
    return math.exp(math.fsum(t.logprob for t in tokens) / len(tokens))
