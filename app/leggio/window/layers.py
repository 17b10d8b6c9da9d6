"""What is drawn over the page, switched by three actions and kept between starts."""

from __future__ import annotations

from PySide6.QtCore import QObject

from leggio.pages.canvas import PageCanvas
from leggio.settings.store import SettingsStore
from leggio.window.actions import Actions

LAYERS = ("show_blocks", "show_views", "show_marks")


class Layers(QObject):
    """Keeps canvas, actions and stored places alike."""

    def __init__(self, actions: Actions, canvas: PageCanvas, store: SettingsStore, parent: QObject) -> None:
        super().__init__(parent)
        self._actions, self._canvas, self._store = actions, canvas, store
        for name in LAYERS:
            place = store.place(name)
            on = name != "show_views" if place is None else str(place).lower() == "true"
            actions.check_silently(name, on)
        self.apply()

    def apply(self) -> None:
        """Show and hide as the actions say, and remember it."""
        shown = {name: self._actions[name].isChecked() for name in LAYERS}
        self._canvas.show_layers(blocks=shown["show_blocks"], views=shown["show_views"], marks=shown["show_marks"])
        for name, on in shown.items():
            self._store.set_place(name, on)
