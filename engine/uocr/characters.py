"""Characters that a file format cannot hold.

XML (so DOCX) forbids most control characters, UTF-8 forbids lone surrogates, and one of either must not
lose a whole export: they are replaced before any writer sees the text, and counted so that the reader is
told.
"""

from __future__ import annotations

import unicodedata

_SPACES = "\x0b\x0c\x1c\x1d\x1e\x1f\x85"
"""Controls that separate words; dropping them would glue the words together."""


def _replacements() -> dict[int, str]:
    table = {code: "" for code in (*range(0x00, 0x20), *range(0x7F, 0xA0), 0xFFFE, 0xFFFF)}
    table |= {code: "\ufffd" for code in range(0xD800, 0xE000)}
    table |= {ord(character): " " for character in _SPACES}
    for kept in "\t\n":
        del table[ord(kept)]
    table[ord("\r")] = "\n"
    return table


_TABLE = _replacements()


def clean(text: str) -> tuple[str, int]:
    """`text` without characters that XML or UTF-8 forbid, and how many had to be replaced or removed.

    Line ends become "\\n" (not counted), separating controls a space, lone surrogates U+FFFD, other control
    characters nothing.
    """
    text = text.replace("\r\n", "\n")
    cleaned = text.translate(_TABLE)
    if cleaned == text:
        return text, 0
    return cleaned, sum(ord(character) in _TABLE and character != "\r" for character in text)


def is_right_to_left(text: str) -> bool:
    """Whether the first character with a direction of its own runs right to left (Hebrew, Arabic, ...)."""
    for character in text:
        direction = unicodedata.bidirectional(character)
        if direction in ("R", "AL"):
            return True
        if direction == "L":
            return False
    return False
