"""Tables in a block's text, told from tags that are printed on the page, as in a manual of HTML.

A vocabulary has the tags of rows and cells as tokens; `<table>` and tags with attributes are ordinary text in every
one. So a table begins where a `<table>` is followed by such a token. The same letters elsewhere are words of the page.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection

_TAG = re.compile(r"</?(?:(table|thead|tbody|tfoot|caption|tr|td|th)|br|sup|sub)(?:\s[^<>]*)?/?>", re.IGNORECASE)
_INLINE = re.compile(
    r"(?=(</?(?:br|sup|sub|b|i|u|em|strong|p|div|span|font|a)(?:\s[^<>]*)?/?>|&))[<&]", re.IGNORECASE
)
"""Tags inside a line or cell, and what an entity begins with. Entities are looked for in tables alone."""
_TABLE = re.compile(r"<(/?)table\b", re.IGNORECASE)
_CLOSING = len("</table")
_BEFORE_ROWS = re.compile(
    r"<table(?:\s[^<>]*)?>\s*+(?:</?(?:thead|tbody|caption)(?:\s[^<>]*)?>[^<>]*+)*+\Z", re.IGNORECASE
)
_TAIL = 200
"""Characters in which a table's opening is looked for before its first row."""


class Tables:
    """Where tables stand in one block's text, while it streams. Offsets count the text's characters."""

    def __init__(self) -> None:
        self.tags: set[int] = set()
        """Offsets of the tags that are tokens."""
        self._bounds: list[int] = []  # start, end, start, ... of tables; the last one may be open
        self._depth = 0
        self._tail = ""

    def take(self, tag: str, length: int) -> bool:
        """Whether `tag`, a token, belongs to a table in the text, which has `length` characters so far."""
        if not self._depth and not tag.startswith("</") and (opened := _BEFORE_ROWS.search(self._tail)):
            self._bounds.append(length - len(self._tail) + opened.start())
            self._depth = 1
        return self._depth > 0

    def watch(self, delta: str, length: int) -> None:
        """`delta` has joined the text, which now has `length` characters."""
        seen, old = self._tail + delta, len(self._tail)
        for tag in _TABLE.finditer(seen, max(old - _CLOSING, 0)) if self._depth else ():
            if tag.end() > old and self._depth:
                self._depth += -1 if tag.group(1) else 1
                if not self._depth:
                    self._bounds.append(length - len(seen) + tag.end())
        self._tail = seen[-_TAIL:]

    def printed(self, text: str, label: str, cell_tags: Collection[str], *, plain: bool = False) -> tuple[int, ...]:
        """Offsets of the tags, and in tables of the `&`, in the whole `text` that are printed on the page.

        cell_tags: the tags that the vocabulary has as tokens; without any, none can be told from a table's. In a
        block labelled "table" whatever else looks like a tag of one is what is left of it. plain: beside the tags of
        tables the model writes what is printed and nothing else.
        """
        if not cell_tags:
            return ()
        outside = () if label == "table" else [tag for tag in tags_in(text) if not self._in_table(tag)]
        spelled = [
            tag.start() for tag in _TAG.finditer(text) if tag.group() in cell_tags and tag.start() not in self.tags
        ]
        inline = [
            found.start() for found in _INLINE.finditer(text) if found[1] != "&" or self._in_table(found.start())
        ]
        return tuple(sorted({*outside, *spelled, *(inline if plain else ())}))

    def _in_table(self, offset: int) -> bool:
        return bool(bisect_right(self._bounds, offset) % 2)


def printed_again(before: str, printed: Collection[int], text: str) -> tuple[int, ...]:
    """Offsets in `text`, a person's correction of a table, of what was `printed` in the text `before` as well."""
    spelled = {found[1] for found in _INLINE.finditer(before) if found.start() in printed}
    return tuple(found.start() for found in _INLINE.finditer(text) if found[1] in spelled)


def tags_in(text: str) -> tuple[int, ...]:
    """Offsets of all that looks like a tag; none where no tag of a table is shown."""
    tags = list(_TAG.finditer(text))
    return tuple(tag.start() for tag in tags) if any(tag.group(1) for tag in tags) else ()


def masked(text: str, printed: Collection[int], mask: str) -> str:
    """`text` with `mask`, one character, in place of the first one of whatever is `printed`."""
    if not printed:
        return text
    characters = list(text)
    for offset in printed:
        characters[offset] = mask
    return "".join(characters)
