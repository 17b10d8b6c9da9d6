"""The settings window and the sheet "read with other settings"."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QTabWidget, QVBoxLayout, QWidget
from uocr.errors import UocrError
from uocr.settings import ReadSettings

from leggio.look.told import told
from leggio.settings.form import SettingsForm
from leggio.settings.store import SettingsStore
from leggio.settings.table import PRESET_CHOICES, WindowSettings, visible_read_fields

_ENGINE = ("model", "quant", "memory_budget", "threads", "precision")


def _read_form(values: ReadSettings, front_end: Mapping[str, Any], parent: QWidget) -> SettingsForm:
    """The read settings; what the open model cannot do, or does badly, is shown and says so."""
    why = QCoreApplication.translate("Settings", "The model in use was not trained for it.")
    impossible = {} if front_end.get("multi_page") else {"one_pass": why}
    if not front_end.get("read_again_below"):
        impossible["read_again"] = QCoreApplication.translate(
            "Settings", "The model in use does not say when it looks lost."
        )
    trained = front_end.get("trained_presets", PRESET_CHOICES)
    untrained = [preset for preset in PRESET_CHOICES if preset and preset not in trained]
    return SettingsForm(ReadSettings, visible_read_fields(), values, parent, impossible=impossible, untrained=untrained)


class SettingsDialog(QDialog):
    """Window, reading and engine, a tab each. `engine_changed` says whether the model must be opened anew."""

    def __init__(self, store: SettingsStore, front_end: Mapping[str, Any], parent: QWidget | None = None) -> None:
        """`front_end`: what the open model says of itself; empty when none is open."""
        super().__init__(parent)
        self._store = store
        self.engine_changed = False
        self.setWindowTitle(self.tr("Settings"))
        fields = dataclasses.fields(WindowSettings)
        self._window = SettingsForm(WindowSettings, [f for f in fields if f.name not in _ENGINE], store.window, self)
        self._read = _read_form(store.read, front_end, self)
        self._engine = SettingsForm(WindowSettings, [f for f in fields if f.name in _ENGINE], store.window, self)
        tabs = QTabWidget(self)
        tabs.setDocumentMode(False)
        for form, words in (
            (self._window, self.tr("Window")),
            (self._read, self.tr("Reading")),
            (self._engine, self.tr("Model")),
        ):
            page = QWidget(self)
            page.setAutoFillBackground(sys.platform != "darwin")  # the pane's own shade is for macOS alone
            box = QVBoxLayout(page)
            box.setContentsMargins(20, 18, 20, 18)
            box.addWidget(form)
            box.addStretch(1)
            tabs.addTab(page, words)
        self._problem = QLabel(self)
        self._problem.setWordWrap(True)
        self._problem.hide()
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel, self)
        defaults = buttons.addButton(self.tr("Defaults"), QDialogButtonBox.ButtonRole.ResetRole)
        defaults.clicked.connect(self._reset)
        buttons.accepted.connect(self._take)
        buttons.rejected.connect(self.reject)
        box = QVBoxLayout(self)
        box.setContentsMargins(18, 16, 18, 16)
        box.setSpacing(14)
        box.addWidget(tabs)
        box.addWidget(self._problem)
        box.addWidget(buttons)
        self.setMinimumWidth(max(520, self.sizeHint().width()))

    def _take(self) -> None:
        from uocr.api import parse_budget  # loads the engine: not before it is needed

        engine = self._engine.changes
        try:
            parse_budget(engine.get("memory_budget", "0"))
        except UocrError as error:
            self._refuse(error, self.tr('The memory budget needs a number with its unit, such as "512 MB" or "4 GB".'))
            return
        try:
            if self._read.changes:
                self._store.set_read(**self._read.changes)
        except UocrError as error:
            self._refuse(error, self.tr("One of the values under Reading makes no sense."))
            return
        self.engine_changed = bool(engine)
        changes = self._window.changes | engine
        if changes:
            self._store.set_window(**changes)
        self.accept()

    def _refuse(self, error: UocrError, words: str) -> None:
        """Say in the dialog what is wrong; it stays open and nothing is taken over."""
        problem = told(error, words=words)
        self._problem.setText(problem.text)
        self._problem.setToolTip(problem.detail)
        self._problem.show()

    def _reset(self) -> None:
        self._store.reset()
        self.engine_changed = True
        self.accept()


class ReadWithDialog(QDialog):
    """Settings for the chosen pages alone."""

    def __init__(
        self, settings: ReadSettings, pages: int, front_end: Mapping[str, Any], parent: QWidget | None = None
    ) -> None:
        """`pages` is how many they are for; `front_end` as in `SettingsDialog`."""
        super().__init__(parent)
        self.setWindowTitle(self.tr("Read with other settings"))
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self._settings = settings
        self._form = _read_form(settings, front_end, self)
        one, many = (
            self.tr("These hold for the chosen page only."),
            self.tr("These hold for {0} chosen pages only."),
        )
        words = QLabel(one if pages == 1 else many.format(pages), self)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel, self)
        read = buttons.addButton(self.tr("Read"), QDialogButtonBox.ButtonRole.AcceptRole)
        read.setDefault(True)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        box = QVBoxLayout(self)
        box.setContentsMargins(24, 20, 24, 18)
        box.setSpacing(16)
        box.addWidget(words)
        box.addWidget(self._form)
        box.addWidget(buttons)
        self.setMinimumWidth(max(480, self.sizeHint().width()))

    @property
    def changes(self) -> dict[str, Any]:
        return self._form.changes
