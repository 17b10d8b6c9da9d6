"""Places of a page that deserve a second look, found by `uocr.audit` on a worker thread."""

from __future__ import annotations

from collections import OrderedDict

from PySide6.QtCore import QObject, QRunnable, QThreadPool, Signal
from PySide6.QtGui import QImage
from uocr.audit import Audit, audit
from uocr.document import Page

from leggio.pages.items import PageItem
from leggio.sources.incoming import from_qimage

KEPT = 50
"""Pages whose result is kept."""


class SecondLook(QObject):
    """Looks once at every reading of a page; asks no model."""

    found = Signal(object, object)
    """(PageItem, Audit)."""
    _done = Signal(object, object, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._known: OrderedDict[int, tuple[Page, Audit]] = OrderedDict()
        """By page key; a page read anew is looked at anew."""
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(1)
        self._closed = False
        self._done.connect(self._keep)

    def look(self, item: PageItem, image: QImage) -> None:
        """`found` follows, at once if this reading was looked at before."""
        page = item.page
        if page is None or not page.complete or self._closed:
            return
        known = self._known.get(item.key)
        if known is not None and known[0] is page:
            self.found.emit(item, known[1])
            return
        self._pool.clear()
        self._pool.start(_Looking(self, item, page, image))

    def close(self) -> None:
        self._closed = True
        self._pool.clear()
        self._pool.waitForDone()

    def _keep(self, item: PageItem, page: Page, result: Audit) -> None:
        self._known[item.key] = (page, result)
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        if item.page is page:
            self.found.emit(item, result)


class _Looking(QRunnable):
    def __init__(self, owner: SecondLook, item: PageItem, page: Page, image: QImage) -> None:
        super().__init__()
        self._owner, self._item, self._page, self._image = owner, item, page, image

    def run(self) -> None:
        result = audit(self._page, from_qimage(self._image))
        self._owner._done.emit(self._item, self._page, result)
