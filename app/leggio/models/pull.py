"""Getting a model, and asking how large it is, on worker threads. The rest is `uocr.models`.

These threads may hang in a silent connection for half a minute: they are daemons, so that quitting need not wait.
What has arrived stays on the disk in any case.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from uocr import models
from uocr.errors import Cancelled, UocrError

log = logging.getLogger(__name__)

_TELL_S = 0.1
_MOVED_ENOUGH_S = 2.0
"""Seconds after which the time that is left is worth telling."""


@dataclass(frozen=True, slots=True)
class PullState:
    """`stage` is "ask", "download" or "convert"; bytes; `left_s` seconds or None while nobody knows."""

    stage: str
    done: int
    total: int
    left_s: float | None


class Puller(QObject):
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
        self._thread = threading.Thread(target=self._run, name="pull", daemon=True)
        self._go = threading.Event()
        self._go.set()
        self._stopped = False
        self._stage, self._start, self._start_done = "", 0.0, 0
        self._last_told = 0.0

    def start(self) -> None:
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

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

    def wait(self, seconds: float) -> None:
        """Until it has ended, at most so long."""
        self._thread.join(seconds)

    # -- on the worker thread ------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            path = self._pull(self.name, self.profile, progress=self._progress, keep_going=self._keep_going)
        except UocrError as error:
            self._send(self.failed, error)
        except Exception as error:
            log.exception("a model could not be fetched")
            self._send(self.failed, UocrError(f"{self.name} could not be fetched: {error}"))
        else:
            self._send(self.done, path)

    def _send(self, signal: Signal, what: object) -> None:
        try:
            signal.emit(what)  # type: ignore[attr-defined]
        except RuntimeError:  # the program has ended meanwhile
            log.debug("nobody is left to be told %r", what)

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
        left = spent / moved * (total - done) if spent > _MOVED_ENOUGH_S and moved > 0 else None
        self._send(self.told, PullState(stage, done, total, left))


class SizeQuestion(QObject):
    """Asks the hub once how large a checkpoint is. Without a network there is no answer, and no error."""

    answered = Signal(object)
    """Bytes of the checkpoint; larger than what a Signal(int) holds."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def put(self) -> None:
        # The thread keeps this object alive, whatever becomes of the sheet that asked.
        threading.Thread(target=self._run, name="size", daemon=True).start()

    def _run(self) -> None:
        try:
            self.answered.emit(models.checkpoint_bytes(self._name))
        except UocrError as error:
            log.info("the size of %s is not known: %s", self._name, error)
        except RuntimeError:
            log.debug("nobody is left to be told a size")


def was_stopped(error: Exception) -> bool:
    return isinstance(error, Cancelled)
