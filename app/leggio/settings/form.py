"""Fields of a settings table as a form, one kind of widget a type."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QCheckBox, QComboBox, QFormLayout, QLineEdit, QSpinBox, QWidget

from leggio.settings.table import PRESET_CHOICES, READ_HELPS, READ_TITLES, field_type

_LIMITS = {
    "dpi": (36, 1200),
    "threads": (0, 512),
    "doubt": (0, 99),
    "text_size": (0, 40),
    "max_new_tokens": (0, 1_000_000),
    "loop_guard_hits": (1, 100_000),
    "loop_history": (0, 100_000),
    "ngram_size": (-1, 1000),
    "ngram_window": (-1, 100_000),
}
_MODEL_S_OWN = -1  # what a spin box shows for None


def tr(text: str) -> str:
    return QCoreApplication.translate("Settings", text) if text else ""


class SettingsForm(QWidget):
    """Shows `values`; `changes` are those that differ now."""

    def __init__(
        self,
        owner: type,
        fields: Iterable[dataclasses.Field[Any]],
        values: Any,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._values = values
        self._widgets: dict[str, QWidget] = {}
        form = QFormLayout(self)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.setHorizontalSpacing(16)
        form.setVerticalSpacing(10)
        for f in fields:
            title = tr(str(f.metadata.get("title") or READ_TITLES.get(f.name, f.name)))
            help_text = tr(READ_HELPS.get(f.name) or str(f.metadata["help"]))
            kind, optional = field_type(owner, f.name)
            widget = self._widget(f, kind, optional, getattr(values, f.name), title)
            widget.setToolTip(help_text)
            widget.setAccessibleName(title)
            widget.setAccessibleDescription(help_text)
            self._widgets[f.name] = widget
            form.addRow("" if isinstance(widget, QCheckBox) else title, widget)

    def _widget(
        self, f: dataclasses.Field[Any], kind: type, optional: bool, value: Any, title: str
    ) -> QWidget:
        if kind is bool:
            check = QCheckBox(title, self)
            check.setChecked(bool(value))
            return check
        choices = PRESET_CHOICES if f.name == "preset" else f.metadata.get("choices", ())
        if choices:
            box = QComboBox(self)
            for choice in choices:
                box.addItem(choice_words(choice), choice)
            box.setCurrentIndex(max(0, box.findData(value or "")))
            return box
        if kind is int:
            spin = QSpinBox(self)
            spin.setRange(*_LIMITS.get(f.name, (0, 1_000_000)))
            if optional:
                spin.setSpecialValueText(tr("as the model says"))
            spin.setValue(_MODEL_S_OWN if value is None else int(value))
            return spin
        line = QLineEdit("" if value is None else str(value), self)
        if optional:
            line.setPlaceholderText(tr("as the model says"))
        return line

    @property
    def changes(self) -> dict[str, Any]:
        """Fields whose value is another than at the start."""
        found: dict[str, Any] = {}
        for name, widget in self._widgets.items():
            before = getattr(self._values, name)
            now = self._value(widget, before)
            if now != before:
                found[name] = now
        return found

    def _value(self, widget: QWidget, before: Any) -> Any:
        if isinstance(widget, QCheckBox):
            return widget.isChecked()
        if isinstance(widget, QComboBox):
            chosen = widget.currentData()
            return chosen if chosen or isinstance(before, str) else None
        if isinstance(widget, QSpinBox):
            return None if widget.specialValueText() and widget.value() == _MODEL_S_OWN else widget.value()
        assert isinstance(widget, QLineEdit)
        return widget.text() if widget.text() or isinstance(before, str) else None


def choice_words(choice: str) -> str:
    return {
        "": tr("as the model says"),
        "system": tr("As the system"),
        "light": tr("Light"),
        "dark": tr("Dark"),
        "en": "English",
        "it": "Italiano",
        "tiny": tr("tiny (512 pixels)"),
        "small": tr("small (640 pixels)"),
        "base": tr("base (1024 pixels)"),
        "large": tr("large (1280 pixels)"),
        "gundam": tr("gundam (1024 pixels and close-ups)"),
        "fast": tr("fast"),
        "exact": tr("exact"),
    }.get(choice, choice)
