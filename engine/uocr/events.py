"""What a reading tells while it goes on. `UnlimitedOCR.stream` yields these in order.

PageStarted ( Progress | TextDelta | BlockEvent )* PageFinished   for every page, then DocumentFinished

Where a page is read a second time, only Progress in the phase "again" tells of that; when `PageFinished.page` then has
2 as its `kept_reading`, its text and blocks take the place of those that were streamed.
"""

from __future__ import annotations

from dataclasses import dataclass

from . import markup
from .document import Document, Page, Token
from .errors import UocrError
from .native import MemoryEstimate
from .views import ViewPlan


@dataclass(frozen=True, slots=True)
class PageStarted:
    """A page is admitted and about to be read. `page` is filled in as reading goes on."""

    page: Page
    views: ViewPlan
    estimate: MemoryEstimate
    prompt_tokens: int
    visual_tokens: int
    max_new_tokens: int


@dataclass(frozen=True, slots=True)
class Progress:
    """A piece of vision or prefill is done: `done` of `total`.

    In the phase "again" they tell of the whole second reading, its vision and prefill too: `done` never goes back and
    is at most `total`, and each phase counts as much as it took of the first reading's time.
    """

    page: Page
    phase: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class TextDelta:
    """One token and the text it completed (markers included; empty inside a character)."""

    page: Page
    text: str
    token: Token
    count: int
    """Tokens of this page so far."""
    decode_s: float


@dataclass(frozen=True, slots=True)
class BlockEvent:
    """The parser understood something: a block began, grew or ended, a page mark, a problem."""

    page: Page
    event: markup.Event


@dataclass(frozen=True, slots=True)
class PageFinished:
    """A page is over, for whatever reason `page.finish_reason` says; `error` when it could not be read at all."""

    page: Page
    error: UocrError | None = None


@dataclass(frozen=True, slots=True)
class DocumentFinished:
    document: Document


ReadEvent = PageStarted | Progress | TextDelta | BlockEvent | PageFinished | DocumentFinished
