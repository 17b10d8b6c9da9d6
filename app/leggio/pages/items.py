"""A document and its pages as the window keeps them. No Qt here."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from uocr.document import FinishReason, Page

from leggio.sources.inputs import Input

_keys = itertools.count(1)


class PageState(StrEnum):
    """What a page's badge says."""

    NEW = "new"
    WAITING = "waiting"
    READING = "reading"
    DONE = "done"
    UNSURE = "unsure"
    """Read to its end, but the model is unsure of it."""
    CUT = "cut"
    LOOPED = "looped"
    BLANK = "blank"
    NO_TEXT = "no text"
    """Nothing was found to read, though there is ink."""
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def over(self) -> bool:
        """A reading ended here, well or badly."""
        return self not in (PageState.NEW, PageState.WAITING, PageState.READING)


def state_of(page: Page) -> PageState:
    """The badge of a page that was read."""
    if page.ink_without_text:
        return PageState.NO_TEXT
    if page.blank:
        return PageState.BLANK
    if page.complete and page.unsure:
        return PageState.UNSURE
    return {
        FinishReason.EOS: PageState.DONE,
        FinishReason.LENGTH: PageState.CUT,
        FinishReason.LOOP: PageState.LOOPED,
        FinishReason.CANCELLED: PageState.CANCELLED,
        FinishReason.ERROR: PageState.FAILED,
        FinishReason.NOT_READ: PageState.CANCELLED,
    }[page.finish_reason]


@dataclass(slots=True, eq=False)
class DocumentItem:
    """One input. `count` is how many pages the file has."""

    input: Input
    name: str
    count: int = 1
    password: str | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class PageItem:
    """One page of a document: `number` counts from 0 in the file."""

    document: DocumentItem
    number: int
    key: int = field(default_factory=lambda: next(_keys))
    state: PageState = PageState.NEW
    progress: float = 0.0
    """Of the present phase, 0..1."""
    phase: str = ""
    page: Page | None = None
    """What was read."""
    error: str = ""
    failure: Exception | None = None
    rotate: int = 0
    """Degrees clockwise, chosen by the person."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Changes to the window's read settings for this page alone."""
    edited: bool = False
    together: int = 0
    """Most pages in one pass with this one, chosen by the person; 0: as many as the document has."""
    in_pass: tuple[PageItem, ...] = ()
    """The pages of the last pass that this one was read in, itself among them; empty when it was read alone."""

    @property
    def title(self) -> str:
        if self.document.count == 1:
            return self.document.name
        return f"{self.document.name} · {self.number + 1}"


@dataclass(frozen=True, slots=True)
class Reading:
    """What a page says and how it lies, so that it can be put back."""

    page: Page | None
    edited: bool
    rotate: int

    @classmethod
    def of(cls, item: PageItem) -> Reading:
        return cls(item.page, item.edited, item.rotate)

    def put_back(self, item: PageItem) -> None:
        item.page, item.edited, item.rotate = self.page, self.edited, self.rotate
