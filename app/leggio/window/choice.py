"""Which page is shown: the one that is read, until the person chooses another."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from leggio.pages.items import PageItem
from leggio.pages.list_view import PageList
from leggio.pages.model import PageModel
from leggio.reading.session import Session
from leggio.window.presenter import Presenter


class PageChoice(QObject):
    """Moves the list's current page along with reading, and shows whatever is current."""

    changed = Signal()
    """Another page, or none, is the current one."""

    def __init__(
        self,
        model: PageModel,
        pages: PageList,
        session: Session,
        presenter: Presenter,
        wanted: Callable[[], bool],
        parent: QObject | None = None,
    ) -> None:
        """`wanted`: whether the settings ask to follow at all."""
        super().__init__(parent)
        self._model, self._pages, self._session, self._presenter = model, pages, session, presenter
        self._wanted = wanted
        self._following = True
        self._moving = False
        pages.chosen.connect(self._chosen)
        session.turned_to.connect(self._turned_to)

    def follow(self) -> None:
        """From now on the page that is read is shown, until the person chooses another."""
        self._following = True

    def add(self, items: list[PageItem]) -> None:
        """Append pages; the first page of all is shown at once."""
        first = self._model.rowCount() == 0
        self._model.append(items)
        if first and items:
            self._move_to(items[0])

    def show(self, item: PageItem | None) -> None:
        """Make `item` the current page as if the person had chosen it; None: the list is empty."""
        if item is not None:
            self._pages.show_item(item)
        else:
            self._presenter.show(None)

    def show_new(self, item: PageItem) -> None:
        """Show a page that has just come in, and follow its reading unless another page is in the engine's hands."""
        self.show(item)
        if self._session.current in (None, item):
            self.follow()

    def _move_to(self, item: PageItem) -> None:
        self._moving = True
        self._pages.show_item(item)
        self._moving = False

    def _turned_to(self, item: PageItem) -> None:
        if self._following and self._wanted() and item is not self._presenter.item:
            self._move_to(item)

    def _chosen(self, item: PageItem | None) -> None:
        if not self._moving and item is not self._session.current:
            self._following = False
        if item is not self._presenter.item:
            self._presenter.show(item)
        self.changed.emit()
