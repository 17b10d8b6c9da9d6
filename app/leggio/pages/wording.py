"""A page's state in words: on its badge, in its hover text, above its text."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication
from uocr.errors import UocrError

from leggio.look.told import Told, notes_told, told
from leggio.look.units import number_text, share_text
from leggio.pages.items import PageItem, PageState

translate = QCoreApplication.translate


def badge(item: PageItem) -> str:
    """One or two words."""
    if item.state is PageState.READING:
        words = {
            "vision": translate("Pages", "Looking"),
            "prefill": translate("Pages", "Preparing"),
            "decode": translate("Pages", "Writing"),
            "again": translate("Pages", "Reading again"),
        }
        word = words.get(item.phase, translate("Pages", "Reading"))
        return f"{word} {share_text(item.progress)}" if item.phase in ("vision", "prefill", "again") else word
    return {
        PageState.NEW: translate("Pages", "Not read"),
        PageState.WAITING: translate("Pages", "Waiting"),
        PageState.DONE: translate("Pages", "Done"),
        PageState.UNSURE: translate("Pages", "Unsure"),
        PageState.CUT: translate("Pages", "Cut short"),
        PageState.LOOPED: translate("Pages", "Went in circles"),
        PageState.BLANK: translate("Pages", "Blank"),
        PageState.NO_TEXT: translate("Pages", "No text found"),
        PageState.FAILED: translate("Pages", "Failed"),
        PageState.CANCELLED: translate("Pages", "Cancelled"),
    }[item.state]


def explain(item: PageItem) -> Told:
    """One sentence for a state that a person should know about; empty when all is well."""
    if item.state is PageState.FAILED:
        return told(item.failure or UocrError(item.error), item.title)
    if item.state is PageState.CUT:
        count = item.page.timings.generated_tokens if item.page else 0
        words = translate("Pages", "The page did not fit: reading stopped after {0} tokens, the text below ends early.")
        return Told(_sentences(words.format(number_text(count)), _doubt(item)))
    if item.state in (PageState.DONE, PageState.UNSURE):
        remarks = notes_told(item.page.problems[:2] if item.page else [])
        return Told(_sentences(_doubt(item), remarks.text), remarks.detail)
    return Told(
        _sentences({
            PageState.LOOPED: translate(
                "Pages", "The model began to repeat itself and was stopped. The text below ends early."
            ),
            PageState.BLANK: translate("Pages", "This page is blank: there is nothing to read on it."),
            PageState.NO_TEXT: translate(
                "Pages",
                "No text was found, though there is ink on the page: it may be turned, too small or blurred, or in a "
                "script or hand that the model does not read.",
            ),
            PageState.CANCELLED: translate("Pages", "Reading was cancelled. What was read until then is kept."),
        }.get(item.state, ""), _doubt(item))
    )


def _doubt(item: PageItem) -> str:
    """That the model is unsure of what it read; empty when it is sure, or nothing was read."""
    if item.page is None or not item.page.unsure or not item.state.over:
        return ""
    if item.page.hardly_sure:
        words = translate(
            "Pages",
            "The model was only {0} sure of this page, and of hardly any word: the page may be turned, too small or "
            "blurred, or in a script or hand that the model does not read.",
        )
    else:
        words = translate("Pages", "The model was only {0} sure of this page: the text may be wrong.")
    return words.format(share_text(item.page.confidence or 0.0))


def _sentences(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def describe(item: PageItem) -> str:
    """The hover text of a row."""
    lines = [item.title, badge(item)]
    if item.page is not None and item.page.width:
        lines.append(translate("Pages", "{0} x {1} pixels").format(item.page.width, item.page.height))
    if item.page is not None and item.page.has_text_layer:
        lines.append(translate("Pages", "The PDF page already carries text"))
    if item.page is not None and item.page.readings > 1 and item.state.over:
        second = item.page.kept_reading == 2
        lines.append(
            translate("Pages", "Read twice: the second reading was surer")
            if second
            else translate("Pages", "Read twice: the first reading was surer")
        )
    sentence = explain(item).text
    return "\n".join(lines + ([sentence] if sentence else []))
