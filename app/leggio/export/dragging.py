"""The result as a file that is dragged to the Finder or into another program."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QMimeData, QPoint, QSize, Qt, QUrl
from PySide6.QtGui import QDrag, QMouseEvent
from PySide6.QtWidgets import QApplication, QToolButton, QWidget

from leggio.look.symbols import symbol
from leggio.processes import temporary_folder


class DragHandle(QToolButton):
    """Pressed and pulled, it carries the current page or document away as a Markdown file."""

    def __init__(self, make: Callable[[Path], Path | None], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._make = make
        self._press = QPoint()
        self._folder: Path | None = None
        self.setIcon(symbol("page"))
        self.setIconSize(QSize(24, 24))
        self.setAutoRaise(True)
        self.setText(self.tr("Drag out"))
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextUnderIcon)
        self.setCursor(Qt.CursorShape.OpenHandCursor)
        self.setToolTip(self.tr("Drag this to a folder or another program: it carries the text as a Markdown file"))
        self.setAccessibleName(self.tr("Drag the text out as a file"))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._press = event.position().toPoint()
        super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        far = (event.position().toPoint() - self._press).manhattanLength() >= QApplication.startDragDistance()
        if event.buttons() & Qt.MouseButton.LeftButton and far:
            self.setDown(False)
            self.start_drag()
        else:
            super().mouseMoveEvent(event)

    def start_drag(self) -> None:
        """Write the file and hand it to the system's drag."""
        self.clean_up()
        self._folder = temporary_folder()
        file = self._make(self._folder)
        if file is None:
            return
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(file))])
        data.setText(file.read_text("utf-8"))
        drag = QDrag(self)
        drag.setMimeData(data)
        drag.setPixmap(symbol("page").pixmap(QSize(32, 32)))
        drag.exec(Qt.DropAction.CopyAction)

    def clean_up(self) -> None:
        """Remove the file of the drag before: its receiver has its own copy by now."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
