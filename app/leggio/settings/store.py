"""Settings kept between starts. Values given on the command line hold for this start and are not stored."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QObject, QSettings, Signal
from uocr.errors import InvalidRequest
from uocr.settings import ReadSettings

from leggio.settings.table import READ_HIDDEN, WindowSettings, field_type


class SettingsStore(QObject):
    """Both tables, their stored values, and the window's places."""

    changed = Signal()

    def __init__(self, storage: QSettings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._storage = storage
        self._window = _load(storage, "window", WindowSettings())
        self._read = _load(storage, "read", ReadSettings())
        self._window_now: dict[str, Any] = {}
        self._read_now: dict[str, Any] = {}

    @property
    def window(self) -> WindowSettings:
        return replace(self._window, **self._window_now)

    @property
    def read(self) -> ReadSettings:
        return replace(self._read, **self._read_now)

    def override(self, window: dict[str, Any], read: dict[str, Any]) -> None:
        """Values for this start only. Raises InvalidRequest for one that makes no sense."""
        self._window_now, self._read_now = window, read
        self._read.with_changes(read)

    def set_window(self, **changes: Any) -> None:
        """Change and store fields of the window's table."""
        self._window = replace(self._window, **changes)
        self._store("window", self._window, changes, self._window_now)

    def set_read(self, **changes: Any) -> None:
        """Change and store read settings. Raises InvalidRequest and changes nothing if they make no sense."""
        self._read = self._read.with_changes(changes)
        self._store("read", self._read, changes, self._read_now)

    def reset(self) -> None:
        """Everything as it was at the very first start, but for places and history."""
        self._storage.remove("window")
        self._storage.remove("read")
        self._window, self._read = WindowSettings(), ReadSettings()
        self.changed.emit()

    def place(self, name: str) -> Any:
        """A stored place such as the window's geometry, None when there is none."""
        return self._storage.value(f"places/{name}")

    def set_place(self, name: str, value: Any) -> None:
        self._storage.setValue(f"places/{name}", value)

    def _store(self, group: str, table: Any, changes: dict[str, Any], now: dict[str, Any]) -> None:
        for name in changes:
            now.pop(name, None)
            value = getattr(table, name)
            if value is None:
                self._storage.remove(f"{group}/{name}")
            else:
                self._storage.setValue(f"{group}/{name}", value)
        self.changed.emit()


def _load(storage: QSettings, group: str, table: Any) -> Any:
    """`table` with the stored values; one that no longer makes sense is left at its default."""
    for f in dataclasses.fields(table):
        if group == "read" and f.name in READ_HIDDEN:
            continue
        stored = storage.value(f"{group}/{f.name}")
        kind, _ = field_type(type(table), f.name)
        if stored is None:
            continue
        try:
            value: Any = str(stored).lower() in ("true", "1") if kind is bool else kind(stored)
            choices = f.metadata.get("choices", ())
            if not choices or value in choices:
                table = replace(table, **{f.name: value})
        except (TypeError, ValueError, InvalidRequest):
            continue
    return table
