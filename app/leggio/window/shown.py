"""What copying and exporting may know of the window (`leggio.export.controller.Shown`)."""

from __future__ import annotations

from collections.abc import Sequence

from uocr.document import Block

from leggio.pages.items import PageItem
from leggio.pages.list_view import PageList
from leggio.pages.model import PageModel
from leggio.reading.engine import EngineFacts
from leggio.reading.session import Session
from leggio.settings.store import SettingsStore
from leggio.window.presenter import Presenter


class ShownPages:
    """Reads the list, the page that is shown, and the engine."""

    def __init__(
        self, model: PageModel, pages: PageList, presenter: Presenter, session: Session, store: SettingsStore
    ) -> None:
        self._model, self._pages, self._presenter = model, pages, presenter
        self._session, self._store = session, store

    @property
    def item(self) -> PageItem | None:
        return self._presenter.item

    @property
    def blocks(self) -> Sequence[Block]:
        return self._presenter.blocks

    def all_items(self) -> Sequence[PageItem]:
        return self._model.items

    def chosen_items(self) -> Sequence[PageItem]:
        return self._pages.selected_items()

    def facts(self) -> EngineFacts | None:
        return self._session.facts

    def dpi(self) -> float:
        return self._store.read.dpi
