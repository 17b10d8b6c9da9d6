"""Memory categories in a person's words."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication
from uocr.errors import OverBudget

from leggio.look.notice import Row
from leggio.look.units import bytes_text

translate = QCoreApplication.translate


def _plain(category: str) -> str:
    return category.strip().lower().replace("_", " ")


def category_name(category: str) -> str:
    """The engine's category as a short label."""
    names = {
        "model views": translate("Memory", "Model"),
        "kv cache": translate("Memory", "Text memory"),
        "prompt embeddings": translate("Memory", "Prompt"),
        "vision workspace": translate("Memory", "Looking"),
        "vision features": translate("Memory", "Picture features"),
        "host staging": translate("Memory", "Page pixels"),
        "decoder scratch": translate("Memory", "Writing"),
        "moe scratch": translate("Memory", "Experts"),
        "logits readback": translate("Memory", "Word choice"),
        "transient": translate("Memory", "Short-lived"),
    }
    plain = _plain(category)
    return names.get(plain, plain.capitalize())


def category_help(category: str) -> str:
    """What the category holds, with its technical name."""
    helps = {
        "model views": translate(
            "Memory", "The model file, mapped from disk (model views). Other programs may share it."
        ),
        "kv cache": translate(
            "Memory", "Keys and values of the text so far (KV cache). Fixed in size, however long the page."
        ),
        "prompt embeddings": translate("Memory", "The question to the model, picture included (prompt embeddings)."),
        "vision workspace": translate("Memory", "Working space while the page is looked at (vision workspace)."),
        "vision features": translate("Memory", "What was seen on the page (vision features)."),
        "host staging": translate("Memory", "Pixels on their way to the engine (host staging)."),
        "decoder scratch": translate("Memory", "Working space while text is written (decoder scratch)."),
        "moe scratch": translate("Memory", "Working space of the experts (mixture-of-experts scratch)."),
        "logits readback": translate("Memory", "Scores of the possible next pieces of text (logits)."),
        "transient": translate("Memory", "Held for a moment only (transient)."),
    }
    return helps.get(_plain(category), category)


def refusal_rows(error: object) -> list[Row]:
    """The table of a run that was refused: what each category would take, the sum, the budget. Else nothing."""
    if not isinstance(error, OverBudget):
        return []
    rows = [
        Row(category_name(name), bytes_text(size), category_help(name)) for name, size in error.estimate.items() if size
    ]
    apart = sum(error.estimate.values()) - error.needed
    if error.estimate and apart > 0:
        words = translate("Memory", "Not held at the same time")
        why = translate(
            "Memory", "The page is looked at before it is written: of these two, what takes less counts in the other."
        )
        rows.append(Row(words, f"\N{MINUS SIGN}{bytes_text(apart)}", why))
    needed = translate("Memory", "The most that is held at one time; what is given back meanwhile counts once.")
    budget = translate("Memory", "The most that Leggio may take, set under Settings, Model.")
    return [
        *rows,
        Row(translate("Memory", "Needed"), bytes_text(error.needed), needed, True),
        Row(translate("Memory", "Budget"), bytes_text(error.budget), budget, True),
    ]
