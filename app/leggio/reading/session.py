"""Which pages wait, which one is read, and what became of them.

The session stands between the page model and the engine thread. It hands over one page at a time (or the pages that
are read in one pass), so that reordering and cancelling the waiting ones needs no word with the engine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from PySide6.QtCore import QObject, Signal
from uocr.control import Control
from uocr.settings import ReadSettings

from leggio.history.jobs import Job
from leggio.pages.items import PageItem, PageState, Reading, state_of
from leggio.pages.model import PageModel
from leggio.reading import frames
from leggio.reading.engine import EngineFacts, EngineThread
from leggio.reading.merge import merge_region
from leggio.reading.pulse import Pulse
from leggio.reading.task import EngineFactory, PageTask


class Session(QObject):
    """Reads the pages of a model, one after the other."""

    changed = Signal()
    """Busy, paused or idle: buttons and menus look again."""
    queued = Signal(list)
    """PageItems that wait now."""
    dropped = Signal(list)
    """PageItems that will not be read after all."""
    began = Signal(object, object)
    """(PageItem, uocr.events.PageStarted)."""
    turned_to = Signal(object)
    """PageItem that is written from now on."""
    advanced = Signal(object, str, int, int)
    """(PageItem, phase, done, total)."""
    counted = Signal(object, int, float)
    """(PageItem, tokens so far, seconds of decoding)."""
    block_began = Signal(object, int, str, object)
    block_grew = Signal(object, int, str)
    block_ended = Signal(object, int, object)
    ended = Signal(object, object, object)
    """(PageItem, uocr.Page, UocrError or None): the item has taken the page over, a region merged into it."""
    replaced = Signal(object, object, bool)
    """(PageItem, the earlier Reading that gave way, whether the whole page was read again and not a region)."""
    memory_read = Signal(object)
    estimated = Signal(object, object)
    """(PageItem, MemoryEstimate or UocrError)."""
    engine_opened = Signal(object)
    engine_refused = Signal(object)

    def __init__(
        self,
        model: PageModel,
        settings: Callable[[], ReadSettings],
        parent: QObject | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(parent)
        self._model = model
        self._settings = settings
        self._waiting: dict[int, PageItem] = {}
        self._group: list[PageItem] = []
        """The pages in the engine's hands: one, or several in one pass."""
        self._again: list[PageItem] = []
        """Of these, the pages that are being cancelled and are to be read anew: they were turned meanwhile."""
        self._written: PageItem | None = None
        """Of these, the page that is written."""
        self._control = Control()
        self.facts: EngineFacts | None = None
        self.job_of: Callable[[PageItem], Job | None] = lambda item: None
        self.region: dict[int, tuple[int, int, int, int]] = {}
        """Regions to read, by page key; a page without one is read whole."""
        self.thread_ = EngineThread(self)
        self._pulse = Pulse(self.thread_.gatherer, self, clock=clock)
        self._pulse.frame.connect(self.take_frame)
        self.thread_.woken.connect(self._pulse.wake)
        self.thread_.opened.connect(self._opened)
        self.thread_.refused.connect(self._refused)
        self.thread_.idle.connect(self._idle)
        self.thread_.rested.connect(self.memory_read)
        self.thread_.estimated.connect(self._estimated)
        self.thread_.start()

    # -- asked by the window -------------------------------------------------------------------------------

    @property
    def current(self) -> PageItem | None:
        """The page in the engine's hands; of several, the one that is written."""
        return self._written

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def place(self, item: PageItem) -> int:
        """Which page of the list `item` is, counted from 1; 0: it was removed while it was read."""
        return self._model.row_of(item) + 1

    @property
    def pages(self) -> int:
        """How many pages the list holds."""
        return self._model.rowCount()

    @property
    def busy(self) -> bool:
        return bool(self._group) or bool(self._waiting)

    @property
    def paused(self) -> bool:
        return self._control.paused

    @property
    def model_name(self) -> str:
        """The open model's name, empty when none is."""
        return self.facts.name if self.facts is not None else ""

    @property
    def front_end(self) -> dict[str, Any]:
        """What the open model says of itself; nothing when none is open."""
        return self.facts.front_end if self.facts is not None else {}

    @property
    def preset(self) -> str:
        """The preset of pages that have none of their own."""
        return str(self._settings().preset or self.front_end.get("default_preset", "base"))

    def open_engine(self, factory: EngineFactory) -> None:
        """Open an engine after the page in progress; `engine_opened` or `engine_refused` follows."""
        self.facts = None
        self.thread_.open(factory)
        self.changed.emit()

    def read(self, items: Iterable[PageItem]) -> None:
        """Queue pages, in the order given; one that waits or is read already is left alone.

        One that is being cancelled is read anew when that is done, and nothing of what was read of it is kept.
        """
        items = list(items)
        if self._control.cancelled:
            self._again += [i for i in items if i in self._group and i not in self._again]
        fresh = [i for i in items if i not in self._group and i.key not in self._waiting]
        for item in fresh:
            self._waiting[item.key] = item
            self._model.set_state(item, PageState.WAITING)
        self.queued.emit(fresh)
        self._start_next()
        self.changed.emit()

    def cancel(self) -> None:
        """Stop the page in progress and drop the waiting ones."""
        self.cancel_pages([*self._waiting.values(), *self._group])

    def cancel_pages(self, items: Iterable[PageItem]) -> None:
        """Stop or drop just these; a page that is read together with others stops them too."""
        items = list(items)
        self._again = [i for i in self._again if i not in items]
        for item in items:
            if self._waiting.pop(item.key, None) is not None:
                self._model.set_state(item, state_of(item.page) if item.page else PageState.CANCELLED)
            elif item in self._group:
                self._control.cancel()
        self.dropped.emit(items)
        self.changed.emit()

    def pause(self, paused: bool) -> None:
        if not self._group:
            return
        (self._control.pause if paused else self._control.resume)()
        self.changed.emit()

    def estimate(self, item: PageItem) -> None:
        """Ask for the memory that reading `item` would take, with the pages that would be read in the same pass."""
        if self.facts is not None:
            row = self._model.row_of(item)
            self.thread_.estimate(self.task(one_pass_group(self._model.items, row, self._reads_together)))

    def shut_down(self) -> None:
        """Stop everything and free the engine; returns when that is done. Jobs stay written down."""
        self.blockSignals(True)
        self._waiting.clear()
        self.thread_.shut_down()

    def task(self, items: Sequence[PageItem]) -> PageTask:
        """One page, or several of one document that are read in one pass."""
        first, chosen = items[0], self._settings()
        changes: dict[str, Any] = {name: getattr(chosen, name) for name in ReadSettings.__dataclass_fields__}
        changes |= {
            "rotate": first.rotate,
            "password": first.document.password,
            "pages": None,
            "region": self.region.get(first.key),
        } | first.settings
        document = first.document
        keys, numbers = tuple(i.key for i in items), tuple(i.number for i in items)
        return PageTask(keys, document.input, document.name, numbers, changes, self.job_of(first))

    def _reads_together(self, item: PageItem) -> bool:
        """Whether `item` may share a pass with its neighbours: asked for, trained for, upright and whole."""
        wanted = item.settings.get("one_pass", self._settings().one_pass)
        able = bool(self.front_end.get("multi_page"))
        return bool(wanted) and able and not item.rotate and item.key not in self.region

    # -- told by the engine --------------------------------------------------------------------------------

    def take_frame(self, frame: frames.Frame) -> None:
        """Hand what happened to whoever listens, in order."""
        for change in frame.changes:
            item = self._model.by_key(change.key)
            if item is None:  # removed from the list while it was read
                item = next((i for i in self._group if i.key == change.key), None)
            if item is not None:
                self._tell(item, change)
        if frame.memory is not None:
            self.memory_read.emit(frame.memory)

    def _tell(self, item: PageItem, change: frames.Change) -> None:
        if isinstance(change, frames.BlockGrew):
            self.block_grew.emit(item, change.index, change.text)
        elif isinstance(change, frames.Counted):
            if item.phase != "decode":
                self._model.set_state(item, PageState.READING, 0.0, "decode")
            self.counted.emit(item, change.tokens, change.decode_s)
        elif isinstance(change, frames.BlockBegan):
            self._turn_to(item)
            self.block_began.emit(item, change.index, change.label, change.boxes)
        elif isinstance(change, frames.BlockEnded):
            self.block_ended.emit(item, change.index, change.block)
        elif isinstance(change, frames.Advanced):
            if change.phase in ("vision", "prefill", "again"):
                share = min(1.0, change.done / max(1, change.total))
                for each in self._group if item in self._group else [item]:
                    self._model.set_state(each, PageState.READING, share, change.phase)
            self.advanced.emit(item, change.phase, change.done, change.total)
        elif isinstance(change, frames.Began):
            self._model.set_state(item, PageState.READING, 0.0, "vision")
            self.began.emit(item, change.event)
            if item in self._group[:1]:
                self.turned_to.emit(item)
        else:
            self._end(item, change)

    def _turn_to(self, item: PageItem) -> None:
        if item is not self._written and item in self._group:
            self._written = item
            self.turned_to.emit(item)

    def _end(self, item: PageItem, change: frames.Ended) -> None:
        if item in self._again:
            self._model.set_state(item, PageState.WAITING)
            self.ended.emit(item, change.page, change.error)
            return
        region = self.region.pop(item.key, None)
        page = change.page if region is None else merge_region(item.page, change.page, region)
        item.failure = change.error
        item.error = change.page.error or ""
        before = Reading.of(item)
        if change.error is None or item.page is None:
            item.page, item.edited = page, region is not None and item.edited
        self._model.set_state(item, PageState.FAILED if change.error is not None else state_of(page))
        if before.page is not None and item.page is page:
            self.replaced.emit(item, before, region is None)
        self.ended.emit(item, page, change.error)

    def _opened(self, facts: EngineFacts) -> None:
        self.facts = facts
        self.engine_opened.emit(facts)
        self.memory_read.emit(facts.memory)
        self._start_next()
        self.changed.emit()

    def _refused(self, error: Exception) -> None:
        self.facts = None
        self.engine_refused.emit(error)
        self.changed.emit()

    def _estimated(self, key: int, answer: object) -> None:
        item = self._model.by_key(key)
        if item is not None:
            self.estimated.emit(item, answer)

    def _idle(self) -> None:
        self._pulse.deliver()
        self._group, self._written = [], None
        self._control = Control()
        again, self._again = self._again, []
        if again:
            self.read(again)
            return
        self._start_next()
        self.changed.emit()

    def _start_next(self) -> None:
        if self._group or self.facts is None or not self._waiting:
            return
        first = min(self._waiting.values(), key=self._model.row_of)
        rows = [item for item in self._model.items if item.key in self._waiting] if self._reads_together(first) else []
        self._group = one_pass_group(rows, 0, self._reads_together) if rows else [first]
        self._written = self._group[0]
        together = tuple(self._group) if len(self._group) > 1 else ()
        for item in self._group:
            item.in_pass = together
            del self._waiting[item.key]
            self._model.set_state(item, PageState.READING)
        self._control = self.thread_.read(self.task(self._group))


def one_pass_group(items: Sequence[PageItem], row: int, together: Callable[[PageItem], bool]) -> list[PageItem]:
    """The page at `row` and those behind it that are read in the same pass: of one document, alike in settings."""
    first = items[row]
    if not together(first):
        return [first]
    most = first.together or len(items)
    group = [first]
    for item in items[row + 1 : row + most]:
        alike = item.document is first.document and (item.settings, item.together) == (first.settings, first.together)
        if not alike or not together(item):
            break
        group.append(item)
    return group
