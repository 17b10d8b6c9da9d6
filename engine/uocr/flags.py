"""Settings by the names they have on a command line, for the programs that have one."""

from __future__ import annotations

import re
from collections.abc import Iterable


def flag(name: str) -> str:
    """The flag of the setting `name`."""
    return "--" + name.replace("_", "-")


def with_flags(words: str, names: Iterable[str]) -> str:
    """`words` of a refusal that begins with one of the settings' `names`, with the flag in its place.

    Its other names follow where an underscore tells them from ordinary words. Words that begin otherwise may hold a
    person's own and stay as they are.
    """
    known = set(names)
    begun = words.partition(" ")[0]
    if begun not in known:
        return words
    named = re.sub(r"\w+", lambda word: flag(word[0]) if word[0] in known and "_" in word[0] else word[0], words)
    return named if "_" in begun else flag(begun) + named.removeprefix(begun)
