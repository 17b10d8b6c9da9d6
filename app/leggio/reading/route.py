"""Which page an event of a run belongs to, when several pages are read in one pass."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from uocr import events, markup
from uocr.views import plan_views

from leggio.reading.task import PageTask

if TYPE_CHECKING:
    from uocr.sources import Source


class Route:
    """Follows one run of `task`. Blocks are numbered through the whole output; a page's own begin at 0."""

    def __init__(self, task: PageTask, source: Source) -> None:
        self._task, self._source = task, source
        self._page = 0
        """Place, among the task's pages, of the one that is written."""
        self._first: dict[int, int] = {}
        """Number of a page's first block, by the page's place."""

    def of(self, event: Any) -> Iterator[tuple[int, Any, int]]:
        """(page key, event, number of the page's first block): the same event, or one for every page."""
        if isinstance(event, events.PageStarted) and self._task.together:
            yield from self._all_started(event)
        elif isinstance(event, events.BlockEvent):
            place = self._place(event.event)
            yield self._task.keys[place], event, self._first.get(place, 0)
        elif isinstance(event, events.PageFinished):
            yield self._task.key(event.page.index), event, 0
        else:
            yield self._task.keys[self._page], event, 0

    def _all_started(self, event: events.PageStarted) -> Iterator[tuple[int, Any, int]]:
        """One pass begins for all its pages at once; each has views of its own."""
        for place, key in enumerate(self._task.keys):
            views = plan_views(*self._source.page_size(place), event.views.preset)
            yield key, dataclasses.replace(event, views=views), 0

    def _place(self, event: markup.Event) -> int:
        """The place of the page that a block belongs to."""
        if isinstance(event, markup.BlockStarted):
            self._page = min(event.page, len(self._task.keys) - 1)
            self._first.setdefault(self._page, event.index)
        elif isinstance(event, markup.BlockText | markup.BlockFinished):
            return max((p for p, first in self._first.items() if first <= event.index), default=self._page)
        elif isinstance(event, markup.PageMark):
            self._page = min(event.page, len(self._task.keys) - 1)
        return self._page
