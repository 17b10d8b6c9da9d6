"""The page in the middle: its picture, zoomed and scrolled, with everything drawn over it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QNativeGestureEvent,
    QPainter,
    QPixmap,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QGraphicsItem, QGraphicsPixmapItem, QGraphicsScene, QGraphicsView, QWidget
from uocr.document import Block, Box
from uocr.views import ViewPlan

from leggio.look.colours import colours
from leggio.pages.overlays import (
    BlockItem,
    CaptionItem,
    Layer,
    MarkItem,
    RegionItem,
    ViewsItem,
    box_rect,
)

ZOOM_STEP = 1.25
ZOOM_LEAST, ZOOM_MOST = 0.02, 16.0
_MARGIN = 24
_SMALLEST_REGION = 8  # page pixels; less is a click


class PageCanvas(QGraphicsView):
    """Shows one page. Scene coordinates are the page's pixels as it is read."""

    block_pointed = Signal(int)
    """Block under the mouse, or -1."""
    block_clicked = Signal(int)
    region_chosen = Signal(object)
    """QRectF in page pixels, drawn in region mode."""
    region_left = Signal()
    mark_clicked = Signal(str, object)
    """("missed" or "invented", QRectF)."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._scene = QGraphicsScene(self)
        self._scene.setItemIndexMethod(QGraphicsScene.ItemIndexMethod.NoIndex)
        self.setScene(self._scene)
        self._page: QGraphicsPixmapItem | None = None
        self._size = (0, 0)
        self._blocks: dict[int, list[BlockItem]] = {}
        self._views: ViewsItem | None = None
        self._marks: list[MarkItem] = []
        self._region: RegionItem | None = None
        self._region_start = QPointF()
        self._region_mode = False
        self._lit = -1
        self._writing = -1
        self._fit = True
        self._show_blocks = self._show_views = self._show_marks = True
        self._press = QPointF()
        self.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        self.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.setFrameShape(QGraphicsView.Shape.NoFrame)
        self.setTransformationAnchor(QGraphicsView.ViewportAnchor.AnchorUnderMouse)
        self.setDragMode(QGraphicsView.DragMode.ScrollHandDrag)
        self.viewport().setCursor(Qt.CursorShape.ArrowCursor)
        self.setMouseTracking(True)
        self.setAcceptDrops(False)
        self.setAccessibleName(self.tr("Page"))
        self._paint_desk()

    # -- the page ------------------------------------------------------------------------------------------

    @property
    def page_size(self) -> tuple[int, int]:
        """Width and height of the page in pixels; (0, 0) when none is shown."""
        return self._size

    def clear(self) -> None:
        self._scene.clear()
        self._page = self._views = self._region = None
        self._blocks, self._marks, self._size = {}, [], (0, 0)
        self._lit = self._writing = -1

    def set_page(self, image: QImage, width: int, height: int) -> None:
        """Show `image` as a page of `width` x `height` pixels (the image may be a reduced one)."""
        same = self._size == (width, height)
        if self._page is None:
            self._page = QGraphicsPixmapItem()
            self._page.setTransformationMode(Qt.TransformationMode.SmoothTransformation)
            self._page.setZValue(Layer.PAGE)
            self._scene.addItem(self._page)
        pixmap = QPixmap.fromImage(image)
        pixmap.setDevicePixelRatio(1)
        self._page.setPixmap(pixmap)
        self._page.setScale(1)
        self._page.setTransform(self._page.transform().fromScale(width / pixmap.width(), height / pixmap.height()))
        self._size = (width, height)
        self._limit_scene()
        if not same or self._fit:
            self.fit()

    def page_rect(self) -> QRectF:
        return QRectF(0, 0, *self._size)

    # -- what is drawn over it -----------------------------------------------------------------------------

    def set_blocks(self, blocks: Sequence[Block]) -> None:
        """Draw the boxes of a finished page; a block's number is its place in `blocks`."""
        self.clear_blocks()
        for index, block in enumerate(blocks):
            self.add_block(index, block.label, block.boxes)

    def add_block(self, index: int, label: str, boxes: Iterable[Box]) -> None:
        """Draw one more block, such as the one that is being written."""
        items = []
        for box in boxes:
            item = BlockItem(index, label, box_rect(box, *self._size))
            item.setVisible(self._show_blocks)
            self._scene.addItem(item)
            items.append(item)
        self._blocks[index] = items

    def clear_blocks(self) -> None:
        for items in self._blocks.values():
            for item in items:
                self._scene.removeItem(item)
        self._blocks = {}
        self._lit = self._writing = -1

    def set_writing(self, index: int) -> None:
        """Light up the block whose text streams; -1: none."""
        before, self._writing = self._writing, index
        self._restate(before)
        self._restate(index)

    def light(self, index: int, reveal: bool = False) -> None:
        """Light the block that the text points at; -1: none. `reveal` scrolls to it."""
        if index != self._lit:
            before, self._lit = self._lit, index
            self._restate(before)
            self._restate(index)
        if reveal and (items := self._blocks.get(index)):
            self.ensureVisible(items[0].rect(), 40, 40)

    def block_rects(self, index: int) -> list[QRectF]:
        return [item.rect() for item in self._blocks.get(index, [])]

    def block_of(self, rect: QRectF) -> int:
        """The block that has a box at exactly `rect`, -1 when none has."""
        for index, items in self._blocks.items():
            if any(item.rect() == rect for item in items):
                return index
        return -1

    def _restate(self, index: int) -> None:
        state = "writing" if index == self._writing else "lit" if index == self._lit else ""
        for item in self._blocks.get(index, []):
            item.set_state(state)

    def set_views(self, plan: ViewPlan | None) -> None:
        """Draw the views of `plan`, or none."""
        if self._views is not None:
            self._scene.removeItem(self._views)
            self._views = None
        if plan is not None:
            self._views = ViewsItem(plan)
            for place, tokens in self._views.captions():
                caption = CaptionItem(place, tokens, colours().frame, self._views)
                caption.setToolTip(self.tr("Visual tokens that this part of the page costs"))
            self._views.setVisible(self._show_views)
            self._scene.addItem(self._views)
        self._limit_scene()
        if self._fit:
            self.fit()

    def set_marks(self, marks: Iterable[tuple[str, QRectF, str]]) -> None:
        """Places for a second look: (kind, page pixels, hover text)."""
        for old in self._marks:
            self._scene.removeItem(old)
        self._marks = []
        for kind, rect, words in marks:
            item = MarkItem(kind, rect, words)
            item.setVisible(self._show_marks)
            self._scene.addItem(item)
            self._marks.append(item)

    def show_layers(self, *, blocks: bool, views: bool, marks: bool) -> None:
        self._show_blocks, self._show_views, self._show_marks = blocks, views, marks
        for items in self._blocks.values():
            for item in items:
                item.setVisible(blocks)
        for mark in self._marks:
            mark.setVisible(marks)
        if self._views is not None:
            self._views.setVisible(views)
            self._limit_scene()
            if self._fit:
                self.fit()

    # -- zoom ----------------------------------------------------------------------------------------------

    @property
    def zoom(self) -> float:
        """Screen points a page pixel."""
        return self.transform().m11()

    def set_zoom(self, zoom: float) -> None:
        zoom = min(max(zoom, ZOOM_LEAST), ZOOM_MOST)
        self._fit = False
        self.scale(zoom / self.zoom, zoom / self.zoom)

    def zoom_in(self) -> None:
        self.set_zoom(self.zoom * ZOOM_STEP)

    def zoom_out(self) -> None:
        self.set_zoom(self.zoom / ZOOM_STEP)

    def actual_size(self) -> None:
        """One page pixel a screen pixel."""
        self.set_zoom(1 / self.devicePixelRatioF())

    def fit(self) -> None:
        """The whole page, and stay so when the window changes."""
        self._fit = True
        if self._page is not None:
            self.fitInView(self.sceneRect(), Qt.AspectRatioMode.KeepAspectRatio)

    def fit_width(self) -> None:
        if self._page is not None:
            self.set_zoom((self.viewport().width() - 2) / max(1.0, self.sceneRect().width()))

    def _limit_scene(self) -> None:
        area = self.page_rect()
        if self._views is not None and self._show_views:
            area = area.united(self._views.frame)
        margin = max(area.width(), area.height()) * _MARGIN / 1000
        self.setSceneRect(area.adjusted(-margin, -margin, margin, margin))

    # -- region --------------------------------------------------------------------------------------------

    def set_region_mode(self, on: bool) -> None:
        """While on, dragging draws a region; Escape leaves."""
        self._region_mode = on
        mode = QGraphicsView.DragMode
        self.setDragMode(mode.NoDrag if on else mode.ScrollHandDrag)
        self.viewport().setCursor(Qt.CursorShape.CrossCursor if on else Qt.CursorShape.ArrowCursor)
        if not on:
            self._drop_region()

    def _drop_region(self) -> None:
        if self._region is not None:
            self._scene.removeItem(self._region)
            self._region = None

    # -- Qt's events ---------------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._press = event.position()
        if self._region_mode and event.button() == Qt.MouseButton.LeftButton and self._page is not None:
            self._drop_region()
            self._region = RegionItem(self.page_rect())
            self._scene.addItem(self._region)
            self._region_start = self.mapToScene(event.position().toPoint())
            self._region.set_rect(QRectF(self._region_start, self._region_start))
            return
        super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        here = self.mapToScene(event.position().toPoint())
        if self._region is not None and event.buttons() & Qt.MouseButton.LeftButton:
            self._region.set_rect(QRectF(self._region_start, here).normalized())
            return
        super().mouseMoveEvent(event)
        if not event.buttons():
            self.viewport().setCursor(Qt.CursorShape.CrossCursor if self._region_mode else Qt.CursorShape.ArrowCursor)
            self.block_pointed.emit(self._block_at(event.position()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._region is not None:
            rect = self._region.rect
            self._drop_region()
            if min(rect.width(), rect.height()) >= _SMALLEST_REGION:
                self.region_chosen.emit(rect)
            return
        super().mouseReleaseEvent(event)
        moved = (event.position() - self._press).manhattanLength() > 4
        if event.button() == Qt.MouseButton.LeftButton and not moved:
            mark = next((i for i in self._items_at(event.position()) if isinstance(i, MarkItem)), None)
            if mark is not None:
                self.mark_clicked.emit(mark.kind, mark.rect)
            elif (index := self._block_at(event.position())) >= 0:
                self.block_clicked.emit(index)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.block_pointed.emit(-1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self._region_mode:
            self.region_left.emit()
            return
        super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.set_zoom(self.zoom * 1.0015 ** event.angleDelta().y())
            event.accept()
            return
        super().wheelEvent(event)

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QNativeGestureEvent) and event.gestureType() == Qt.NativeGestureType.ZoomNativeGesture:
            self.set_zoom(self.zoom * (1 + event.value()))
            return True
        return super().viewportEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._fit:
            self.fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._paint_desk()

    def _paint_desk(self) -> None:
        colour = colours(self.palette()).desk
        if self.backgroundBrush().color() != colour:
            self.setBackgroundBrush(QBrush(colour))

    def _items_at(self, place: QPointF) -> list[QGraphicsItem]:
        return [i for i in self.items(place.toPoint()) if i.isVisible()]

    def _block_at(self, place: QPointF) -> int:
        """The smallest block there, so that one inside another can be reached."""
        found = [i for i in self._items_at(place) if isinstance(i, BlockItem)]
        return min(found, key=lambda i: i.rect().width() * i.rect().height()).index if found else -1
