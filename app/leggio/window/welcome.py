"""What is seen before anything is opened."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from leggio.look.colours import colours
from leggio.look.symbols import draw_symbol


class _Sheet(QWidget):
    """A sheet of paper in a dashed frame."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setFixedSize(96, 96)

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            quiet = QColor(colours(self.palette()).quiet)
            painter.setPen(QPen(quiet, 1.6, Qt.PenStyle.DashLine))
            painter.drawRoundedRect(QRectF(2, 2, 92, 92), 16, 16)
            draw_symbol(painter, QRectF(24, 24, 48, 48), "page", quiet)


class _QuietWords(QLabel):
    """Secondary text that goes on in another line where it must."""

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setPen(colours(self.palette()).quiet)
            flags = self.alignment() | Qt.TextFlag.TextWordWrap
            painter.drawText(self.contentsRect(), int(flags), self.text())


class Welcome(QWidget):
    """Says what to do, offers the ways in."""

    open_wanted = Signal()
    paste_wanted = Signal()
    sample_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        title = QLabel(self.tr("Drop a scan, a picture or a PDF here"), self)
        font = QFont(title.font())
        font.setPointSizeF(font.pointSizeF() * 1.6)
        font.setWeight(QFont.Weight.Medium)
        title.setFont(font)
        words = _QuietWords(self.tr("It is read on this machine and goes nowhere else."), self)
        self._languages = _QuietWords("", self)
        for label in (title, words, self._languages):
            label.setWordWrap(True)
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        for text, sent, default in (
            (self.tr("Open…"), self.open_wanted, True),
            (self.tr("Paste"), self.paste_wanted, False),
            (self.tr("Try a sample page"), self.sample_wanted, False),
        ):
            button = QPushButton(text, self)
            button.setMinimumWidth(max(96, button.sizeHint().width()))
            button.setDefault(default)
            button.clicked.connect(sent)
            buttons.addWidget(button)
        buttons.addStretch(1)
        box = QVBoxLayout(self)
        box.addStretch(5)
        box.addWidget(_Sheet(self), 0, Qt.AlignmentFlag.AlignHCenter)
        box.addSpacing(18)
        box.addWidget(title)
        box.addSpacing(4)
        box.addWidget(words)
        box.addSpacing(20)
        box.addLayout(buttons)
        box.addSpacing(20)
        box.addWidget(self._languages)
        box.addStretch(6)

    def tell_languages(self, words: str) -> None:
        """What the open model reads; empty: it does not say."""
        self._languages.setText(words)
