"""Events of the engine, gathered so that the window hears of them about 30 times a second.

The engine thread pushes every event; what belongs together is joined at once (the text of a block, the count
of tokens), so the gathered amount depends on what the window must do, not on how fast tokens come. Nobody
polls: the first push after a `take` says that the window should be woken.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from uocr import events, markup
from uocr.document import Block, Box, Page

FRAME_S = 1 / 30
"""Seconds between two frames."""


@dataclass(slots=True)
class Began:
    """A page is admitted: its views, the memory promised, the counts known before the run."""

    key: int
    event: events.PageStarted


@dataclass(slots=True)
class Advanced:
    """Vision, prefill or a second reading: `done` of `total`."""

    key: int
    phase: str
    done: int
    total: int


@dataclass(slots=True)
class Counted:
    """Tokens of the page so far and the seconds they took."""

    key: int
    tokens: int
    decode_s: float


@dataclass(slots=True)
class BlockBegan:
    key: int
    index: int
    label: str
    boxes: tuple[Box, ...]


@dataclass(slots=True)
class BlockGrew:
    key: int
    index: int
    parts: list[str]

    @property
    def text(self) -> str:
        return "".join(self.parts)


@dataclass(slots=True)
class BlockEnded:
    key: int
    index: int
    block: Block


@dataclass(slots=True)
class Ended:
    """A page is over; `page` is complete. `error` as told by uocr, for a page that could not be read."""

    key: int
    page: Page
    error: Exception | None = None


Change = Began | Advanced | Counted | BlockBegan | BlockGrew | BlockEnded | Ended


@dataclass(slots=True)
class Frame:
    """What happened since the last frame, in order, and the engine's memory at its end."""

    changes: list[Change] = field(default_factory=list)
    memory: Any = None


class Gatherer:
    """Where the engine thread's events wait for the window. Safe between two threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._frame = Frame()

    def push(self, key: int, event: Any, first_block: int = 0) -> bool:
        """Take an event of page `key`; True when the window must be woken (nothing was waiting).

        `first_block` is the number, in the whole output, of the page's first block: above 0 when several pages are
        read in one pass. Changes count the blocks of their page from 0.
        """
        change = _change(key, event, first_block)
        if change is None:
            return False
        with self._lock:
            first = not self._frame.changes
            self._join(change)
            return first

    def add_memory(self, report: Any) -> None:
        with self._lock:
            self._frame.memory = report

    def take(self) -> Frame:
        """Everything gathered; the next frame starts empty."""
        with self._lock:
            frame, self._frame = self._frame, Frame()
        return frame

    def _join(self, change: Change) -> None:
        waiting = self._frame.changes
        # Counts and text alternate in the stream, so each may have to look past one of the other kind.
        for at in range(len(waiting) - 1, max(len(waiting) - 3, -1), -1):
            last = waiting[at]
            if isinstance(change, Counted | Advanced) and type(last) is type(change) and last.key == change.key:
                waiting[at] = change
                return
            if (
                isinstance(change, BlockGrew)
                and isinstance(last, BlockGrew)
                and last.key == change.key
                and last.index == change.index
            ):
                last.parts += change.parts
                return
            if not isinstance(last, Counted | BlockGrew):
                break
        waiting.append(change)


def _change(key: int, event: Any, first_block: int) -> Change | None:
    if isinstance(event, events.TextDelta):
        return Counted(key, event.count, event.decode_s)
    if isinstance(event, events.BlockEvent):
        return _block_change(key, event.event, first_block)
    if isinstance(event, events.Progress):
        return Advanced(key, event.phase, event.done, event.total)
    if isinstance(event, events.PageStarted):
        return Began(key, event)
    if isinstance(event, events.PageFinished):
        return Ended(key, event.page, event.error)
    return None


def _block_change(key: int, event: Any, first_block: int) -> Change | None:
    if isinstance(event, markup.BlockText):
        return BlockGrew(key, event.index - first_block, [event.delta])
    if isinstance(event, markup.BlockStarted):
        return BlockBegan(key, event.index - first_block, event.label, event.boxes)
    if isinstance(event, markup.BlockFinished):
        return BlockEnded(key, event.index - first_block, event.block)
    return None
