"""Names of the languages that a model says it reads, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NAMES = {
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "hu": "Hungarian",
    "it": "Italian",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "sv": "Swedish",
}
"""English names by ISO 639-1 code; a code that is not here stands for itself."""


def codes(front_end: Mapping[str, Any]) -> list[str]:
    """Codes of the languages that a model was trained for; empty where its file names none."""
    found = front_end.get("languages")
    return [code for code in found if isinstance(code, str)] if isinstance(found, list) else []


def names(front_end: Mapping[str, Any]) -> str:
    """"English, Italian and Dutch"; empty where the model's file names no languages."""
    words = [NAMES.get(code, code) for code in codes(front_end)]
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
