"""The rendered text: read, point, click, select. It loads nothing but what the writer handed over."""

from __future__ import annotations

from collections.abc import Callable

import nh3
from PySide6.QtCore import QEvent, QMimeData, QPoint, QRect, QUrl, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFont,
    QHelpEvent,
    QImage,
    QMouseEvent,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
)
from PySide6.QtWidgets import QTextEdit, QToolTip, QWidget
from uocr.document import Block

from leggio.look.colours import label_colour
from leggio.look.units import share_text
from leggio.transcript.doubts import DOUBT_PROPERTY
from leggio.transcript.formulas import FormulaImages
from leggio.transcript.writer import BlockWriter

_TAGS = {
    "p",
    "br",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "b",
    "i",
    "sup",
    "sub",
    "table",
    "tbody",
    "tr",
    "td",
    "th",
    "ul",
    "ol",
    "li",
}


class TranscriptView(QTextEdit):
    """Shows blocks; knows which block is under the mouse."""

    block_pointed = Signal(int)
    block_clicked = Signal(int)
    edit_wanted = Signal(int)
    """Block to correct: it was double-clicked."""
    menu_wanted = Signal(QPoint, int)
    """(global position, block under it or -1)."""

    def __init__(
        self,
        formulas: FormulaImages,
        picture: Callable[[Block], QImage | None],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)  # streaming would fill the undo stack; corrections have their own
        self.setAcceptDrops(False)
        self.setFrameShape(QTextEdit.Shape.NoFrame)
        self.setMouseTracking(True)
        self.document().setDocumentMargin(18)
        self.setAccessibleName(self.tr("Text of the page"))
        self.setPlaceholderText(self.tr("The text of the page appears here."))
        self.writer = BlockWriter(self.document(), formulas, picture, self.palette)
        formulas.ready.connect(self.writer.formula_ready)
        self._lit = -1
        self._found: list[QTextEdit.ExtraSelection] = []

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        """What the writer added is found before this is asked; everything else does not exist."""
        return None

    def set_font_size(self, points: float) -> None:
        font = QFont(self.font())
        font.setPointSizeF(points)
        self.document().setDefaultFont(font)

    # -- linking with the page -----------------------------------------------------------------------------

    def light(self, index: int, reveal: bool = False) -> None:
        """Tint block `index`; -1: none."""
        if index != self._lit:
            self._lit = index
            self._tint()
        if reveal and 0 <= index < len(self.writer):
            self.show_position(self.writer.span(index)[0])

    def show_position(self, position: int) -> None:
        """Scroll so that `position` is in view, without moving the caret."""
        cursor = QTextCursor(self.document())
        cursor.setPosition(min(position, self.document().characterCount() - 1))
        rect = self.cursorRect(cursor)
        height = self.viewport().height()
        if rect.top() < 0 or rect.bottom() > height:
            bar = self.verticalScrollBar()
            bar.setValue(bar.value() + rect.top() - height // 3)

    def set_found(self, found: list[QTextEdit.ExtraSelection]) -> None:
        """Places found by a search."""
        self._found = found
        self._tint()

    def _tint(self) -> None:
        selections = []
        if 0 <= self._lit < len(self.writer):
            start, end = self.writer.span(self._lit)
            selection = QTextEdit.ExtraSelection()
            cursor = QTextCursor(self.document())
            cursor.setPosition(start)
            cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
            colour = QColor(label_colour(self.writer.block(self._lit).label))
            colour.setAlpha(46)
            format_ = QTextCharFormat()
            format_.setBackground(colour)
            format_.setProperty(QTextCharFormat.Property.FullWidthSelection, True)
            selection.cursor, selection.format = cursor, format_  # type: ignore[attr-defined]
            selections.append(selection)
        self.setExtraSelections(selections + self._found)

    def block_rect(self, index: int) -> QRect:
        """Where block `index` stands in the viewport, at full width."""
        start, end = self.writer.span(index)
        first, last = QTextCursor(self.document()), QTextCursor(self.document())
        first.setPosition(start)
        last.setPosition(end)
        top, bottom = self.cursorRect(first).top(), self.cursorRect(last).bottom()
        margin = int(self.document().documentMargin())
        return QRect(margin, top, self.viewport().width() - 2 * margin, bottom - top)

    def index_at(self, place: QPoint) -> int:
        """Block at a viewport position, -1 beside the text."""
        if not len(self.writer):
            return -1
        index = self.writer.block_at(self.cursorForPosition(place).position())
        return index if index >= 0 and self.block_rect(index).adjusted(-12, -6, 12, 6).contains(place) else -1

    # -- Qt's events ---------------------------------------------------------------------------------------

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        if not event.buttons():
            self.block_pointed.emit(self.index_at(event.position().toPoint()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        if not self.textCursor().hasSelection():
            self.block_clicked.emit(self.index_at(event.position().toPoint()))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        index = self.index_at(event.position().toPoint())
        if index >= 0:
            self.edit_wanted.emit(index)
        else:
            super().mouseDoubleClickEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.block_pointed.emit(-1)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_wanted.emit(event.globalPos(), self.index_at(event.pos()))

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            format_ = self.cursorForPosition(event.pos()).charFormat()
            if format_.hasProperty(DOUBT_PROPERTY):
                sure = float(format_.property(DOUBT_PROPERTY))
                QToolTip.showText(
                    event.globalPos(),
                    self.tr("The model was only {0} sure of this word").format(share_text(sure)),
                    self,
                )
            else:
                QToolTip.hideText()
            return True
        return super().viewportEvent(event)

    def createMimeDataFromSelection(self) -> QMimeData:
        data = QMimeData()
        selected = self.textCursor().selection()
        data.setText(selected.toPlainText().replace("\u2028", "\n").replace("\ufffc", ""))
        data.setHtml(clean_html(selected.toHtml()))
        return data


def clean_html(html: str) -> str:
    """`html` with structure alone: no attribute but spans, no address, no style, no script."""
    return nh3.clean(
        html,
        tags=_TAGS,
        attributes={"td": {"rowspan", "colspan"}, "th": {"rowspan", "colspan"}},
        url_schemes=set(),
    )


def find_all(document: QTextDocument, text: str, limit: int = 500) -> list[QTextCursor]:
    """Places of `text` in `document`, without regard to case, at most `limit`."""
    found: list[QTextCursor] = []
    cursor = QTextCursor(document)
    while text and len(found) < limit:
        cursor = document.find(text, cursor)
        if cursor.isNull():
            break
        found.append(cursor)
    return found
