"""Corrections: a small editor over the block, and the command that can be undone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from PySide6.QtCore import QRect, Qt, Signal
from PySide6.QtGui import QFocusEvent, QFont, QFontMetricsF, QKeyEvent, QUndoCommand
from PySide6.QtWidgets import QPlainTextEdit, QWidget
from uocr.document import Block
from uocr.markup.grid import begins_rows
from uocr.markup.tables import printed_again, tags_in

from leggio.pages.items import PageItem, Reading


class BlockEditor(QPlainTextEdit):
    """Lies over a block's text while it is corrected. Leaving it keeps the text, Escape does not."""

    finished = Signal(int, str)
    """(block, corrected text)."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._index = -1
        self._before = ""
        self.setAccessibleName(self.tr("Correct this block"))
        self.setStyleSheet("QPlainTextEdit { border: 2px solid palette(highlight); border-radius: 4px; }")
        self.hide()

    @property
    def index(self) -> int:
        """The block being corrected, -1 when none is."""
        return self._index

    def edit(self, index: int, text: str, place: QRect, font: QFont, *, tabs: bool = False) -> None:
        """Open over `place` (in the parent's pixels) with the text as it stands. tabs: they part the cells of a row."""
        words = self.tr("Click elsewhere or press Ctrl+Return to keep the text, Escape to leave it as it was")
        self.setToolTip(self.tr("Tabs part the cells of a row. {0}").format(words) if tabs else words)
        self.setTabChangesFocus(not tabs)
        self.setTabStopDistance(16 * QFontMetricsF(font).averageCharWidth() if tabs else 80)
        self.setFont(font)
        self._index, self._before = index, text
        self.setPlainText(text)
        height = max(place.height() + 14, self.fontMetrics().lineSpacing() * 3 + 16)
        parent = self.parentWidget()
        limit = parent.height() if parent is not None else height
        height = min(height, limit - 8)
        self.setGeometry(
            QRect(place.left() - 6, min(max(4, place.top() - 8), limit - height - 4), place.width() + 12, height)
        )
        self.show()
        self.setFocus(Qt.FocusReason.MouseFocusReason)

    def keep(self) -> None:
        """Take the correction over."""
        index, self._index = self._index, -1
        self._leave()
        if index >= 0 and self.toPlainText() != self._before:
            self.finished.emit(index, self.toPlainText())

    def drop(self) -> None:
        """Leave the text as it was."""
        self._index = -1
        self._leave()

    def _leave(self) -> None:
        viewport = self.parentWidget()
        view = viewport.parentWidget() if viewport is not None else None
        if self.hasFocus() and view is not None:
            view.setFocus()  # else Qt hands the focus to whatever comes next
        self.hide()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.drop()
        elif (
            event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
            and event.modifiers() & Qt.KeyboardModifier.ControlModifier
        ):
            self.keep()
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() != Qt.FocusReason.PopupFocusReason:
            self.keep()


class PageStep(QUndoCommand):
    """A step that changed what the page `item` says."""

    def __init__(self, item: PageItem, words: str) -> None:
        super().__init__(words)
        self.item = item


class CorrectBlock(PageStep):
    """A block's text was changed by a person: it is no longer the model's, so its doubts go."""

    def __init__(
        self, item: PageItem, index: int, text: str, words: str, changed: Callable[[PageItem, int], None]
    ) -> None:
        super().__init__(item, words)
        assert item.page is not None
        self._index, self._changed = index, changed
        self._before = item.page.blocks[index]
        printed: tuple[int, ...] = ()
        if self._before.printed_tags:
            table = begins_rows(text)
            printed = printed_again(self._before.text, self._before.printed_tags, text) if table else tags_in(text)
        self._after = dataclasses.replace(self._before, text=text, words=[], confidence=None, printed_tags=printed)

    def redo(self) -> None:
        self._set(self._after)

    def undo(self) -> None:
        self._set(self._before)

    def _set(self, block: Block) -> None:
        # Whatever replaces a page with text is a step as well, so the page is again the one this step was made on.
        assert self.item.page is not None
        self.item.page.blocks[self._index] = block
        self.item.edited = True
        self._changed(self.item, self._index)


class ReplaceReading(PageStep):
    """All a page says was replaced, before this step is pushed: it was read again, turned, or lost a block.

    `before` comes back with undo; `changed(item, whether it lies another way now)` follows.
    """

    def __init__(self, item: PageItem, before: Reading, words: str, changed: Callable[[PageItem, bool], None]) -> None:
        super().__init__(item, words)
        self._other, self._changed = before, changed
        self._pushed = False

    def redo(self) -> None:
        if self._pushed:
            self.undo()
        self._pushed = True

    def undo(self) -> None:
        """Put back what is not there now, and keep what is."""
        now = Reading.of(self.item)
        self._other.put_back(self.item)
        turned = self._other.rotate != now.rotate
        self._other = now
        self._changed(self.item, turned)
