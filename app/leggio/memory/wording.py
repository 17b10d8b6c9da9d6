"""Bytes and memory categories in a person's words."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication
from uocr.errors import OverBudget


def _tr(text: str) -> str:
    return QCoreApplication.translate("Memory", text)


def bytes_text(count: int) -> str:
    """Three digits and a unit: 812 kB, 24.7 MB, 1.92 GB (powers of ten, as disks and macOS count)."""
    value, unit = float(count), "B"
    for bigger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, bigger
    digits = 0 if unit == "B" or value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f} {unit}"


def _plain(category: str) -> str:
    return category.strip().lower().replace("_", " ")


def category_name(category: str) -> str:
    """The engine's category as a short label."""
    names = {
        "model views": _tr("Model"),
        "kv cache": _tr("Text memory"),
        "prompt embeddings": _tr("Prompt"),
        "vision workspace": _tr("Looking"),
        "vision features": _tr("Picture features"),
        "host staging": _tr("Page pixels"),
        "decoder scratch": _tr("Writing"),
        "moe scratch": _tr("Experts"),
        "logits readback": _tr("Word choice"),
        "transient": _tr("Short-lived"),
    }
    plain = _plain(category)
    return names.get(plain, plain.capitalize())


def category_help(category: str) -> str:
    """What the category holds, with its technical name."""
    helps = {
        "model views": _tr("The model file, mapped from disk (model views). Other programs may share it."),
        "kv cache": _tr(
            "Keys and values of the text so far (KV cache). Fixed in size, however long the page."
        ),
        "prompt embeddings": _tr("The question to the model, picture included (prompt embeddings)."),
        "vision workspace": _tr("Working space while the page is looked at (vision workspace)."),
        "vision features": _tr("What was seen on the page (vision features)."),
        "host staging": _tr("Pixels on their way to the engine (host staging)."),
        "decoder scratch": _tr("Working space while text is written (decoder scratch)."),
        "moe scratch": _tr("Working space of the experts (mixture-of-experts scratch)."),
        "logits readback": _tr("Scores of the possible next pieces of text (logits)."),
        "transient": _tr("Held for a moment only (transient)."),
    }
    return helps.get(_plain(category), category)


def refusal_rows(error: object) -> list[tuple[str, str]]:
    """The table of a run that was refused: what each category would take, the sum, the budget. Else nothing."""
    if not isinstance(error, OverBudget):
        return []
    rows = [(category_name(name), bytes_text(size)) for name, size in error.estimate.items() if size]
    return [*rows, (_tr("Needed"), bytes_text(error.needed)), (_tr("Budget"), bytes_text(error.budget))]
