"""Looks into files on a worker thread: which there are in a folder, how many pages each has."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from PIL import Image
from PySide6.QtCore import QObject, QRunnable, QThreadPool, Signal
from uocr.errors import InvalidRequest, UocrError

from leggio.look.told import told
from leggio.pages.items import DocumentItem, PageItem, PageState
from leggio.sources.inputs import Input, refuse_special

log = logging.getLogger(__name__)

BATCH = 100
"""Pages that are handed to the window at once."""


class Opener(QObject):
    """Turns inputs into documents with their pages, in natural order, without stopping the window."""

    opened = Signal(list)
    """PageItems, ready to be appended; damaged files come as one failed page."""
    first_came = Signal(object)
    """PageItem: the first of inputs that were opened to be shown; it was handed over by `opened` already."""
    refused = Signal(object)
    """Told: a folder with nothing in it, or one that cannot be looked into."""
    finished = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(1)
        self._stopped = False
        self._running = 0
        self.finished.connect(self._count_down)

    @property
    def busy(self) -> bool:
        return self._running > 0

    def open(
        self, inputs: Sequence[Input], *, pages: str | None = None, password: str | None = None, show: bool = False
    ) -> None:
        """`opened` follows, maybe several times, then `finished`. `pages` is a range such as "1-3,-1".

        With `show`, `first_came` follows the first `opened`.
        """
        self._stopped = False
        self._running += 1
        self._pool.start(_Look(self, list(inputs), pages, password, show))

    def stop(self) -> None:
        """Leave off after the file in hand."""
        self._stopped = True

    def close(self) -> None:
        self._stopped = True
        self._pool.clear()
        self._pool.waitForDone()

    def _count_down(self) -> None:
        self._running -= 1

    # -- on the worker thread ------------------------------------------------------------------------------

    def look(self, inputs: list[Input], pages: str | None, password: str | None, show: bool) -> None:
        ready: list[PageItem] = []
        for each in self._expand(inputs):
            if self._stopped:
                break
            ready += pages_of(each, pages, password)
            if len(ready) >= BATCH:
                self._hand_over(ready, show)
                ready, show = [], False
        if ready:
            self._hand_over(ready, show)
        self.finished.emit()

    def _hand_over(self, ready: list[PageItem], show: bool) -> None:
        self.opened.emit(ready)
        if show:
            self.first_came.emit(ready[0])

    def _expand(self, inputs: list[Input]) -> list[Input]:
        from uocr.sources import expand_inputs, natural_key  # on this thread: it brings the PDF library

        files: list[Input] = []
        # Files dropped together are sorted as people count: 1, 2, 10.
        paths = sorted((i for i in inputs if isinstance(i, Path)), key=lambda p: natural_key(p.name))
        for path in paths:
            try:
                files += [Path(f) for f in expand_inputs([path])]
            except UocrError as error:
                words = self.tr("The folder {0} holds no picture and no PDF.").format(path.name)
                empty = isinstance(error, InvalidRequest) and path.is_dir()
                self.refused.emit(told(error, path.name, words if empty else ""))
        pictures: list[Input] = [i for i in inputs if isinstance(i, Image.Image)]
        return files + pictures


def pages_of(source: Input, pages: str | None = None, password: str | None = None) -> list[PageItem]:
    """The pages of one input; a file that cannot be used is one failed page that says why."""
    from uocr.sources import open_source

    name = source.name if isinstance(source, Path) else (source.info.get("name") or "Picture")
    document = DocumentItem(source, str(name), password=password)
    try:
        refuse_special(source, document.name)
        with open_source(
            source, pages=pages if isinstance(source, Path) else None, password=password, name=document.name
        ) as opened:
            document.notes = list(opened.notes)
            numbers = opened.indices
            document.count = max(len(numbers), max(numbers) + 1)
        return [PageItem(document, number) for number in numbers]
    except UocrError as error:
        return [_failed(document, error)]
    except Exception as error:  # a file made to break the decoders must not end the look through a folder
        log.exception("%s could not be looked into", document.name)
        return [_failed(document, UocrError(f"{document.name} could not be opened: {error}"))]


def _failed(document: DocumentItem, error: UocrError) -> PageItem:
    item = PageItem(document, 0, state=PageState.FAILED, error=str(error))
    item.failure = error
    return item


class _Look(QRunnable):
    def __init__(
        self, owner: Opener, inputs: list[Input], pages: str | None, password: str | None, show: bool
    ) -> None:
        super().__init__()
        self._owner, self._inputs, self._pages, self._password, self._show = owner, inputs, pages, password, show

    def run(self) -> None:
        self._owner.look(self._inputs, self._pages, self._password, self._show)
