"""The middle of the window: the page with a line of notice above it."""

from __future__ import annotations

from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from leggio.look.notice import Notice
from leggio.pages.canvas import PageCanvas


class PageDesk(QWidget):
    """A notice, and below it either the welcome or the page."""

    def __init__(self, welcome: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.notice = Notice(self)
        self.canvas = PageCanvas(self)
        self._stack = QStackedWidget(self)
        self._stack.addWidget(welcome)
        self._stack.addWidget(self.canvas)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        box.addWidget(self.notice)
        box.addWidget(self._stack, 1)

    def show_page(self, page: bool) -> None:
        """The page, or the welcome."""
        self._stack.setCurrentIndex(1 if page else 0)

    @property
    def shows_page(self) -> bool:
        return self._stack.currentIndex() == 1
