"""Fields of a settings table as a form, one kind of widget a type."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication
from PySide6.QtWidgets import QCheckBox, QComboBox, QFormLayout, QLineEdit, QSpinBox, QWidget

from leggio.settings.table import PRESET_CHOICES, RANGES, READ_HELPS, READ_TITLES, field_type

translate = QCoreApplication.translate

_LIMITS = {
    **RANGES,
    "dpi": (36, 1200),
    "max_new_tokens": (0, 1_000_000),
    "loop_guard_hits": (1, 100_000),
    "loop_history": (0, 100_000),
    "ngram_size": (-1, 1000),
    "ngram_window": (-1, 100_000),
}
_SUFFIXES = {"dpi": " dpi", "doubt": " %", "text_size": " pt"}
_SPECIAL: dict[str, Any] = {
    "doubt": QT_TRANSLATE_NOOP("Settings", "as the model suggests"),
    "text_size": QT_TRANSLATE_NOOP("Settings", "the system's"),
    "threads": QT_TRANSLATE_NOOP("Settings", "all"),
    "max_new_tokens": QT_TRANSLATE_NOOP("Settings", "the model's limit"),
    "loop_history": QT_TRANSLATE_NOOP("Settings", "never stop"),
}
"""What the least value means, in words."""
_EMPTY: dict[str, tuple[str, Any]] = {
    "memory_budget": ("0", QT_TRANSLATE_NOOP("Settings", "80 % of this machine")),
}
"""Values that an empty line stands for, and what it says then."""
_MODEL_S_OWN = -1  # what a spin box shows for None


def shown(text: str) -> str:
    """A text of the tables, translated."""
    return QCoreApplication.translate("Settings", text) if text else ""


class SettingsForm(QWidget):
    """Shows `values`; `changes` are those that differ now."""

    def __init__(
        self,
        owner: type,
        fields: Iterable[dataclasses.Field[Any]],
        values: Any,
        parent: QWidget | None = None,
        *,
        impossible: Mapping[str, str] | None = None,
        untrained: Collection[str] = (),
    ) -> None:
        """`impossible`: fields that cannot be changed now, and why. `untrained`: presets unknown to the model."""
        super().__init__(parent)
        self._untrained = untrained
        self._values = values
        self._widgets: dict[str, QWidget] = {}
        form = QFormLayout(self)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.setHorizontalSpacing(16)
        form.setVerticalSpacing(10)
        for f in fields:
            title = shown(str(f.metadata.get("title") or READ_TITLES.get(f.name, f.name)))
            help_text = shown(READ_HELPS.get(f.name) or str(f.metadata["help"]))
            kind, optional = field_type(owner, f.name)
            widget = self._widget(f, kind, optional, getattr(values, f.name), title)
            if why := (impossible or {}).get(f.name, ""):
                widget.setEnabled(False)
                help_text = f"{help_text}\n{why}"
            widget.setToolTip(help_text)
            widget.setAccessibleName(title)
            widget.setAccessibleDescription(help_text)
            self._widgets[f.name] = widget
            form.addRow("" if isinstance(widget, QCheckBox) else title, widget)
            if (label := form.labelForField(widget)) is not None:
                label.setToolTip(help_text)

    def _widget(self, f: dataclasses.Field[Any], kind: type, optional: bool, value: Any, title: str) -> QWidget:
        if kind is bool:
            check = QCheckBox(title, self)
            check.setChecked(bool(value))
            return check
        choices = PRESET_CHOICES if f.name == "preset" else f.metadata.get("choices", ())
        if choices:
            box = QComboBox(self)
            for choice in choices:
                words = choice_words(choice)
                if f.name == "preset" and choice in self._untrained:
                    words = translate("Settings", "{0}: not trained for it").format(words)
                box.addItem(words, choice)
            box.setCurrentIndex(max(0, box.findData(value or "")))
            return box
        if kind is int:
            spin = QSpinBox(self)
            spin.setRange(*_LIMITS.get(f.name, (0, 1_000_000)))
            spin.setSuffix(_SUFFIXES.get(f.name, ""))
            if optional or f.name in _SPECIAL:
                spin.setSpecialValueText(shown(_SPECIAL.get(f.name, "as the model says")))
            spin.setValue(_MODEL_S_OWN if value is None else int(value))
            return spin
        empty, words = _EMPTY.get(f.name, (None, ""))
        line = QLineEdit("" if value == empty else str(value), self)
        if optional or words:
            line.setPlaceholderText(shown(words) or translate("Settings", "as the model says"))
        return line

    @property
    def changes(self) -> dict[str, Any]:
        """Fields whose value is another than at the start."""
        found: dict[str, Any] = {}
        for name, widget in self._widgets.items():
            before = getattr(self._values, name)
            now = self._value(name, widget, before)
            if now != before:
                found[name] = now
        return found

    def _value(self, name: str, widget: QWidget, before: Any) -> Any:
        if isinstance(widget, QCheckBox):
            return widget.isChecked()
        if isinstance(widget, QComboBox):
            chosen = widget.currentData()
            return chosen if chosen or isinstance(before, str) else None
        if isinstance(widget, QSpinBox):
            return None if widget.value() == _MODEL_S_OWN else widget.value()
        assert isinstance(widget, QLineEdit)
        if not widget.text() and name in _EMPTY:
            return _EMPTY[name][0]
        return widget.text() if widget.text() or isinstance(before, str) else None


def choice_words(choice: str) -> str:
    return {
        "": translate("Settings", "as the model says"),
        "system": translate("Settings", "As the system"),
        "light": translate("Settings", "Light"),
        "dark": translate("Settings", "Dark"),
        "en": "English",
        "it": "Italiano",
        "tiny": translate("Settings", "tiny (512 pixels)"),
        "small": translate("Settings", "small (640 pixels)"),
        "base": translate("Settings", "base (1024 pixels)"),
        "large": translate("Settings", "large (1280 pixels)"),
        "gundam": translate("Settings", "gundam (1024 pixels and close-ups)"),
        "fast": translate("Settings", "fast"),
        "exact": translate("Settings", "exact"),
    }.get(choice, choice)
