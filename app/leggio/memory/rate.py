"""Tokens a second as a small plot of the last minute or so."""

from __future__ import annotations

from collections import deque

from PySide6.QtCore import QPointF, QSize
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent, QPalette, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from leggio.look.colours import colours

SAMPLES = 120
SAMPLE_S, SAMPLE_TOKENS = 0.1, 8
"""Least seconds of decoding and tokens between two samples: a slow model's plot is not all noise."""


class RatePlot(QWidget):
    """Fed with counts; keeps `SAMPLES` rates, so its memory does not grow."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rates: deque[float] = deque(maxlen=SAMPLES)
        self._tokens, self._seconds = 0, 0.0
        self.setAccessibleName(self.tr("Tokens a second"))
        self.setToolTip(self.tr("Tokens a second: how fast the text is written, the newest on the right"))
        self.setFixedSize(self.sizeHint())

    def sizeHint(self) -> QSize:
        return QSize(110, 34)

    @property
    def rate(self) -> float:
        """Tokens a second over the newest sample; 0 when nothing is written."""
        return self._rates[-1] if self._rates else 0.0

    def restart(self) -> None:
        """A new page: its count starts at nothing."""
        self._tokens, self._seconds = 0, 0.0

    def add(self, tokens: int, seconds: float) -> bool:
        """Count so far and the seconds of decoding it took; True when a sample was completed."""
        if tokens < self._tokens or seconds < self._seconds:
            self.restart()
        if seconds - self._seconds < SAMPLE_S or tokens - self._tokens < SAMPLE_TOKENS:
            return False
        self._rates.append((tokens - self._tokens) / (seconds - self._seconds))
        self._tokens, self._seconds = tokens, seconds
        self.update()
        return True

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            if len(self._rates) < 2:
                return
            height, width = self.height() - 3.0, self.width()
            painter.setPen(QPen(colours(self.palette()).line, 1))
            painter.drawLine(QPointF(0, height + 0.5), QPointF(width, height + 0.5))
            top = max(self._rates) * 1.15 or 1.0
            step = width / (len(self._rates) - 1)
            points = [QPointF(i * step, height - r / top * height) for i, r in enumerate(self._rates)]
            accent = self.palette().color(QPalette.ColorRole.Link)
            area = QPainterPath(QPointF(points[0].x(), height))
            for point in points:
                area.lineTo(point)
            area.lineTo(QPointF(points[-1].x(), height))
            soft = accent
            soft.setAlpha(40)
            painter.fillPath(area, soft)
            soft.setAlpha(255)
            painter.setPen(QPen(soft, 1.5))
            painter.drawPolyline(QPolygonF(points))
