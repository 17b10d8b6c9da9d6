"""What can be done, with one click, about a page that was not read to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from uocr.errors import EncryptedFile, OverBudget

from leggio.look.notice import Choice
from leggio.pages.items import PageItem, PageState

if TYPE_CHECKING:
    from leggio.window.main_window import MainWindow

SMALLER_PRESET = {"gundam": "base", "large": "base", "multi-page": "base", "base": "small", "small": "tiny"}
"""The next preset that takes less memory."""
SMALLER_QUANT = {"f32": "f16", "f16": "q8", "q8": "q4"}


class WaysOut(QObject):
    """Belongs to the window."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window

    def of(self, item: PageItem) -> list[Choice]:
        """Words and deeds for `item`."""
        window = self._window
        if isinstance(item.failure, EncryptedFile):
            return [(self.tr("Enter password…"), lambda: window.intake.ask_password(item))]
        if isinstance(item.failure, OverBudget):
            return self._smaller(item)
        if item.state in (PageState.FAILED, PageState.CUT, PageState.LOOPED, PageState.CANCELLED):
            return [
                (self.tr("Read again"), lambda: window.session.read([item])),
                (self.tr("Other settings…"), window.sheets.read_with),
            ]
        return []

    def _smaller(self, item: PageItem) -> list[Choice]:
        choices: list[Choice] = []
        smaller = SMALLER_PRESET.get(self._preset(item))
        if smaller is not None:
            choices.append((self.tr("Smaller views"), lambda: self._read_with_preset(item, smaller)))
        facts = self._window.session.facts
        quant = SMALLER_QUANT.get(facts.info.profile) if facts is not None else None
        if quant is not None and self._window.store.window.model != "built-in":
            choices.append((self.tr("Use {0}").format(quant), lambda: self._use_quant(item, quant)))
        return [*choices, (self.tr("Memory budget…"), self._window.sheets.settings)]

    def _preset(self, item: PageItem) -> str:
        facts = self._window.session.facts
        default = facts.front_end.get("default_preset", "base") if facts is not None else "base"
        return str(item.settings.get("preset") or self._window.store.read.preset or default)

    def _read_with_preset(self, item: PageItem, preset: str) -> None:
        item.settings["preset"] = preset
        self._window.session.read([item])

    def _use_quant(self, item: PageItem, quant: str) -> None:
        self._window.store.set_window(quant=quant)
        self._window.open_engine()
        self._window.session.read([item])
