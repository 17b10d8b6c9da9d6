"""A block's text while it still streams: a table shows its words, not its tags."""

from __future__ import annotations

import re

_TAG = re.compile(r"<(/?)(table|thead|tbody|tfoot|caption|tr|td|th)(?:\s[^<>]*)?/?>", re.IGNORECASE)
_LONGEST = 80
"""Characters of a tag with its attributes that is waited for."""


class StreamedText:
    """Takes a block's text piece by piece; gives of each what is to be shown. Cells are parted by tabs."""

    def __init__(self, label: str) -> None:
        self._is_table = label == "table"
        self._waiting = ""
        self._gap = ""
        self._shown = False

    def push(self, delta: str) -> str:
        """What can be shown once `delta` has come; a tag that is not finished waits for the next piece."""
        if not self._is_table:
            return delta
        text, start = self._waiting + delta, 0
        shown = []
        for tag in _TAG.finditer(text):
            shown.append(self._words(text[start:tag.start()]))
            start = tag.end()
            if tag.group(1):
                self._gap = "\n" if tag.group(2).lower() in ("tr", "table") else self._gap or "\t"
        begun = text.rfind("<", max(start, len(text) - _LONGEST))
        end = begun if begun >= 0 and ">" not in text[begun:] else len(text)
        shown.append(self._words(text[start:end]))
        self._waiting = text[end:]
        return "".join(shown)

    def _words(self, text: str) -> str:
        if not text:
            return ""
        gap, self._gap = self._gap if self._shown else "", ""
        self._shown = True
        return gap + text
