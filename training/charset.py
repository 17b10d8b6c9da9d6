"""The characters the built-in model reads, and their class numbers for the auxiliary heads."""

from __future__ import annotations

from collections.abc import Set

_LATIN = "¡¢£§©«°·»¿ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜßàáâãäåæçèéêëìíîïñòóôõöøùúûüÿœŒ–—‘’“”„…€•"
_ASCII = "".join(chr(code) for code in range(33, 127))

WESTERN = _ASCII + _LATIN
"""Characters of the first six languages. The held-out pages in those languages draw made-up tokens from them, so this
never changes."""

ADDED_LETTERS = "ĄąĆćĘęŁłŃńŚśŹźŻżČčĎďĚěŇňŘřŠšŤťŮůÝýŽžŐőŰű"
"""What Polish, Czech and Hungarian need besides; Dutch, Swedish and Danish need nothing."""

CHARSET = WESTERN + ADDED_LETTERS
"""Every character that may stand on a training page, the space apart."""

CORE = _ASCII + "ÀÁÄÇÈÉÑÓÖÚÜßàáâãäçèéêëìíîïñòóôõöùúûü"
"""A font that lacks one of these is not used at all; other gaps are recorded per font."""

CLASS_OF = {char: index + 1 for index, char in enumerate(CHARSET)}
"""Class of a character in the per-patch labels; 0 means no character."""

CLASSES = len(CHARSET) + 1
"""At most 255: labels are bytes, and 255 marks views that only fill a batch (training.objective)."""

FIRST_LANGUAGES = ("en", "it", "de", "es", "pt", "fr")
ADDED_LANGUAGES = ("nl", "sv", "da", "pl", "cs", "hu")
LANGUAGES = FIRST_LANGUAGES + ADDED_LANGUAGES


def settable(word: str, usable: Set[str]) -> str:
    """The word as it can be set with the characters `usable`. A letter of CHARSET that is missing takes the whole word
    with it, since what is left would be no word; signs that are missing, and what is outside CHARSET, are dropped."""
    if usable >= set(word):
        return word
    if any(char not in usable and char in CLASS_OF and char.isalpha() for char in word):
        return ""
    return "".join(char for char in word if char in usable)
