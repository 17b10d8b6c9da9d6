"""A reading that was stopped: the signal that stops it, what of it there is, and what is told of the rest."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from uocr.cli import view
from uocr.control import Control
from uocr.document import Document, FinishReason, Page
from uocr.sources import STDIN
from uocr.sources.opening import scheme_of
from uocr.sources.types import shown_url


@contextmanager
def stopped_by_ctrl_c(control: Control) -> Iterator[None]:
    """The first Ctrl-C cancels the page in progress and keeps what is finished; the second ends the program."""

    def stop(*_: object) -> None:
        if control.cancelled:
            raise KeyboardInterrupt
        view.err.print("Stopping; finished pages are kept. Press Ctrl-C again to end at once.")
        control.cancel()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def holds_text(page: Page) -> bool:
    """Whether something of `page` was read: all of it, though that may be nothing, or a text that was cut short."""
    return page.complete or bool(page.text.strip())


def without_unread_end(pages: Sequence[Page]) -> list[Page]:
    """The pages up to the last that was read or failed: those behind it never had their turn."""
    end = len(pages)
    while end and _unread(pages[end - 1]):
        end -= 1
    return list(pages[:end])


def missing(document: Document, *, again: bool = False) -> str:
    """Which pages were stopped or never begun, as the end of a sentence; empty when every page had its turn.

    again: also those of which only the second reading was stopped.
    """
    cut = [p.index + 1 for p in document.pages if p.finish_reason is FinishReason.CANCELLED and not _unread(p)]
    unread = [page.index + 1 for page in document.pages if _unread(page)]
    once = [p.index + 1 for p in document.pages if again and p.second_cancelled]
    told = [
        f"{page_words(numbers)} {'were' if len(numbers) > 1 else 'was'} {how}"
        for numbers, how in ((once, "not read again to the end"), (cut, "cut short"), (unread, "not read"))
        if numbers
    ]
    return ", ".join(told)


def page_words(numbers: Sequence[int]) -> str:
    """Page numbers for people: "page 2", "pages 3 to 8", "pages 1, 4 and 6 to 9"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    words = []
    for run in runs:  # two in a row are no range
        words += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else [str(number) for number in run]
    listed = " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
    return f"page{'s' if len(numbers) > 1 else ''} {listed}"


def input_words(names: Sequence[str | Path]) -> str:
    """Inputs for people, in one line however many there are: "a.png", "a.png and 2 more inputs"."""
    first, more = _shown(names[0]), len(names) - 1
    return f"{first} and {more} more input{'s' if more > 1 else ''}" if more else first


def file_words(files: Sequence[Path]) -> str:
    """Files that were written for one document: one, or one a page."""
    return f"{files[0]} to {files[-1].name}" if len(files) > 1 else str(files[0])


def _unread(page: Page) -> bool:
    return page.finish_reason is FinishReason.NOT_READ or (
        page.finish_reason is FinishReason.CANCELLED and not holds_text(page)
    )


def _shown(name: str | Path) -> str:
    if isinstance(name, Path):
        return str(name)
    if name == STDIN:
        return "standard input"
    return "a data URI" if scheme_of(name) == "data" else shown_url(name)
