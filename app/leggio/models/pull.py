"""Getting a model on a worker thread: progress, pause, stop. The rest is `uocr.models`."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QThread, Signal
from uocr import models
from uocr.errors import Cancelled, UocrError

log = logging.getLogger(__name__)

_TELL_S = 0.1


@dataclass(frozen=True, slots=True)
class PullState:
    """`stage` is "ask", "download" or "convert"; bytes; `left_s` seconds or None while nobody knows."""

    stage: str
    done: int
    total: int
    left_s: float | None


class Puller(QThread):
    """One pull. Start it, then `pause`, `resume`, `stop` from the window's thread."""

    told = Signal(object)
    """PullState, at most ten a second."""
    done = Signal(object)
    """Path of the model file."""
    failed = Signal(object)
    """UocrError; Cancelled when it was stopped on purpose."""

    def __init__(
        self,
        name: str,
        profile: str,
        parent: QObject | None = None,
        *,
        pull: Callable[..., Path] = models.pull,
    ) -> None:
        super().__init__(parent)
        self.name, self.profile = name, profile
        self._pull = pull
        self._go = threading.Event()
        self._go.set()
        self._stopped = False
        self._stage, self._start, self._start_done = "", 0.0, 0
        self._last_told = 0.0

    @property
    def paused(self) -> bool:
        return not self._go.is_set()

    def pause(self) -> None:
        self._go.clear()

    def resume(self) -> None:
        self._stage = ""  # the time that is left is measured anew
        self._go.set()

    def stop(self) -> None:
        self._stopped = True
        self._go.set()

    def run(self) -> None:
        try:
            path = self._pull(self.name, self.profile, progress=self._progress, keep_going=self._keep_going)
        except UocrError as error:
            self.failed.emit(error)
        except Exception as error:
            log.exception("a model could not be fetched")
            self.failed.emit(UocrError(f"{self.name} could not be fetched: {error}"))
        else:
            self.done.emit(path)

    def _keep_going(self) -> bool:
        self._go.wait()
        return not self._stopped

    def _progress(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._start, self._start_done = stage, now, done
        if now - self._last_told < _TELL_S and done < total:
            return
        self._last_told = now
        spent, moved = now - self._start, done - self._start_done
        left = spent / moved * (total - done) if spent > 2 and moved > 0 else None
        self.told.emit(PullState(stage, done, total, left))


def was_stopped(error: Exception) -> bool:
    return isinstance(error, Cancelled)
