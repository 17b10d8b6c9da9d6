"""Pause and cancel a reading from another thread."""

from __future__ import annotations

import threading
from typing import Protocol


class _Cancellable(Protocol):
    def cancel(self) -> None: ...


class Control:
    """Hand one to `stream` or `read`; call `cancel`, `pause` and `resume` from any thread.

    A cancel reaches the engine within one tile of work (about 20 ms); a pause takes hold after the present step.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = threading.Event()
        self._running.set()
        self._cancelled = False
        self._run: _Cancellable | None = None

    @property
    def cancelled(self) -> bool:
        return self._cancelled

    @property
    def paused(self) -> bool:
        return not self._running.is_set()

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            if self._run is not None:
                self._run.cancel()
        self._running.set()

    def pause(self) -> None:
        if not self._cancelled:
            self._running.clear()

    def resume(self) -> None:
        self._running.set()

    def wait_while_paused(self) -> None:
        self._running.wait()

    def attach(self, run: _Cancellable | None) -> None:
        """The run that a cancel must reach; None when it ended. A cancel that came earlier is passed on."""
        with self._lock:
            self._run = run
            if run is not None and self._cancelled:
                run.cancel()
