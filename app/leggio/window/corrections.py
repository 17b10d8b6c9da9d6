"""Corrections by a person: of a block's text, of places that deserve a second look; each can be undone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QRectF

from leggio.pages.items import PageItem
from leggio.transcript.editor import CorrectBlock, ReplacePage

if TYPE_CHECKING:
    from leggio.window.main_window import MainWindow


class Corrections(QObject):
    """Belongs to the window."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window

    def correct(self) -> None:
        """Open the editor over the pinned block, else over the first."""
        self._window.panel.edit_block(max(0, self._window.presenter.pinned))

    def take(self, index: int, text: str) -> None:
        """Block `index` of the current page now says `text`."""
        item = self._window.presenter.item
        if item is not None and item.page is not None and index < len(item.page.blocks):
            self._window.undo.push(CorrectBlock(item, index, text, self.tr("Correction"), self._text_changed))

    def _text_changed(self, item: PageItem, index: int) -> None:
        window = self._window
        if window.model.row_of(item) < 0:
            return  # its page was removed from the list meanwhile
        if item is window.presenter.item:
            window.presenter.refresh_text(index)
        else:
            window.pages.show_item(item)
        window.keeper.remember(item.document, window.model_name())

    def next_doubtful(self) -> None:
        """Go to the next word the model was unsure of."""
        if self._window.panel.next_doubtful() is None:
            self._window.panel.notice.tell(self.tr("The model was sure of every word of this page."))

    def mark_clicked(self, kind: str, rect: QRectF) -> None:
        """A place that deserves a second look: ink nobody read is read, a block without ink may go."""
        notice, item = self._window.panel.notice, self._window.presenter.item
        if item is None:
            return
        if kind == "missed":
            words = self.tr("There is ink here that no block covers.")
            notice.tell(
                words, "info", [(self.tr("Read this place"), lambda: self._window.page_actions.read_region(rect))]
            )
            return
        index = self._window.desk.canvas.block_of(rect)
        self._window.presenter.pin(index, from_text=False)
        words = self.tr("This block has text, but its place on the page is empty. It may be invented.")
        notice.tell(words, "warn", [(self.tr("Remove this block"), lambda: self._remove_block(item, index))])

    def _remove_block(self, item: PageItem, index: int) -> None:
        if item.page is not None and 0 <= index < len(item.page.blocks):
            blocks = [b for i, b in enumerate(item.page.blocks) if i != index]
            page = replace(item.page, blocks=blocks)
            self._window.undo.push(ReplacePage(item, page, self.tr("Remove block"), self._text_changed))
