"""The find bar under the text."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QTextEdit, QToolButton, QWidget

from leggio.look.symbols import symbol

_LIMIT = 500


class FindBar(QWidget):
    """Says what to look for and walks the places found."""

    sought = Signal(str)
    """The text changed."""
    stepped = Signal(int)
    """1: next place, -1: the one before."""
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._field = QLineEdit(self)
        self._field.setPlaceholderText(self.tr("Find in the text"))
        self._field.setAccessibleName(self.tr("Find in the text"))
        self._field.setClearButtonEnabled(True)
        self._count = QLabel(self)
        self._count.setMinimumWidth(70)
        line = QHBoxLayout(self)
        line.setContentsMargins(12, 6, 8, 6)
        line.addWidget(self._field, 1)
        line.addWidget(self._count)
        for name, words, act in (
            ("previous", self.tr("Previous place"), lambda: self.stepped.emit(-1)),
            ("next", self.tr("Next place"), lambda: self.stepped.emit(1)),
            ("close", self.tr("Close"), self.leave),
        ):
            button = QToolButton(self)
            button.setIcon(symbol(name))
            button.setAutoRaise(True)
            button.setToolTip(words)
            button.setAccessibleName(words)
            button.clicked.connect(act)
            line.addWidget(button)
        self._field.textChanged.connect(self.sought)
        self._field.returnPressed.connect(lambda: self.stepped.emit(1))
        self.hide()

    @property
    def text(self) -> str:
        return self._field.text()

    def enter(self, text: str = "") -> None:
        """Open the bar; `text` (such as the selection) becomes what is looked for."""
        self.show()
        if text:
            self._field.setText(text)
        self._field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._field.selectAll()
        self.sought.emit(self._field.text())

    def leave(self) -> None:
        self.hide()
        self.closed.emit()

    def tell(self, place: int, count: int) -> None:
        """Which place of how many is shown; `place` counts from 1."""
        if not self._field.text():
            self._count.setText("")
        elif not count:
            self._count.setText(self.tr("Not found"))
        else:
            more = "+" if count >= _LIMIT else ""
            self._count.setText(self.tr("{0} of {1}").format(place, f"{count}{more}"))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.leave()
        else:
            super().keyPressEvent(event)


def highlights(found: list[QTextCursor], current: int) -> list[QTextEdit.ExtraSelection]:
    """Every place found in yellow, the current one in orange; black text on both, in light and dark."""
    selections = []
    for number, cursor in enumerate(found):
        selection = QTextEdit.ExtraSelection()
        format_ = QTextCharFormat()
        format_.setBackground(QColor("#ffb03a" if number == current else "#ffe58a"))
        format_.setForeground(QColor("#1d1d1f"))
        selection.cursor, selection.format = cursor, format_  # type: ignore[attr-defined]
        selections.append(selection)
    return selections
