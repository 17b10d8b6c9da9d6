"""Corrections by a person: of a block's text, of places that deserve a second look; each can be undone."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QObject, QRectF, Signal
from PySide6.QtGui import QUndoStack

from leggio.pages.canvas import PageCanvas
from leggio.pages.items import PageItem
from leggio.pages.model import PageModel
from leggio.transcript.editor import CorrectBlock, ReplacePage
from leggio.window.choice import PageChoice
from leggio.window.presenter import Presenter


class Corrections(QObject):
    """Pushes corrections of the current page onto the undo stack."""

    region_wanted = Signal(object)
    """QRectF in page pixels: ink that nobody read is to be read."""
    changed = Signal(object)
    """PageItem whose text is another now."""

    def __init__(
        self,
        model: PageModel,
        choice: PageChoice,
        presenter: Presenter,
        canvas: PageCanvas,
        undo: QUndoStack,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._model, self._choice, self._presenter, self._canvas, self._undo = model, choice, presenter, canvas, undo

    def correct(self) -> None:
        """Open the editor over the pinned block, else over the first."""
        self._presenter.panel.edit_block(max(0, self._presenter.pinned))

    def take(self, index: int, text: str) -> None:
        """Block `index` of the current page now says `text`."""
        item = self._presenter.item
        if item is not None and item.page is not None and index < len(item.page.blocks):
            self._undo.push(CorrectBlock(item, index, text, self.tr("Correction"), self._text_changed))

    def _text_changed(self, item: PageItem, index: int) -> None:
        if self._model.row_of(item) < 0:
            return  # its page was removed from the list meanwhile
        if item is self._presenter.item:
            self._presenter.refresh_text(index)
        else:
            self._choice.show(item)
        self.changed.emit(item)

    def next_doubtful(self) -> None:
        """Go to the next word the model was unsure of."""
        panel = self._presenter.panel
        if panel.next_doubtful() is None:
            panel.notice.tell(self.tr("The model was sure of every word of this page."))

    def mark_clicked(self, kind: str, rect: QRectF) -> None:
        """A place that deserves a second look: ink nobody read is read, a block without ink may go."""
        notice, item = self._presenter.panel.notice, self._presenter.item
        if item is None:
            return
        if kind == "missed":
            words = self.tr("There is ink here that no block covers.")
            notice.tell(words, "info", [(self.tr("Read this place"), lambda: self.region_wanted.emit(rect))])
            return
        index = self._canvas.block_of(rect)
        self._presenter.pin(index, from_text=False)
        words = self.tr("This block has text, but its place on the page is empty. It may be invented.")
        notice.tell(words, "warn", [(self.tr("Remove this block"), lambda: self._remove_block(item, index))])

    def _remove_block(self, item: PageItem, index: int) -> None:
        if item.page is not None and 0 <= index < len(item.page.blocks):
            blocks = [b for i, b in enumerate(item.page.blocks) if i != index]
            page = replace(item.page, blocks=blocks)
            self._undo.push(ReplacePage(item, page, self.tr("Remove block"), self._text_changed))
