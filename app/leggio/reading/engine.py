"""The one thread that owns the engine. It is told what to do through a queue and speaks in signals."""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QThread, Signal
from uocr.control import Control
from uocr.document import FinishReason, Page
from uocr.errors import UocrError
from uocr.events import PageFinished

from leggio.history.jobs import Job, JobStore, job_key
from leggio.reading.frames import Gatherer
from leggio.reading.route import Route
from leggio.reading.task import Engine, EngineFactory, PageTask
from leggio.sources.inputs import LastInput

if TYPE_CHECKING:
    from uocr.sources import Source

log = logging.getLogger(__name__)

_NOT_DONE = (FinishReason.CANCELLED, FinishReason.ERROR, FinishReason.NOT_READ)


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """What the window shows of an open engine."""

    name: str
    info: Any
    front_end: dict[str, Any]
    memory: Any
    recorded: dict[str, object]


class EngineThread(QThread):
    """Opens an engine, reads pages one at a time, estimates, closes; each command in the order given."""

    opened = Signal(object)
    """EngineFacts: a model is ready."""
    refused = Signal(object)
    """UocrError: no engine; the message says what to do."""
    woken = Signal()
    """Something waits in `gatherer`."""
    estimated = Signal(int, object)
    """(page key, MemoryEstimate or UocrError)."""
    resumed = Signal(object, object)
    """(Job, its pages done so far, or the UocrError that says why they cannot be used)."""
    unwritten = Signal(object)
    """UocrError: a page could not be written into its journal; it is read all the same."""
    rested = Signal(object)
    """MemoryReport after a page: what the run took is given back."""
    idle = Signal()
    """The page is over and the next may be asked for."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.gatherer = Gatherer()
        self._commands: queue.SimpleQueue[Callable[[], bool]] = queue.SimpleQueue()
        self._engine: Engine | None = None
        self._control = Control()
        self._input = LastInput()
        self.jobs: JobStore | None = None
        """Where pages that are done are written down; set before the first page."""
        self._hashes: dict[tuple[str, int, int], str] = {}

    # -- from the window's thread --------------------------------------------------------------------------

    def open(self, factory: EngineFactory) -> None:
        self._commands.put(lambda: self._open(factory))

    def read(self, task: PageTask) -> Control:
        """Read a page; the Control pauses and cancels it, from any thread."""
        control = Control()
        self._control = control
        self._commands.put(lambda: self._read(task, control))
        return control

    def estimate(self, task: PageTask) -> None:
        """Memory for a page before it is read; answered by `estimated` when the engine is free."""
        self._commands.put(lambda: self._estimate(task))

    def resume(self, job: Job, settings: Mapping[str, Any]) -> None:
        """Look for the pages of a job that are done; answered by `resumed`."""
        self._commands.put(lambda: self._resume(job, settings))

    def finish_job(self, job: Job) -> None:
        """The job is over: its journal goes."""
        self._commands.put(lambda: self._finish_job(job))

    def shut_down(self) -> None:
        """Cancel what runs, close the engine and end the thread; returns when it has ended."""
        self._control.cancel()
        self._commands.put(self._close)
        self.wait()

    # -- on the engine's thread ----------------------------------------------------------------------------

    def run(self) -> None:
        while self._commands.get()():
            pass

    def _open(self, factory: EngineFactory) -> bool:
        self._release()
        try:
            self._engine = engine = factory()
            facts = EngineFacts(
                str(engine.front_end.get("name", "")),
                engine.info,
                engine.front_end,
                engine.memory(),
                engine.recorded(),
            )
        except UocrError as error:
            self.refused.emit(error)
        except Exception as error:
            log.exception("the engine could not be opened")
            self.refused.emit(UocrError(f"The engine could not be opened: {error}"))
        else:
            self.opened.emit(facts)
        return True

    def _read(self, task: PageTask, control: Control) -> bool:
        if self._engine is None:
            return True
        try:
            self._stream(task, control)
        except UocrError as error:
            self._fail(task, error)
        except Exception as error:
            log.exception("page %s of %s could not be read", task.numbers[0] + 1, task.name)
            self._fail(task, UocrError(f"{type(error).__name__}: {error}"))
        memory = self._engine.memory()
        self.idle.emit()
        self.rested.emit(memory)  # after the page's last frame, which carries an older report
        return True

    def _stream(self, task: PageTask, control: Control) -> None:
        assert self._engine is not None
        settings = dict(task.settings)
        opening = {k: settings[k] for k in ("dpi", "password", "compat") if settings.get(k) is not None}
        settings |= _for_run(task)
        with self._input.pages(task.input, task.name, task.numbers, **opening) as source:
            route = Route(task, source)
            for event in self._engine.stream(source, control=control, **settings):
                if isinstance(event, PageFinished):
                    self._write_down(task, event.page, source)
                for key, part, first_block in route.of(event):
                    self._push(key, part, first_block)

    def _fail(self, task: PageTask, error: UocrError) -> None:
        """None of the task's pages could be read."""
        for key, number in zip(task.keys, task.numbers, strict=True):
            page = Page(task.name, number, 0, 0)
            page.finish_reason, page.error = FinishReason.ERROR, str(error)
            self._push(key, PageFinished(page, error))

    def _write_down(self, task: PageTask, page: Page, source: Source) -> None:
        """Journal a page that is done before the window hears of it."""
        if self.jobs is None or task.job is None or page.finish_reason in _NOT_DONE or page.second_cancelled:
            return
        try:
            key = self._key(task.job, source, task.settings)
        except (UocrError, OSError) as error:  # the file vanished while it was read: there is nothing to go on with
            log.info("page %s of %s is not written down: %s", page.index + 1, task.name, error)
            return
        try:
            self.jobs.append(task.job, key, page)
        except UocrError as error:
            self.unwritten.emit(error)

    def _key(self, job: Job, source: Source, settings: Mapping[str, Any]) -> dict[str, str]:
        assert self._engine is not None
        status = Path(job.input).stat()
        file = (job.input, status.st_size, status.st_mtime_ns)
        if file not in self._hashes:
            self._hashes = {file: source.sha256}
        recorded = self._engine.recorded()
        return job_key(self._hashes[file], settings, self._engine.info.model_id, str(recorded["engine_version"]))

    def _resume(self, job: Job, settings: Mapping[str, Any]) -> bool:
        if self._engine is None or self.jobs is None:
            return True
        try:
            with self._input.page(Path(job.input), job.name, job.pages[0], password=settings.get("password")) as source:
                self.resumed.emit(job, self.jobs.resume(job, self._key(job, source, settings)))
        except (UocrError, OSError) as error:
            self.resumed.emit(job, error)
        return True

    def _finish_job(self, job: Job) -> bool:
        if self.jobs is not None:
            self.jobs.finish(job)
        return True

    def _push(self, key: int, event: Any, first_block: int = 0) -> None:
        if self.gatherer.push(key, event, first_block):
            if self._engine is not None:
                self.gatherer.add_memory(self._engine.memory())
            self.woken.emit()

    def _estimate(self, task: PageTask) -> bool:
        if self._engine is None:
            return True
        try:
            settings = dict(task.settings)
            opening = {k: settings[k] for k in ("dpi", "password") if settings.get(k) is not None}
            with self._input.pages(task.input, task.name, task.numbers, **opening) as source:
                sizes = [_read_size(source.page_size(i), settings) for i in range(len(source))]
            settings |= _for_run(task)
            if task.together:
                answer = self._engine.estimate_together(sizes, **settings)
            else:
                answer = self._engine.estimate(*sizes[0], **settings)
            self.estimated.emit(task.keys[0], answer)
        except UocrError as error:
            self.estimated.emit(task.keys[0], error)
        return True

    def _release(self) -> None:
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def _close(self) -> bool:
        self._release()
        self._input.close()
        if self.jobs is not None:
            self.jobs.close()
        return False


def _for_run(task: PageTask) -> dict[str, Any]:
    """Settings that follow from how many pages there are; several have but one kind of view."""
    return {"pages": None, "one_pass": task.together} | ({"preset": None} if task.together else {})


def _read_size(size: tuple[int, int], settings: Mapping[str, Any]) -> tuple[int, int]:
    """Width and height of what is read of a page of `size`: turned, or only a region of it."""
    width, height = size if settings.get("rotate", 0) in (0, 180) else (size[1], size[0])
    if settings.get("region") is None:
        return width, height
    left, top, right, bottom = settings["region"]
    return max(1, min(right, width) - max(left, 0)), max(1, min(bottom, height) - max(top, 0))
