"""Which languages the open model reads, in the window's language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication
from uocr import languages

translate = QCoreApplication.translate

_NAMES: dict[str, Any] = {
    "cs": QT_TRANSLATE_NOOP("Languages", "Czech"),
    "da": QT_TRANSLATE_NOOP("Languages", "Danish"),
    "de": QT_TRANSLATE_NOOP("Languages", "German"),
    "en": QT_TRANSLATE_NOOP("Languages", "English"),
    "es": QT_TRANSLATE_NOOP("Languages", "Spanish"),
    "fr": QT_TRANSLATE_NOOP("Languages", "French"),
    "hu": QT_TRANSLATE_NOOP("Languages", "Hungarian"),
    "it": QT_TRANSLATE_NOOP("Languages", "Italian"),
    "nl": QT_TRANSLATE_NOOP("Languages", "Dutch"),
    "pl": QT_TRANSLATE_NOOP("Languages", "Polish"),
    "pt": QT_TRANSLATE_NOOP("Languages", "Portuguese"),
    "sv": QT_TRANSLATE_NOOP("Languages", "Swedish"),
}


def languages_text(front_end: Mapping[str, Any]) -> str:
    """What the model reads and what becomes of other languages; empty where its file names no languages."""
    codes = languages.codes(front_end)
    if not codes:
        return ""
    named = ", ".join(translate("Languages", str(_NAMES.get(code, code))) for code in codes)
    words = translate(
        "Languages",
        "The open model reads {0}. Other languages in Latin letters come out with wrong accents, often unnoticed.",
    )
    return words.format(named)
