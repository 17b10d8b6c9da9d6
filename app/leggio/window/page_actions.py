"""What is done with the chosen pages: read, turn, move, remove."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QRectF
from PySide6.QtWidgets import QInputDialog
from uocr.errors import UocrError

from leggio.pages.items import PageItem, PageState

if TYPE_CHECKING:
    from leggio.window.main_window import MainWindow


class PageActions(QObject):
    """Belongs to the window."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window

    def read(self) -> None:
        """The chosen pages; if they were all read and nothing else is chosen, everything not read yet."""
        chosen = self._window.pages.selected_items()
        fresh = [i for i in self._window.model.items if i.state in (PageState.NEW, PageState.CANCELLED)]
        self._window.follow()
        self._window.session.read(fresh if fresh and len(chosen) < 2 and all(i.state.over for i in chosen) else chosen)

    def read_region(self, rect: QRectF) -> None:
        """Read only `rect` (page pixels) of the current page; its text takes its place in the page's."""
        item = self._window.presenter.item
        self._window.actions_["region"].setChecked(False)
        if item is not None:
            self._window.session.region[item.key] = (
                int(rect.left()),
                int(rect.top()),
                round(rect.right()),
                round(rect.bottom()),
            )
            self._window.session.read([item])

    def rotate(self, degrees: int) -> None:
        """Turn the chosen pages; what was read of them no longer fits and is read again."""
        chosen = self._window.pages.selected_items()
        self._window.session.cancel_pages(chosen)
        for item in chosen:
            item.rotate = (item.rotate + degrees) % 360
            item.page = None
            self._window.pictures.forget(item)
            self._window.model.set_state(item, PageState.NEW)
        if self._window.presenter.item in chosen:
            self._window.presenter.reload()
        if self._window.store.window.read_at_once:
            self._window.session.read(chosen)

    def remove(self, items: Sequence[PageItem]) -> None:
        """Take pages off the list; the files stay."""
        if not items:
            return
        row = self._window.model.row_of(items[0])
        self._window.session.cancel_pages(items)
        self._window.model.remove(items)
        following = self._window.model.item(min(row, self._window.model.rowCount() - 1))
        if following is not None:
            self._window.pages.show_item(following)
        else:
            self._window.presenter.show(None)
        self._window.update_actions()

    def close_all(self) -> None:
        """Empty the list."""
        self._window.opener.stop()
        self._window.session.cancel()
        self._window.undo.clear()
        self.remove(list(self._window.model.items))

    def move(self, by: int) -> None:
        """Move the chosen pages one place up (-1) or down (1)."""
        chosen = self._window.pages.selected_items()
        rows = [self._window.model.row_of(i) for i in chosen]
        if chosen:
            self._window.model.move(
                chosen, max(0, rows[0] - 1) if by < 0 else min(self._window.model.rowCount(), rows[-1] + 2)
            )

    def choose_pages(self) -> None:
        """Keep only some pages of the current document."""
        # Brings the PDF library, which starting must not wait for.
        from uocr.sources.ranges import choose_pages

        item = self._window.presenter.item
        if item is None:
            return
        document = item.document
        text, given = QInputDialog.getText(
            self._window,
            self.tr("Choose pages"),
            self.tr("Pages of {0} to keep, such as 1-3,7,-1").format(document.name),
        )
        if not given:
            return
        try:
            keep = set(choose_pages(text, document.count, document.name))
        except UocrError as error:
            self._window.desk.notice.tell(str(error), "warn")
            return
        self.remove([i for i in self._window.model.items if i.document is document and i.number not in keep])
