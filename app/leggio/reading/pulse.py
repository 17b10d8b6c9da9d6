"""The window's side of the frames: one frame at most every 1/30 s, and none while nothing happens."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from leggio.reading.frames import FRAME_S, Gatherer


class Pulse(QObject):
    """Turns wake-ups of the engine thread into `frame` signals. The timer runs only while something waits."""

    frame = Signal(object)

    def __init__(
        self,
        gatherer: Gatherer,
        parent: QObject | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(parent)
        self._gatherer = gatherer
        self._clock = clock
        self._last = -FRAME_S
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self.deliver)

    def wake(self) -> None:
        """Something was gathered; deliver it when the frame is due."""
        if not self._timer.isActive():
            due = max(0.0, self._last + FRAME_S - self._clock())
            self._timer.start(round(due * 1000))

    def deliver(self) -> None:
        """Send what was gathered, now."""
        self._timer.stop()
        self._last = self._clock()
        frame = self._gatherer.take()
        if frame.changes:
            self.frame.emit(frame)
