"""What can be done, with one click, about a page that was not read to its end."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from uocr.errors import EncryptedFile, InvalidRequest, OverBudget

from leggio.look.notice import Choice
from leggio.pages.items import PageItem, PageState
from leggio.pages.model import PageModel
from leggio.reading.session import Session
from leggio.settings.store import SettingsStore

SMALLER_PRESET = {"gundam": "base", "large": "base", "base": "small", "small": "tiny"}
"""The next preset that takes less memory."""
SMALLER_QUANT = {"f32": "f16", "f16": "q8", "q8": "q4"}


class WaysOut(QObject):
    """Says what there is to choose, and does it or asks for it by a signal."""

    password_wanted = Signal(object)
    """PageItem of an encrypted document."""
    other_settings_wanted = Signal()
    settings_wanted = Signal()
    engine_wanted = Signal()
    """The settings name another model file now: open it."""

    def __init__(self, session: Session, model: PageModel, store: SettingsStore, parent: QObject) -> None:
        super().__init__(parent)
        self._session, self._model, self._store = session, model, store

    def of(self, item: PageItem) -> list[Choice]:
        """Words and deeds for `item`."""
        if isinstance(item.failure, EncryptedFile):
            return [(self.tr("Enter password…"), lambda: self.password_wanted.emit(item))]
        if isinstance(item.failure, OverBudget):
            return self._smaller(item)
        if item.state in (PageState.FAILED, PageState.CUT, PageState.LOOPED, PageState.CANCELLED):
            return [
                *self._fewer(item),
                (self.tr("Read again"), lambda: self._session.read([item])),
                (self.tr("Other settings…"), self.other_settings_wanted.emit),
            ]
        return []

    def of_refused_engine(self, error: Exception) -> list[Choice]:
        """For a model that could not be opened: a budget that is too small, or makes no sense, is one click away."""
        return [self._budget()] if isinstance(error, OverBudget | InvalidRequest) else []

    def _budget(self) -> Choice:
        return self.tr("Memory budget…"), self.settings_wanted.emit

    def _smaller(self, item: PageItem) -> list[Choice]:
        choices = self._fewer(item)
        smaller, facts = self._smaller_preset(item), self._session.facts
        if smaller is not None and not choices:  # pages in one pass have but one kind of view
            choices.append((self.tr("Smaller views"), lambda: self._read_with_preset(item, smaller)))
        quant = SMALLER_QUANT.get(facts.info.profile) if facts is not None else None
        # A file that was chosen itself, like the built-in model, has one quantisation.
        named = self._store.window.model != "built-in" and not self._store.window.model.endswith(".uocr")
        if quant is not None and named:
            choices.append((self.tr("Use {0}").format(quant), lambda: self._use_quant(item, quant)))
        return [*choices, self._budget()]

    def _smaller_preset(self, item: PageItem) -> str | None:
        """The next smaller preset that the model was trained with."""
        trained = self._session.front_end.get("trained_presets")
        preset = SMALLER_PRESET.get(str(item.settings.get("preset") or self._session.preset))
        while preset is not None and trained is not None and preset not in trained:
            preset = SMALLER_PRESET.get(preset)
        return preset

    def _fewer(self, item: PageItem) -> list[Choice]:
        """For pages that were read in one pass: fewer of them at a time."""
        together, most = item.in_pass, len(item.in_pass) // 2
        if isinstance(item.failure, OverBudget) and 0 < item.failure.most_pages < len(together):
            most = item.failure.most_pages
        choices: list[Choice] = []
        if most > 1:
            words = self.tr("{0} pages at a time").format(most)
            choices.append((words, lambda: self._read_fewer(together, most)))
        if most:
            choices.append((self.tr("One page at a time"), lambda: self._read_fewer(together, 1)))
        return choices

    def _read_fewer(self, items: tuple[PageItem, ...], most: int) -> None:
        left = [i for i in items if self._model.row_of(i) >= 0]
        for item in left:
            item.together = most
        self._session.read(left)

    def _read_with_preset(self, item: PageItem, preset: str) -> None:
        item.settings["preset"] = preset
        self._session.read([item])

    def _use_quant(self, item: PageItem, quant: str) -> None:
        self._store.set_window(quant=quant)
        self.engine_wanted.emit()
        self._session.read([item])
