"""Places of a page that deserve a second look, found by `uocr.audit` on a worker thread."""

from __future__ import annotations

import logging
from collections import OrderedDict

from PySide6.QtCore import QObject, QRunnable, QThreadPool, Signal
from PySide6.QtGui import QImage
from uocr.audit import Audit, audit
from uocr.document import Page
from uocr.errors import UocrError

from leggio.pages.items import PageItem
from leggio.pages.pictures import turned
from leggio.sources.incoming import from_qimage
from leggio.sources.inputs import LastInput

log = logging.getLogger(__name__)

FETCH_DPI = 100
"""A page of A4 is then a little larger than the audit looks at."""
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
        self._fetching = QThreadPool(self)
        self._fetching.setMaxThreadCount(1)
        self._input = LastInput()
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

    def fetch(self, item: PageItem) -> None:
        """As `look`, at a page that is not shown: its picture is taken from the file."""
        page = item.page
        if page is not None and page.complete and not self._closed:
            self._fetching.start(_Fetching(self, item, page))

    def fetched(self, item: PageItem, page: Page, rotate: int) -> None:
        """On the worker thread: take the picture and look."""
        document = item.document
        options = {"dpi": FETCH_DPI, "password": document.password}
        try:
            with self._input.page(document.input, document.name, item.number, **options) as opened:
                picture = turned(opened.page(0).image, rotate)
        except UocrError as error:
            log.info("no second look: %s", error)
        else:
            self._done.emit(item, page, audit(page, picture))

    def close(self) -> None:
        self._closed = True
        for pool in (self._pool, self._fetching):
            pool.clear()
            pool.waitForDone()
        self._input.close()

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


class _Fetching(QRunnable):
    def __init__(self, owner: SecondLook, item: PageItem, page: Page) -> None:
        super().__init__()
        self._owner, self._item, self._page, self._rotate = owner, item, page, item.rotate

    def run(self) -> None:
        self._owner.fetched(self._item, self._page, self._rotate)
