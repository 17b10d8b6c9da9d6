"""Writes results on a worker thread through `uocr.export`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image
from PySide6.QtCore import QObject, QRunnable, QThreadPool, Signal
from uocr.document import Document, Page
from uocr.errors import Cancelled, UocrError
from uocr.export import Exported, export
from uocr.export.content import is_missing

from leggio.pages.items import PageItem
from leggio.pages.pictures import turned
from leggio.sources.inputs import LastInput


@dataclass(frozen=True, slots=True)
class ExportOrder:
    """What to write where. `pages` is how many there are in all, for the progress."""

    documents: Sequence[Document]
    path: Path
    format: str
    per_page: bool = False
    pictures: bool = True
    overwrite: bool = False
    add_to_text_layer: bool = False
    scope: str = "all"
    """What was chosen: "page", "document" or "all"."""


def was_read(item: PageItem) -> bool:
    """Whether there is something of `item` to write: its text, or that it is blank."""
    return item.page is not None and not is_missing(item.page)


def documents_of(
    items: Iterable[PageItem], model: str = "", model_id: str = "", settings: dict[str, object] | None = None
) -> list[Document]:
    """The pages that were read, in list order; pages of one file that stand together are one document."""
    documents: list[Document] = []
    last: object = None
    for item in items:
        if item.page is None:
            continue
        if item.document is not last:
            documents.append(Document(item.document.name, [], model, model_id, dict(settings or {})))
            last = item.document
        documents[-1].pages.append(item.page)
    return documents


class PageSources:
    """Where the exporter finds a page's picture and original file. Used on the worker thread."""

    def __init__(self, items: Iterable[PageItem], dpi: float) -> None:
        self._by_page = {
            id(item.page): (
                item.document.input,
                item.document.name,
                item.number,
                item.rotate,
                item.document.password,
            )
            for item in items
            if item.page is not None
        }
        self._dpi = dpi
        self._input = LastInput()

    def image(self, page: Page) -> Image.Image | None:
        found = self._by_page.get(id(page))
        if found is None:
            return None
        source, name, number, rotate, password = found
        with self._input.page(source, name, number, dpi=self._dpi, password=password) as opened:
            return turned(opened.page(0).image, rotate)

    def close(self) -> None:
        """Let go of the last file."""
        self._input.close()

    def original(self, page: Page) -> Path | None:
        """The PDF of a page; None for pictures, turned pages and encrypted files (built from the picture)."""
        found = self._by_page.get(id(page))
        if found is None:
            return None
        source, _, _, rotate, password = found
        if rotate or password or not isinstance(source, Path):
            return None
        try:
            with source.open("rb") as file:
                return source if b"%PDF-" in file.read(1024) else None
        except OSError:
            return None


class _Watched(list[Page]):
    """Pages that tell when each is taken, and stop when asked."""

    def __init__(self, pages: Iterable[Page], taken: Callable[[], None]) -> None:
        super().__init__(pages)
        self._taken = taken

    def __iter__(self) -> Iterator[Page]:
        for page in super().__iter__():
            self._taken()
            yield page


class Exporter(QObject):
    """One export at a time."""

    progressed = Signal(int, int)
    """(pages taken, pages in all)."""
    done = Signal(object, object)
    """(ExportOrder, Exported)."""
    failed = Signal(object, object)
    """(ExportOrder, UocrError): nothing is at the final name."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(1)
        self._stop = threading.Event()

    @property
    def busy(self) -> bool:
        return self._pool.activeThreadCount() > 0

    def start(self, order: ExportOrder, sources: PageSources) -> None:
        self._stop.clear()
        self._pool.start(_Writing(self, order, sources))

    def cancel(self) -> None:
        self._stop.set()

    def close(self) -> None:
        self._stop.set()
        self._pool.waitForDone()

    def write(self, order: ExportOrder, sources: PageSources) -> None:
        """On the worker thread."""
        total, count = sum(len(d.pages) for d in order.documents), 0

        def taken() -> None:
            nonlocal count
            if self._stop.is_set():
                raise Cancelled(f"The export to {order.path.name} was cancelled; nothing was written.")
            count += 1
            self.progressed.emit(count, total)

        documents = [
            Document(d.source, _Watched(d.pages, taken), d.model, d.model_id, d.settings) for d in order.documents
        ]
        options: dict[str, Any] = {
            "overwrite": order.overwrite,
            "per_page": order.per_page,
            "pictures": order.pictures,
            "page_images": sources.image,
            "originals": sources.original,
            "add_to_text_layer": order.add_to_text_layer,
        }
        try:
            result: Exported = export(documents, order.path, order.format, **options)
        except UocrError as error:
            self.failed.emit(order, error)
        except Exception as error:
            self.failed.emit(order, UocrError(f"{order.path.name} could not be written: {error}"))
        else:
            self.done.emit(order, result)


class _Writing(QRunnable):
    def __init__(self, owner: Exporter, order: ExportOrder, sources: PageSources) -> None:
        super().__init__()
        self._owner, self._order, self._sources = owner, order, sources

    def run(self) -> None:
        self._owner.write(self._order, self._sources)
        self._sources.close()
