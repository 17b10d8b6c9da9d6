"""Shows the current page everywhere, finished or streaming: its picture and boxes, its text, its counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QImage
from uocr.audit import Audit
from uocr.document import Block, Page
from uocr.errors import UocrError
from uocr.events import PageStarted
from uocr.views import model_preset, plan_views

from leggio.look.notice import Choice
from leggio.look.told import told
from leggio.memory.strip import EngineStrip
from leggio.memory.wording import refusal_rows
from leggio.pages.desk import PageDesk
from leggio.pages.items import PageItem, PageState
from leggio.pages.overlays import box_rect
from leggio.pages.pictures import PagePictures
from leggio.pages.second_look import SecondLook
from leggio.pages.wording import explain
from leggio.reading.live import LivePage
from leggio.reading.session import Session
from leggio.settings.store import SettingsStore
from leggio.transcript.panel import TranscriptPanel

_DOUBTFUL = (PageState.UNSURE, PageState.CUT, PageState.LOOPED, PageState.NO_TEXT)


class Presenter(QObject):
    """Keeps canvas, text and strip in step with one page."""

    shown = Signal(object)
    """PageItem that is now shown, or None."""

    def __init__(
        self,
        store: SettingsStore,
        session: Session,
        pictures: PagePictures,
        desk: PageDesk,
        strip: EngineStrip,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._store, self._session, self._pictures = store, session, pictures
        self._desk, self._strip = desk, strip
        self.panel = TranscriptPanel(self.block_picture)
        self._item: PageItem | None = None
        self._image: QImage | None = None
        self._pinned = -1
        self._lives: dict[int, LivePage] = {}
        """Pages in the engine's hands, by page key: one, or several that are read in one pass."""
        self.second_look = SecondLook(self)
        self.second_look.found.connect(self._looked)
        self.ways_out: Callable[[PageItem], Sequence[Choice]] = lambda item: ()
        pictures.page_ready.connect(self._picture_ready)
        pictures.page_failed.connect(self._picture_failed)
        session.began.connect(self._began)
        session.advanced.connect(self._advanced)
        session.counted.connect(self._counted)
        session.block_began.connect(self._block_began)
        session.block_grew.connect(self._block_grew)
        session.block_ended.connect(self._block_ended)
        session.memory_read.connect(strip.set_memory)
        session.estimated.connect(self._estimated)
        for moved in (session.changed, session.turned_to):
            moved.connect(self._engine_moved)
        self.panel.block_pointed.connect(lambda i: self._point(i, from_text=True))
        self.panel.block_clicked.connect(lambda i: self.pin(i, from_text=True))
        desk.canvas.block_pointed.connect(lambda i: self._point(i, from_text=False))
        desk.canvas.block_clicked.connect(lambda i: self.pin(i, from_text=False))

    # -- which page ----------------------------------------------------------------------------------------

    @property
    def item(self) -> PageItem | None:
        return self._item

    @property
    def image(self) -> QImage | None:
        """The picture of the page, maybe reduced."""
        return self._image

    @property
    def blocks(self) -> Sequence[Block]:
        """The blocks that are shown: read, or read so far."""
        if self._item is None:
            return ()
        if (live := self._live) is not None:
            return live.blocks
        return self._item.page.blocks if self._item.page is not None else ()

    @property
    def _live(self) -> LivePage | None:
        """The page that is shown, if it is in the engine's hands."""
        return self._lives.get(self._item.key) if self._item is not None else None

    def show(self, item: PageItem | None) -> None:
        """Make `item` the page that is seen; an open correction of the page before it is kept."""
        self.panel.editor.keep()
        self._item = item
        self._image = None
        self._pinned = -1
        self._desk.canvas.clear()
        self._desk.show_page(item is not None)
        if item is None:
            self.panel.notice.dismiss()
            self.panel.show_blocks([])
            self._strip.rest()
            self._strip.set_estimate(None)
            self.shown.emit(None)
            return
        self._pictures.request_page(item, self.dpi(item))
        self._show_text()
        self._show_counts()
        if item.state in (PageState.NEW, PageState.WAITING):
            self._session.estimate(item)
        self.shown.emit(item)

    def dpi(self, item: PageItem) -> float:
        return float(item.settings.get("dpi", self._store.read.dpi))

    def reload(self) -> None:
        """Show the current page anew: it was turned, corrected or its file came back."""
        self.show(self._item)

    def refresh_text(self, block: int = -1) -> None:
        """The page's blocks changed, one of them or all."""
        if block >= 0:
            self.panel.update_block(block, self.blocks[block])
        else:
            self._show_text()
            self._show_counts()
            self._desk.canvas.set_blocks(self.blocks)
            self._desk.canvas.set_marks([])
            if self._item is not None and self._image is not None:
                self.second_look.look(self._item, self._image)

    def _show_text(self) -> None:
        self._fill_text()
        self.show_notice()

    def _fill_text(self) -> None:
        item, live = self._item, self._live
        assert item is not None
        self.panel.show_blocks(self.blocks, editable=item.state is not PageState.READING and item.page is not None)
        if live is not None and live.open:
            self.panel.begin_block(live.label)
            self.panel.grow_block(live.text)

    def show_notice(self) -> None:
        """Tell how the page that is shown was read, if that was not well."""
        item = self._item
        assert item is not None
        sentence = explain(item)
        if sentence:
            kind = {PageState.FAILED: "bad"} | dict.fromkeys(_DOUBTFUL, "warn")
            rows = refusal_rows(item.failure)
            self.panel.notice.tell(sentence, kind.get(item.state, "info"), self.ways_out(item), rows)
        else:
            self.panel.notice.dismiss()

    def _show_counts(self) -> None:
        item, live, read = self._item, self._live, self._session.current
        if live is not None:
            self._strip.begin(live.started)
            if live.tokens:
                self._strip.count(live.tokens, live.decode_s)
            if live.again is not None:
                self._strip.advance("again", *live.again)
        elif item is not None and read is not None and (place := self._session.place(read)) > 0:
            self._strip.elsewhere(place, self._session.pages, self._session.waiting)
        elif item is not None:
            self._strip.show_page(item.page)

    def _engine_moved(self) -> None:
        """Another page is read, or none any more, or more of them wait."""
        if self._live is None:
            self._show_counts()

    # -- its picture ---------------------------------------------------------------------------------------

    def _picture_ready(self, key: int, rotate: int, image: QImage, width: int, height: int) -> None:
        item = self._item
        if item is None or item.key != key or item.rotate != rotate:
            return
        self.panel.editor.keep()  # the text may be laid out anew, with pictures
        self._image = image
        canvas = self._desk.canvas
        canvas.set_page(image, width, height)
        canvas.set_blocks(self.blocks)
        if (live := self._live) is not None:
            canvas.set_views(live.started.views)
            if live.open:
                canvas.add_block(len(live.blocks), live.label, live.boxes)
                canvas.set_writing(len(live.blocks))
        else:
            self._plan_views(width, height)
            self.second_look.look(item, image)
        if any(block.label in ("image", "figure", "picture", "photo", "chart") for block in self.blocks):
            self._fill_text()
        self.shown.emit(item)

    def _looked(self, item: PageItem, found: Audit) -> None:
        if item is not self._item or self._desk.canvas.page_size == (0, 0):
            return
        missed = self.tr("Maybe missed: there is ink here that no block covers. Click to read it.")
        invented = self.tr("Maybe invented: a block says there is text here, but there is no ink.")
        size = self._desk.canvas.page_size
        marks = [("missed", box_rect(box, *size), missed) for box in found.missed]
        marks += [
            ("invented", box_rect(box, *size), invented)
            for index in found.invented
            if index < len(self.blocks)
            for box in self.blocks[index].boxes
        ]
        self._desk.canvas.set_marks(marks)

    def _plan_views(self, width: int, height: int) -> None:
        if self._item is None:
            return
        preset = self._item.settings.get("preset") or self._session.preset
        try:
            known = model_preset(self._session.front_end, str(preset))
            self._desk.canvas.set_views(plan_views(width, height, known))
        except UocrError:
            self._desk.canvas.set_views(None)

    def _picture_failed(self, key: int, error: UocrError) -> None:
        item = self._item
        if item is not None and item.key == key and item.state is not PageState.FAILED:
            self._desk.notice.tell(told(error, item.title), "bad")

    def block_picture(self, block: Block) -> QImage | None:
        """What the page shows inside a block's box."""
        if self._image is None or not block.boxes:
            return None
        left, top, right, bottom = block.boxes[0].pixels(self._image.width(), self._image.height())
        if right <= left or bottom <= top:
            return None
        return self._image.copy(left, top, right - left, bottom - top)

    # -- linking -------------------------------------------------------------------------------------------

    def _point(self, index: int, from_text: bool) -> None:
        shown = index if index >= 0 else self._pinned
        self._desk.canvas.light(shown)
        self.panel.view.light(shown)

    def pin(self, index: int, from_text: bool) -> None:
        """Keep block `index` lit on both sides and bring it into view on the other; -1: none."""
        self._pinned = index
        self._desk.canvas.light(index, reveal=from_text)
        self.panel.view.light(index, reveal=not from_text)

    @property
    def pinned(self) -> int:
        return self._pinned

    # -- streaming -----------------------------------------------------------------------------------------

    def _began(self, item: PageItem, started: PageStarted) -> None:
        if self._item is not None and self._item.state is PageState.READING:  # it, or another of its pass
            self.panel.editor.keep()
            self.panel.set_editable(False)
        self._lives[item.key] = LivePage(item, started)
        if item is self._item:
            self._show_text()
            self._strip.begin(started)
            if self._desk.canvas.page_size != (0, 0):
                self._desk.canvas.clear_blocks()
                self._desk.canvas.set_marks([])
                self._desk.canvas.set_views(started.views)

    def _advanced(self, item: PageItem, phase: str, done: int, total: int) -> None:
        if phase == "again" and (live := self._lives.get(item.key)) is not None:
            live.again = (done, total)
        if self._together(item):
            self._strip.advance(phase, done, total)

    def _together(self, item: PageItem) -> bool:
        """Whether the page that is shown is `item`, or read in the same pass."""
        return self._item is item or (self._live is not None and item.key in self._lives)

    def _counted(self, item: PageItem, tokens: int, seconds: float) -> None:
        if (live := self._lives.get(item.key)) is not None:
            live.tokens, live.decode_s = tokens, seconds
        if self._together(item):
            self._strip.count(tokens, seconds)

    def _block_began(self, item: PageItem, index: int, label: str, boxes: Any) -> None:
        if (live := self._lives.get(item.key)) is None:
            return
        live.begin(label, boxes)
        if item is self._item:
            self.panel.begin_block(label)
            if self._desk.canvas.page_size != (0, 0):
                self._desk.canvas.add_block(index, label, boxes)
                self._desk.canvas.set_writing(index)

    def _block_grew(self, item: PageItem, index: int, text: str) -> None:
        if (live := self._lives.get(item.key)) is None:
            return
        shown = live.grow(text)
        if item is self._item and shown:
            self.panel.grow_block(shown)

    def _block_ended(self, item: PageItem, index: int, block: Block) -> None:
        if (live := self._lives.get(item.key)) is None:
            return
        live.end(block)
        if item is self._item:
            self.panel.end_block(block)
            self._desk.canvas.set_writing(-1)

    def ended(self, item: PageItem, page: Page) -> None:
        """The page is over and its item has taken it over."""
        live = self._lives.pop(item.key, None)
        if item.state is PageState.BLANK and (item is not self._item or self._image is None):
            self.second_look.fetch(item)
        if item is not self._item:
            return
        if item.page is not page:  # the earlier reading stays, and what is being corrected in it
            self.panel.editor.keep()
        self._desk.canvas.set_writing(-1)
        streamed = page.kept_reading == 1  # a second reading that is kept was never shown
        if live is not None and streamed and len(live.blocks) == len(page.blocks) and item.page is page:
            self.panel.set_editable(True)
            self.show_notice()
        elif item.page is page and not streamed:
            self._pinned = -1  # the blocks are others now
            with self.panel.place_kept():
                self._show_text()
        else:
            self._show_text()
        if self._desk.canvas.page_size != (0, 0):
            self._desk.canvas.set_blocks(self.blocks)
            if self._image is not None:
                self.second_look.look(item, self._image)
        self._strip.show_page(item.page)

    def _estimated(self, item: PageItem, answer: object) -> None:
        if item is self._item and not isinstance(answer, Exception) and not self._lives:
            self._strip.set_estimate(answer)
