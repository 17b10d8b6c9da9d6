"""The characters the built-in model reads, and their class numbers for the auxiliary heads."""

from __future__ import annotations

_LATIN = "¡¢£§©«°·»¿ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜßàáâãäåæçèéêëìíîïñòóôõöøùúûüÿœŒ–—‘’“”„…€•"
_ASCII = "".join(chr(code) for code in range(33, 127))

CHARSET = _ASCII + _LATIN
"""Every character that may stand on a training page, the space apart."""

CORE = _ASCII + "ÀÁÄÇÈÉÑÓÖÚÜßàáâãäçèéêëìíîïñòóôõöùúûü"
"""A font that lacks one of these is not used at all; other gaps are recorded per font."""

CLASS_OF = {char: index + 1 for index, char in enumerate(CHARSET)}
"""Class of a character in the per-patch labels; 0 means no character."""

CLASSES = len(CHARSET) + 1

LANGUAGES = ("en", "it", "de", "es", "pt", "fr")
