"""What is drawn over a page: blocks, view frames, a chosen region, places that need a second look.

All coordinates are pixels of the page as it is read; pens are cosmetic: lines keep their width at any zoom.
"""

from __future__ import annotations

from enum import IntEnum

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QGraphicsItem, QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget
from uocr.document import BOX_SCALE, Box
from uocr.views import ViewPlan

from leggio.look.colours import colours, label_colour


class Layer(IntEnum):
    """Order from bottom to top."""

    PAGE = 0
    VIEWS = 1
    BLOCKS = 2
    MARKS = 3
    REGION = 4


def box_rect(box: Box, width: int, height: int) -> QRectF:
    """`box` on a page of `width` x `height` pixels, not rounded: exact at every zoom and screen scale."""
    left, right = sorted((box.x1, box.x2))
    top, bottom = sorted((box.y1, box.y2))
    clamp = [min(max(v, 0), BOX_SCALE) / BOX_SCALE for v in (left, top, right, bottom)]
    return QRectF(clamp[0] * width, clamp[1] * height, (clamp[2] - clamp[0]) * width, (clamp[3] - clamp[1]) * height)


class BlockItem(QGraphicsRectItem):
    """One box of a block. `state` is "", "lit" (pointed at, here or in the text) or "writing".

    Drawn by Qt itself: a page may have a thousand boxes, and each repaint asks all of them.
    """

    def __init__(self, index: int, label: str, rect: QRectF) -> None:
        super().__init__(rect)
        self.index = index
        self.label = label
        self._state = ""
        self.setZValue(Layer.BLOCKS)
        self.setToolTip(label)
        self._dress()

    @property
    def state(self) -> str:
        return self._state

    def set_state(self, state: str) -> None:
        if state != self._state:
            self._state = state
            self._dress()

    def _dress(self) -> None:
        colour = label_colour(self.label)
        fill = QColor(colour)
        fill.setAlpha({"": 22, "lit": 70, "writing": 90}[self._state])
        pen = QPen(colour, 2.6 if self._state else 1.4)
        pen.setCosmetic(True)
        self.setPen(pen)
        self.setBrush(fill)


class ViewsItem(QGraphicsItem):
    """The views the engine sees: the global frame with its padding, the grid of crops, their tokens."""

    def __init__(self, plan: ViewPlan) -> None:
        super().__init__()
        self.plan = plan
        self.setZValue(Layer.VIEWS)

    @property
    def frame(self) -> QRectF:
        """The global view in page pixels; larger than the page where it pads."""
        left, top, right, bottom = self.plan.page_rect
        across, down = self.plan.width / (right - left), self.plan.height / (bottom - top)
        size = self.plan.global_size
        return QRectF(-left * across, -top * down, size * across, size * down)

    def crop_rects(self) -> list[QRectF]:
        plan = self.plan
        if not plan.crop_count:
            return []
        w, h = plan.width / plan.crop_cols, plan.height / plan.crop_rows
        return [QRectF(c * w, r * h, w, h) for r in range(plan.crop_rows) for c in range(plan.crop_cols)]

    def boundingRect(self) -> QRectF:
        return self.frame.united(QRectF(0, 0, self.plan.width, self.plan.height)).adjusted(-4, -4, 4, 4)

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        colour = colours().frame
        shade = QColor(colour)
        shade.setAlpha(26)
        page, frame = QRectF(0, 0, self.plan.width, self.plan.height), self.frame
        painter.setPen(Qt.PenStyle.NoPen)
        for part in (
            QRectF(frame.left(), frame.top(), -frame.left(), frame.height()),
            QRectF(page.right(), frame.top(), frame.right() - page.right(), frame.height()),
            QRectF(0, frame.top(), page.width(), -frame.top()),
            QRectF(0, page.bottom(), page.width(), frame.bottom() - page.bottom()),
        ):
            if part.width() > 0 and part.height() > 0:
                painter.fillRect(part, shade)
        pen = QPen(colour, 1.5, Qt.PenStyle.DashLine)
        pen.setCosmetic(True)
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(frame)
        for rect in self.crop_rects():
            painter.drawRect(rect)

    def captions(self) -> list[tuple[QRectF, str]]:
        """(place, tokens) of every view; the last is the global one."""
        side = self.plan.crop_size // 64
        crops = [(rect, f"{side * side}") for rect in self.crop_rects()]
        side = self.plan.global_size // 64
        return [*crops, (self.frame, f"{side * (side + 1) + 1}")]


class CaptionItem(QGraphicsItem):
    """A small label that keeps its size at every zoom, at the upper left corner of a rectangle."""

    def __init__(
        self,
        place: QRectF,
        text: str,
        colour: QColor,
        parent: QGraphicsItem | None = None,
        *,
        outside: bool = False,
    ) -> None:
        super().__init__(parent)
        self._text, self._colour = text, colour
        self._corner = QPointF(-19, 0) if outside else QPointF(3, 3)
        self.setFlag(QGraphicsItem.GraphicsItemFlag.ItemIgnoresTransformations)
        self.setPos(place.topLeft())
        self.setZValue(Layer.MARKS)

    def boundingRect(self) -> QRectF:
        return QRectF(self._corner.x(), self._corner.y(), 14 + 9 * len(self._text), 18)

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        font = QFont()
        font.setPointSizeF(max(7.5, font.pointSizeF() * 0.85))
        painter.setFont(font)
        width = painter.fontMetrics().horizontalAdvance(self._text) + 10
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._colour)
        place = QRectF(self._corner.x(), self._corner.y(), width, 16)
        painter.drawRoundedRect(place, 3, 3)
        painter.setPen(QColor("#ffffff" if self._colour.lightness() < 150 else "#1d1d1f"))
        painter.drawText(place, Qt.AlignmentFlag.AlignCenter, self._text)


_AROUND = 12
"""Page pixels that the line around a mark stays away from it at most."""


class MarkItem(QGraphicsItem):
    """A place for a second look: ink outside every box ("missed") or a box without ink ("invented")."""

    def __init__(self, kind: str, rect: QRectF, words: str) -> None:
        super().__init__()
        self.kind, self.rect = kind, rect
        self.setToolTip(words)
        self.setZValue(Layer.MARKS)
        tones = colours()
        self._colour = tones.missed if kind == "missed" else tones.invented
        CaptionItem(rect, "?", self._colour, self, outside=True)

    def boundingRect(self) -> QRectF:
        around = _AROUND + 4
        return self.rect.adjusted(-around, -around, around, around)

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        pen = QPen(self._colour, 2, Qt.PenStyle.DotLine)
        pen.setCosmetic(True)
        painter.setPen(pen)
        fill = QColor(self._colour)
        fill.setAlpha(24)
        painter.setBrush(fill)
        away = 3 / max(1e-3, painter.worldTransform().m11())  # screen points: the line does not lie on the ink
        away = min(away, _AROUND)
        painter.drawRect(self.rect.adjusted(-away, -away, away, away))


class RegionItem(QGraphicsItem):
    """The region a person drew: the rest of the page is dimmed."""

    def __init__(self, page: QRectF) -> None:
        super().__init__()
        self._page = page
        self.rect = QRectF()
        self.setZValue(Layer.REGION)

    def set_rect(self, rect: QRectF) -> None:
        self.prepareGeometryChange()
        self.rect = rect.intersected(self._page)
        self.update()

    def boundingRect(self) -> QRectF:
        return self._page

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        outside = QPainterPath()
        outside.addRect(self._page)
        outside.addRect(self.rect)  # odd-even fill: the region stays clear
        painter.fillPath(outside, QColor(0, 0, 0, 70))
        pen = QPen(colours().frame, 2)
        pen.setCosmetic(True)
        painter.setPen(pen)
        painter.drawRect(self.rect)
