"""What is done with the chosen pages: read, turn, move, remove."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, QRectF, Signal
from PySide6.QtWidgets import QInputDialog, QWidget
from uocr.errors import UocrError

from leggio.look.notice import Choice, Notice
from leggio.look.told import told
from leggio.pages.items import DocumentItem, PageItem, PageState, Reading
from leggio.pages.list_view import PageList
from leggio.pages.model import PageModel
from leggio.pages.pictures import PagePictures
from leggio.reading.session import Session
from leggio.settings.store import SettingsStore
from leggio.window.choice import PageChoice
from leggio.window.presenter import Presenter


class PageActions(QObject):
    """Acts on the pages that are chosen in the list."""

    changed = Signal()
    """Pages came or went: what can be done is not what it was."""
    turned = Signal(object, object)
    """(PageItem, its Reading before it was turned)."""
    region_taken = Signal()
    """A region was drawn and is read."""

    def __init__(
        self,
        model: PageModel,
        pages: PageList,
        pictures: PagePictures,
        session: Session,
        presenter: Presenter,
        choice: PageChoice,
        store: SettingsStore,
        notice: Notice,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._model, self._pages, self._pictures, self._session = model, pages, pictures, session
        self._presenter, self._choice, self._store, self._notice = presenter, choice, store, notice
        self._window = window

    def read(self) -> None:
        """The chosen pages; if they were all read and nothing else is chosen, everything not read yet."""
        chosen = self._pages.selected_items()
        fresh = [i for i in self._model.items if i.state in (PageState.NEW, PageState.CANCELLED)]
        self._choice.follow()
        self._session.read(fresh if fresh and len(chosen) < 2 and all(i.state.over for i in chosen) else chosen)

    def read_region(self, rect: QRectF) -> None:
        """Read only `rect` (page pixels) of the current page; its text takes its place in the page's."""
        item = self._presenter.item
        self.region_taken.emit()
        if item is not None:
            corners = int(rect.left()), int(rect.top()), round(rect.right()), round(rect.bottom())
            self._session.region[item.key] = corners
            self._session.read([item])

    def ways_out(self, item: PageItem) -> list[Choice]:
        """For a page that gave no text, or none that is sure: the ways it may have to be turned."""
        hardly = item.state.over and item.page is not None and item.page.hardly_sure
        if not hardly and item.state is not PageState.NO_TEXT:
            return []
        # A page on its side mostly gives nothing, one that is upside down letters that look alike.
        upside_down = (self.tr("Turn around"), lambda: self._turn([item], 180, read=True))
        sides: list[Choice] = [  # three buttons stand in a narrow panel: translations are short
            (self.tr("Turn right"), lambda: self._turn([item], 90, read=True)),
            (self.tr("Turn left"), lambda: self._turn([item], 270, read=True)),
        ]
        return [upside_down, *sides] if hardly else [*sides, upside_down]

    def rotate(self, degrees: int) -> None:
        """Turn the chosen pages; what was read of them no longer fits and is read again. Undo brings it back."""
        self._turn(self._pages.selected_items(), degrees, read=self._store.window.read_at_once)

    def _turn(self, chosen: Sequence[PageItem], degrees: int, read: bool) -> None:
        self._session.cancel_pages(chosen)
        for item in chosen:
            before = Reading.of(item)
            Reading(None, False, (item.rotate + degrees) % 360).put_back(item)
            self._pictures.forget(item)
            self._model.set_state(item, PageState.NEW)
            if before.page is not None:
                self.turned.emit(item, before)
        if self._presenter.item in chosen:
            self._presenter.reload()
        if read:
            self._session.read(chosen)

    def remove_chosen(self) -> None:
        self.remove(self._pages.selected_items())

    def remove_document(self, document: DocumentItem) -> None:
        self.remove([i for i in self._model.items if i.document is document])

    def remove(self, items: Sequence[PageItem]) -> None:
        """Take pages off the list; the files stay."""
        if not items:
            return
        row = self._model.row_of(items[0])
        self._session.cancel_pages(items)
        self._model.remove(items)
        self._choice.show(self._model.item(min(row, self._model.rowCount() - 1)))
        self.changed.emit()

    def remove_all(self) -> None:
        """Empty the list."""
        self._session.cancel()
        self.remove(list(self._model.items))

    def move(self, by: int) -> None:
        """Move the chosen pages one place up (-1) or down (1)."""
        chosen = self._pages.selected_items()
        if chosen:
            rows = [self._model.row_of(i) for i in chosen]
            self._model.move(chosen, max(0, rows[0] - 1) if by < 0 else min(self._model.rowCount(), rows[-1] + 2))

    def choose_pages(self) -> None:
        """Keep only some pages of the current document."""
        # Brings the PDF library, which starting must not wait for.
        from uocr.sources.ranges import choose_pages

        item = self._presenter.item
        if item is None:
            return
        document = item.document
        words = self.tr("Pages of {0} to keep, such as 1-3,7,-1").format(document.name)
        text, given = QInputDialog.getText(self._window, self.tr("Choose pages"), words)
        if not given:
            return
        try:
            keep = set(choose_pages(text, document.count, document.name))
        except UocrError as error:
            words = self.tr("{0} is no choice among the {1} pages of {2}; write it as 1-3,7,-1.")
            self._notice.tell(told(error, words=words.format(text, document.count, document.name)), "warn")
            return
        self.remove([i for i in self._model.items if i.document is document and i.number not in keep])
