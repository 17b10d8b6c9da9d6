"""Keeps the queue of jobs in step with what is read, and puts finished documents into the history."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from PySide6.QtCore import QObject, QTimer
from uocr.document import FinishReason, Page

from leggio.history.jobs import Job, JobStore
from leggio.history.store import HistoryStore
from leggio.pages.items import DocumentItem, PageItem
from leggio.pages.model import PageModel

LONG_QUEUE, LONG_QUEUE_MS = 200, 2000
"""Documents from which the queue is written at most once in so many milliseconds."""


class Keeper(QObject):
    """Told by the session; on the window's thread. Pictures without a file have no job and no history."""

    def __init__(self, model: PageModel, jobs: JobStore, history: HistoryStore, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model, self.jobs, self.history = model, jobs, history
        self._left: dict[DocumentItem, set[int]] = {}
        """Page keys still to be read, by document."""
        self._by_document: dict[DocumentItem, Job] = {}
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.write_now)
        self.on = True

    def job(self, item: PageItem) -> Job | None:
        """The job a page belongs to."""
        return self._by_document.get(item.document)

    def queued(self, items: Iterable[PageItem]) -> None:
        """Pages wait for being read."""
        if not self.on:
            return
        for item in items:
            document = item.document
            if not isinstance(document.input, Path):
                continue
            job = self._by_document.setdefault(document, Job(str(document.input), document.name, []))
            self._left.setdefault(document, set()).add(item.key)
            if item.number not in job.pages:
                job.pages.append(item.number)
            if item.rotate:
                job.rotate[str(item.number)] = item.rotate
        self._write()

    def resumed(self, document: DocumentItem, job: Job) -> None:
        """A job of an earlier start goes on with this document."""
        self._by_document[document] = job

    def ended(self, item: PageItem, page: Page, model: str) -> Job | None:
        """A page is over; the job when it was the document's last."""
        if page.finish_reason in (FinishReason.CANCELLED, FinishReason.NOT_READ):
            return None
        return self._strike(item, model)

    def dropped(self, items: Iterable[PageItem], model: str) -> list[Job]:
        """Pages will not be read after all (cancelled or removed): jobs that ended by it."""
        return [job for item in items if (job := self._strike(item, model)) is not None]

    def _strike(self, item: PageItem, model: str) -> Job | None:
        left = self._left.get(item.document)
        if left is None:
            return None
        left.discard(item.key)
        if left:
            return None
        del self._left[item.document]
        job = self._by_document.pop(item.document, None)
        self._write()
        self.remember(item.document, model)
        return job

    def remember(self, document: DocumentItem, model: str) -> None:
        """Put the document as it is now into the history."""
        pages = [i.page for i in self._model.items if i.document is document and i.page is not None]
        if self.on and isinstance(document.input, Path) and any(page.blocks for page in pages):
            self.history.add(document.name, document.input, pages, model)

    def _write(self) -> None:
        """Write the queue down; a long one not after every page. What is late by it is read again, not lost."""
        if len(self._by_document) < LONG_QUEUE:
            self._timer.stop()
            self.write_now()
        elif not self._timer.isActive():
            self._timer.start(LONG_QUEUE_MS)

    def write_now(self) -> None:
        """The queue as it is, on the disk."""
        self.jobs.write_queue(self._by_document.values())
