"""Corrections by a person: of a block's text, of places that deserve a second look; each can be undone.

So can whatever takes the place of a text that was there: reading again, reading a region, turning the page.
"""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QObject, QRectF, Signal
from PySide6.QtGui import QUndoStack
from uocr.audit import Audit

from leggio.pages.canvas import PageCanvas
from leggio.pages.items import PageItem, PageState, Reading, state_of
from leggio.pages.model import PageModel
from leggio.transcript.editor import CorrectBlock, PageStep, ReplaceReading
from leggio.window.choice import PageChoice
from leggio.window.presenter import Presenter


class Corrections(QObject):
    """Pushes corrections of the current page onto the undo stack."""

    region_wanted = Signal(object)
    """QRectF in page pixels: ink that nobody read is to be read."""
    changed = Signal(object)
    """PageItem whose text is another now."""
    gave_way = Signal(str)
    """A sentence: corrections are not in the text any more, and undo brings them back."""

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
        doubted = item.state is PageState.UNSURE
        if item.page is not None and item.state in (PageState.DONE, PageState.UNSURE):
            self._model.set_state(item, state_of(item.page))  # what was corrected is no longer the model's doubt
        if item is self._presenter.item:
            self._presenter.refresh_text(index)
            if doubted or item.state is PageState.UNSURE:
                self._presenter.show_notice()
        else:
            self._choice.show(item)
        self.changed.emit(item)

    # -- readings that give way ----------------------------------------------------------------------------

    def replaced(self, item: PageItem, before: Reading, whole: bool = True) -> None:
        """`before` gave way to another reading of `item`, all of it or only in a region."""
        self._undo.push(ReplaceReading(item, before, self.tr("Read again"), self._reading_changed))
        if whole and before.edited:
            words = self.tr("What was corrected on {0} gave way to a new reading; Undo brings it back.")
            self.gave_way.emit(words.format(item.title))

    def _reading_changed(self, item: PageItem, turned: bool) -> None:
        if self._model.row_of(item) < 0:
            return
        item.failure, item.error = None, ""
        self._model.set_state(item, state_of(item.page) if item.page is not None else PageState.NEW)
        if turned and item is self._presenter.item:
            self._presenter.reload()
        self._text_changed(item, -1)

    # -- undo ----------------------------------------------------------------------------------------------

    def can_undo(self) -> bool:
        return self._free(range(self._undo.index() - 1, -1, -1))

    def can_redo(self) -> bool:
        return self._free(range(self._undo.index(), self._undo.count()))

    def undo(self) -> None:
        """Undo the last step on a page that is still in the list."""
        while self.can_undo():
            listed = self._listed(self._undo.index() - 1)
            self._undo.undo()
            if listed:
                return

    def redo(self) -> None:
        """Do again the next step on a page that is still in the list."""
        while self.can_redo():
            listed = self._listed(self._undo.index())
            self._undo.redo()
            if listed:
                return

    def _listed(self, place: int) -> bool:
        return self._model.row_of(self._step(place).item) >= 0

    def _step(self, place: int) -> PageStep:
        step = self._undo.command(place)
        assert isinstance(step, PageStep)
        return step

    def _free(self, places: range) -> bool:
        """Whether the first step that can be seen may be taken: its page is not about to be read."""
        first = next((place for place in places if self._listed(place)), None)
        return first is not None and self._step(first).item.state not in (PageState.WAITING, PageState.READING)

    # -- a second look -------------------------------------------------------------------------------------

    def next_doubtful(self) -> None:
        """Go to the next word the model was unsure of."""
        panel = self._presenter.panel
        if panel.next_doubtful() is None:
            panel.notice.tell(self.tr("The model was sure of every word of this page."))

    def looked(self, item: PageItem, found: Audit) -> None:
        """A page without text that has ink is not blank."""
        if item.state is PageState.BLANK and item.page is not None and found.missed:
            item.page.has_ink = True  # exports say so as well
            self._model.set_state(item, PageState.NO_TEXT)
            if item is self._presenter.item:
                self._presenter.show_notice()

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
            before = Reading.of(item)
            Reading(replace(item.page, blocks=blocks), True, item.rotate).put_back(item)
            self._undo.push(ReplaceReading(item, before, self.tr("Remove block"), self._reading_changed))
            self._reading_changed(item, False)
