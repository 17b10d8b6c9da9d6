"""The list on the left: thumbnail, title, badge. Rows are of one height, so 10,000 scroll smoothly."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QContextMenuEvent, QFont, QKeyEvent, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QWidget,
)

from leggio.look.colours import Colours, colours
from leggio.pages.items import PageItem, PageState
from leggio.pages.model import PageModel
from leggio.pages.pictures import PagePictures
from leggio.pages.wording import badge

Option = Any
"""QStyleOptionViewItem, whose fields PySide's declarations leave out."""
ROW_HEIGHT = 84
_THUMBNAIL = QSize(56, 68)
_MARGIN = 8


def badge_colour(state: PageState, tones: Colours, palette: QPalette) -> QColor:
    return {
        PageState.READING: palette.color(QPalette.ColorRole.Link),
        PageState.DONE: tones.good,
        PageState.UNSURE: tones.warn,
        PageState.CUT: tones.warn,
        PageState.LOOPED: tones.warn,
        PageState.NO_TEXT: tones.warn,
        PageState.FAILED: tones.bad,
    }.get(state, tones.quiet)


class PageDelegate(QStyledItemDelegate):
    """Paints one row."""

    def __init__(self, pictures: PagePictures, parent: QWidget) -> None:
        super().__init__(parent)
        self._pictures = pictures

    def sizeHint(self, option: Option, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(160, ROW_HEIGHT)

    def paint(self, painter: QPainter, option: Option, index: QModelIndex | QPersistentModelIndex) -> None:
        item: PageItem = index.data(PageModel.ItemRole)
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        row = option.rect.adjusted(4, 2, -4, -2)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if selected:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(option.palette.highlight())
            painter.drawRoundedRect(row, 7, 7)
        self._thumbnail(painter, item, QRect(row.left() + _MARGIN, row.top() + 6, 56, 68))
        self._words(painter, option, item, row, selected)
        painter.restore()

    def _thumbnail(self, painter: QPainter, item: PageItem, place: QRect) -> None:
        pixmap = self._pictures.thumbnail(item)
        if pixmap is None:
            shown = QRect(place.center().x() - 22, place.top() + 4, 44, 60)
            painter.fillRect(shown, QColor(255, 255, 255, 40))
        else:
            size = pixmap.size().scaled(place.size(), Qt.AspectRatioMode.KeepAspectRatio)
            shown = QRect(0, 0, max(1, size.width()), max(1, size.height()))
            shown.moveCenter(place.center())
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawPixmap(shown, pixmap)
        painter.setPen(QPen(QColor(128, 128, 128, 120), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(QRectF(shown).adjusted(0.5, 0.5, -0.5, -0.5))

    def _words(self, painter: QPainter, option: Option, item: PageItem, row: QRect, selected: bool) -> None:
        tones, palette = colours(option.palette), option.palette
        left = row.left() + _MARGIN + _THUMBNAIL.width() + 10
        area = QRect(left, row.top(), row.right() - left - _MARGIN, row.height())
        strong = palette.color(QPalette.ColorRole.HighlightedText if selected else QPalette.ColorRole.Text)
        title, line = QFont(option.font), option.fontMetrics.height()
        title.setWeight(QFont.Weight.Medium)
        several = item.document.count > 1
        first = self.tr("Page {0}").format(item.number + 1) if several else item.document.name
        lines = [(first, title, strong)]
        if several:
            lines.append((item.document.name, option.font, strong if selected else tones.quiet))
        state = strong if selected else badge_colour(item.state, tones, palette)
        top = area.center().y() - (line + 2) * (len(lines) + 1) // 2
        for text, font, colour in lines:
            painter.setFont(font)
            painter.setPen(colour)
            shown = option.fontMetrics.elidedText(text, Qt.TextElideMode.ElideMiddle, area.width())
            painter.drawText(QRect(area.left(), top, area.width(), line), Qt.AlignmentFlag.AlignVCenter, shown)
            top += line + 2
        self._badge(painter, option, item, QRect(area.left(), top, area.width(), line), state)

    def _badge(self, painter: QPainter, option: Option, item: PageItem, place: QRect, colour: QColor) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        dot = QRectF(place.left() + 0.5, place.center().y() - 3, 7, 7)
        if item.state in (PageState.NEW, PageState.WAITING):
            painter.setPen(QPen(colour, 1.4))
            painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawEllipse(dot)
        painter.setPen(colour)
        painter.setFont(option.font)
        words = place.adjusted(13, 0, 0, 0)
        painter.drawText(
            words,
            Qt.AlignmentFlag.AlignVCenter,
            option.fontMetrics.elidedText(badge(item), Qt.TextElideMode.ElideRight, words.width()),
        )


class PageList(QListView):
    """The view of a `PageModel`: choose, reorder by dragging, remove with Delete."""

    chosen = Signal(object)
    """PageItem that is now the current one, or None."""
    remove_wanted = Signal(list)
    menu_wanted = Signal(object, list)
    """(global position, chosen PageItems)."""

    def __init__(self, model: PageModel, pictures: PagePictures, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self.setModel(model)
        self.setItemDelegate(PageDelegate(pictures, self))
        self.setUniformItemSizes(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragDrop)
        self.setDefaultDropAction(Qt.DropAction.MoveAction)
        self.setDropIndicatorShown(True)
        self.setFrameShape(QListView.Shape.NoFrame)
        self.setAccessibleName(self.tr("Pages"))
        self.setMinimumWidth(160)
        pictures.thumbnail_ready.connect(self._repaint_key)

    def selected_items(self) -> list[PageItem]:
        """Chosen pages in list order."""
        rows = sorted(i.row() for i in self.selectionModel().selectedIndexes())
        return [item for row in rows if (item := self._model.item(row))]

    def show_item(self, item: PageItem) -> None:
        """Make `item` the current page."""
        self.setCurrentIndex(self._model.index_of(item))

    def currentChanged(
        self, current: QModelIndex | QPersistentModelIndex, previous: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().currentChanged(current, previous)
        self.chosen.emit(self._model.item(current) if current.isValid() else None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.remove_wanted.emit(self.selected_items())
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_wanted.emit(event.globalPos(), self.selected_items())

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._model.rowCount() == 0:
            with QPainter(self.viewport()) as painter:
                painter.setPen(self.palette().color(QPalette.ColorRole.PlaceholderText))
                place = self.viewport().rect().adjusted(18, 18, -18, -18)
                painter.drawText(place, Qt.TextFlag.TextWordWrap, self.tr("Pages appear here."))

    def _repaint_key(self, key: int) -> None:
        item = self._model.by_key(key)
        if item is not None:
            self.update(self._model.index_of(item))
