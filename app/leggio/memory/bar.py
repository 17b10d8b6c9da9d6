"""Memory as one stacked bar by category, with the promise made before the run and the share of the budget."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QHelpEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from leggio.look.colours import category_colour, colours
from leggio.look.units import bytes_text
from leggio.memory.wording import category_help, category_name

_ROOM = 1.5
"""Full width over the most that is promised or was reached."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One category's piece of the bar, in widget coordinates."""

    name: str
    bytes: int
    rect: QRectF
    number: int


class MemoryBar(QWidget):
    """The full width is somewhat more than the promise, or the budget when that is near; the line below is the budget.

    Against a budget of gigabytes a small model's categories would be invisible, and a bar that is always full would
    look like a full machine: so there is room on the right, and the budget has a line of its own.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._order: list[str] = []
        self._now: dict[str, int] = {}
        self._peak_total = 0
        self._budget = 0
        self._promised = 0
        self._promise: dict[str, int] = {}
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Memory in use"))

    def sizeHint(self) -> QSize:
        return QSize(260, 24)

    def set_report(self, report: object) -> None:
        """Show a `MemoryReport`."""
        current: dict[str, int] = report.current  # type: ignore[attr-defined]
        total, peak, budget = report.current_total, report.peak_total, report.budget  # type: ignore[attr-defined]
        if (current, peak, budget) == (self._now, self._peak_total, self._budget):
            return
        self._order = self._order or list(current)
        self._now, self._peak_total, self._budget = dict(current), peak, budget
        self.setAccessibleDescription(self.tr("{0} of {1}").format(bytes_text(total), bytes_text(budget)))
        self.update()

    def set_estimate(self, estimate: object | None) -> None:
        """The promise for the page at hand (a `MemoryEstimate`), or none."""
        self._promised = estimate.total if estimate is not None else 0  # type: ignore[attr-defined]
        self._promise = dict(estimate.category) if estimate is not None else {}  # type: ignore[attr-defined]
        self.update()

    @property
    def scale_bytes(self) -> int:
        """Bytes that the full width stands for."""
        most = max(self._promised, self._peak_total, sum(self._now.values()), 1)
        roomy = int(most * _ROOM)
        return max(most, min(roomy, self._budget)) if self._budget else roomy

    def segments(self) -> list[Segment]:
        bar = QRectF(0, 0, self.width(), 14)
        found, left = [], 0.0
        for number, name in enumerate(self._order):
            size = self._now.get(name, 0)
            if size > 0:
                width = bar.width() * size / self.scale_bytes
                found.append(Segment(name, size, QRectF(left, 0, width, bar.height()), number))
                left += width
        return found

    def paintEvent(self, event: QPaintEvent) -> None:
        tones = colours(self.palette())
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            bar = QRectF(0.5, 0.5, self.width() - 1, 13)
            shape = QPainterPath()
            shape.addRoundedRect(bar, 4, 4)
            painter.fillPath(shape, tones.line)
            painter.save()
            painter.setClipPath(shape)
            for segment in self.segments():
                painter.fillRect(segment.rect, category_colour(segment.number))
            painter.restore()
            if self._promised:
                self._tick(painter, self._promised, tones.quiet)
            self._budget_line(painter)

    def _tick(self, painter: QPainter, size: int, colour: QColor) -> None:
        x = min(self.width() - 1.0, self.width() * size / self.scale_bytes)
        painter.setPen(QPen(colour, 1.5))
        painter.drawLine(QPointF(x - 0.5, 0), QPointF(x - 0.5, 14))

    def _budget_line(self, painter: QPainter) -> None:
        """Below the bar: how much of the whole budget is taken."""
        if not self._budget:
            return
        tones = colours(self.palette())
        share = min(1.0, sum(self._now.values()) / self._budget)
        line = QRectF(0, 18, self.width(), 3)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(tones.line)
        painter.drawRoundedRect(line, 1.5, 1.5)
        painter.setBrush(tones.bad if share > 0.95 else tones.quiet)
        painter.drawRoundedRect(QRectF(0, 18, max(3.0, line.width() * share), 3), 1.5, 1.5)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.hover_text(QPointF(event.pos())), self)
            return True
        return super().event(event)

    def hover_text(self, place: QPointF) -> str:
        """The numbers of the category there; elsewhere the whole table."""
        for segment in self.segments():
            if segment.rect.contains(place):
                promised = self._promise.get(segment.name)
                promise = self.tr(" (at most {0} promised)").format(bytes_text(promised)) if promised else ""
                return (
                    f"{category_name(segment.name)}: {bytes_text(segment.bytes)}{promise}\n"
                    f"{category_help(segment.name)}"
                )
        lines = [f"{category_name(s.name)}: {bytes_text(s.bytes)}" for s in self.segments()]
        lines.append(self.tr("Budget: {0}").format(bytes_text(self._budget)))
        if self._promised:
            lines.append(self.tr("Promised before reading: at most {0}").format(bytes_text(self._promised)))
        return "\n".join(lines)
