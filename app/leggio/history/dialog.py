"""The history: search, open again, forget."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QDateTime, QLocale, QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QFont, QPainter, QPalette
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QMessageBox,
    QPushButton,
    QStyle,
    QStyledItemDelegate,
    QVBoxLayout,
    QWidget,
)

from leggio.history.store import HistoryStore, Past
from leggio.look.colours import colours


class _PastDelegate(QStyledItemDelegate):
    """Name, when and how, the beginning of the text: three lines, the first of them strong."""

    def sizeHint(self, option: Any, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(200, 3 * option.fontMetrics.lineSpacing() + 20)

    def paint(self, painter: QPainter, option: Any, index: QModelIndex | QPersistentModelIndex) -> None:
        painter.save()
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        palette, role = option.palette, QPalette.ColorRole
        if selected:
            painter.fillRect(option.rect, palette.highlight())
        strong = palette.color(role.HighlightedText if selected else role.Text)
        quiet = strong if selected else colours(palette).quiet
        line = option.fontMetrics.lineSpacing()
        place = QRect(option.rect.left() + 12, option.rect.top() + 8, option.rect.width() - 24, line)
        lines = str(index.data(Qt.ItemDataRole.DisplayRole)).split("\n", 2)
        weights = QFont.Weight.DemiBold, QFont.Weight.Normal, QFont.Weight.Normal
        for text, colour, weight in zip(lines, (strong, quiet, strong), weights, strict=True):
            font = QFont(option.font)
            font.setWeight(weight)
            painter.setFont(font)
            painter.setPen(colour)
            shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, place.width())
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, shown)
            place.translate(0, line + 2)
        if not selected:
            painter.setPen(colours(palette).line)
            painter.drawLine(option.rect.bottomLeft(), option.rect.bottomRight())
        painter.restore()


class HistoryDialog(QDialog):
    """Stays open while documents are opened from it."""

    open_wanted = Signal(object)
    """Past."""

    def __init__(self, store: HistoryStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.setWindowTitle(self.tr("History"))
        self._field = QLineEdit(self)
        self._field.setPlaceholderText(self.tr("Search in names and text"))
        self._field.setAccessibleName(self.tr("Search in names and text"))
        self._field.setClearButtonEnabled(True)
        self._list = QListWidget(self)
        self._list.setItemDelegate(_PastDelegate(self._list))
        self._list.setUniformItemSizes(True)
        self._list.setAccessibleName(self.tr("Documents read before"))
        self._note = QLabel(store.problem.text, self)
        self._note.setToolTip(store.problem.detail)
        self._note.setWordWrap(True)
        self._note.setVisible(bool(store.problem))
        self._open = QPushButton(self.tr("Open"), self)
        self._open.setDefault(True)
        self._forget = QPushButton(self.tr("Forget"), self)
        self._forget_all = QPushButton(self.tr("Forget all…"), self)
        close = QPushButton(self.tr("Close"), self)
        line = QHBoxLayout()
        for button in (self._forget_all, self._forget):
            line.addWidget(button)
        line.addStretch(1)
        for button in (close, self._open):
            line.addWidget(button)
        box = QVBoxLayout(self)
        box.setContentsMargins(20, 18, 20, 16)
        box.setSpacing(12)
        box.addWidget(self._field)
        box.addWidget(self._note)
        box.addWidget(self._list, 1)
        box.addLayout(line)
        self._field.textChanged.connect(self._seek)
        self._list.itemActivated.connect(lambda _: self._open_chosen())
        self._list.itemSelectionChanged.connect(self._update)
        self._open.clicked.connect(self._open_chosen)
        self._forget.clicked.connect(self._forget_chosen)
        self._forget_all.clicked.connect(self._ask_forget_all)
        close.clicked.connect(self.reject)
        self.resize(620, 460)
        self._seek("")

    def _seek(self, words: str) -> None:
        self._list.clear()
        for past in self._store.search(words):
            when = QLocale().toString(QDateTime.fromSecsSinceEpoch(int(past.read_at)), QLocale.FormatType.ShortFormat)
            pages = self.tr("1 page") if past.pages == 1 else self.tr("{0} pages").format(past.pages)
            model = self.tr("Built-in model") if past.model == "built-in" else past.model
            item = QListWidgetItem(f"{past.name}\n{when} · {pages} · {model}\n{past.snippet}")
            item.setData(Qt.ItemDataRole.UserRole, past)
            item.setToolTip(str(past.path))
            self._list.addItem(item)
        if self._list.count():
            self._list.setCurrentRow(0)
        self._update()

    def _update(self) -> None:
        chosen = bool(self._list.selectedItems())
        self._open.setEnabled(chosen)
        self._forget.setEnabled(chosen)
        self._forget_all.setEnabled(self._list.count() > 0)

    def _chosen(self) -> Past | None:
        items = self._list.selectedItems()
        return items[0].data(Qt.ItemDataRole.UserRole) if items else None

    def _open_chosen(self) -> None:
        past = self._chosen()
        if past is not None:
            self.open_wanted.emit(past)
            self.accept()

    def _forget_chosen(self) -> None:
        past = self._chosen()
        if past is not None:
            self._store.remove(past.id)
            self._seek(self._field.text())

    def _ask_forget_all(self) -> None:
        answer = QMessageBox.question(
            self,
            self.tr("Forget all"),
            self.tr("Forget every document of the history? The files themselves stay."),
        )
        if answer == QMessageBox.StandardButton.Yes:
            self._store.clear()
            self._seek("")
