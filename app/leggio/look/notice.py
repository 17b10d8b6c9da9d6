"""A line that tells what happened, where the person is looking, and what can be done about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLayout,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from leggio.look.colours import colours
from leggio.look.symbols import symbol
from leggio.look.told import Told
from leggio.look.units import elided

Choice = tuple[str, Callable[[], None]]


class Row(NamedTuple):
    """A line of the table under the text: a name, its number, what the name means (on hover)."""

    name: str
    number: str
    help: str = ""
    strong: bool = False


_Shown = tuple[Told, str, Sequence[Choice], Sequence[Row]]
_LONG_WORD = re.compile(r"[^\s/\\-]{49,}")
"""No line can be broken in it, so that it would push the end of the sentence out of sight."""
MOMENT_MS = 5000
"""How long a mention stays."""


class Notice(QWidget):
    """Hidden until `tell`. `kind` is "info", "warn" or "bad"."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._kind = "info"
        self._text = QLabel(self)
        self._text.setWordWrap(True)
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._text.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.MinimumExpanding)
        self._close = QToolButton(self)
        self._close.setIcon(symbol("close"))
        self._close.setAutoRaise(True)
        self._close.setToolTip(self.tr("Dismiss"))
        self._close.setAccessibleName(self.tr("Dismiss"))
        self._close.clicked.connect(self.dismiss)
        self._shown: _Shown = (Told(""), "info", (), ())
        self._before: _Shown | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._moment_over)
        self._rows: list[Row] = []
        self._acts: dict[str, Callable[[], None]] = {}
        self._table = QGridLayout()
        self._table.setContentsMargins(0, 0, 0, 0)
        self._table.setHorizontalSpacing(24)
        self._table.setVerticalSpacing(2)
        self._table.setColumnStretch(2, 1)
        self._buttons = QHBoxLayout()
        self._buttons.setContentsMargins(0, 0, 0, 0)
        line = QHBoxLayout()
        line.addWidget(self._text, 1)
        line.addWidget(self._close, 0, Qt.AlignmentFlag.AlignTop)
        box = QVBoxLayout(self)
        box.setContentsMargins(14, 8, 8, 8)
        box.setSpacing(6)
        box.addLayout(line)
        box.addLayout(self._table)
        box.addLayout(self._buttons)
        self.hide()

    @property
    def text(self) -> str:
        """What is told; empty when nothing is."""
        return self._text.text() if not self.isHidden() else ""

    def detail_rows(self) -> list[tuple[str, str]]:
        """The table under the text, row by row: name and number."""
        return [(row.name, row.number) for row in self._rows]

    def choices(self) -> list[str]:
        """The words on the buttons."""
        return list(self._acts)

    def choose(self, words: str) -> None:
        """What a click on that button does."""
        act = self._acts[words]
        self.dismiss()
        act()

    @property
    def detail(self) -> str:
        """What the hover over the text says more."""
        return self._text.toolTip()

    def tell(
        self,
        text: str | Told,
        kind: str = "info",
        choices: Sequence[Choice] = (),
        rows: Sequence[Row] = (),
    ) -> None:
        """Show `text`, a table of `rows` and a button for every choice, until it is dismissed."""
        self._timer.stop()
        self._before = None
        self._show(text if isinstance(text, Told) else Told(text), kind, choices, rows)

    def mention(self, text: str) -> None:
        """Show `text` for a moment; what was told before comes back."""
        if not self._timer.isActive():
            self._before = None if self.isHidden() else self._shown
        self._show(Told(text), "info", (), ())
        self._timer.start(MOMENT_MS)

    def _moment_over(self) -> None:
        if self._before is not None:
            self.tell(*self._before)
        else:
            self.hide()

    def _show(self, told: Told, kind: str, choices: Sequence[Choice], rows: Sequence[Row]) -> None:
        self._shown = (told, kind, choices, rows)
        self._kind = kind
        shown = _LONG_WORD.sub(lambda word: elided(word.group()), told.text)
        self._text.setText(shown)
        self._text.setToolTip(told.detail or (told.text if shown != told.text else ""))
        self.setAccessibleName(told.text)
        self.setAccessibleDescription(told.detail)
        self._empty(self._buttons)
        self._empty(self._table)
        self._rows = list(rows)
        for place, row in enumerate(rows):
            name, number = QLabel(row.name, self), QLabel(row.number, self)
            number.setAlignment(Qt.AlignmentFlag.AlignRight)
            for column, label in enumerate((name, number)):
                label.setToolTip(row.help)
                font = label.font()
                font.setBold(row.strong)
                label.setFont(font)
                self._table.addWidget(label, place, column)
        self._acts = dict(choices)
        for words in self._acts:
            button = QPushButton(words, self)
            button.clicked.connect(lambda _=False, words=words: self.choose(words))
            self._buttons.addWidget(button)
        if choices:
            self._buttons.addStretch(1)
        self.show()
        self.update()

    def _empty(self, layout: QLayout) -> None:
        while (taken := layout.takeAt(0)) is not None:
            if (widget := taken.widget()) is not None:
                widget.hide()
                widget.deleteLater()

    def dismiss(self) -> None:
        self._timer.stop()
        self.hide()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        tones = colours(self.palette())
        colour = QColor({"info": tones.frame, "warn": tones.warn, "bad": tones.bad}[self._kind])
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), self.palette().base())
            tint = QColor(colour)
            tint.setAlpha(28)
            painter.fillRect(self.rect(), tint)
            painter.fillRect(0, 0, 3, self.height(), colour)
