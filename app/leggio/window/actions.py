"""The window's QActions and what is made of them: menus, toolbar, context menus; and which are enabled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu, QSizePolicy, QToolBar, QToolButton, QWidget

from leggio.look.symbols import symbol
from leggio.window.action_table import ENTRIES, MENUS, SEPARATOR, TOOLBAR, Entry

_FALLBACK_KEYS = {"settings": "Ctrl+,", "quit": "Ctrl+Q", "full_screen": "F11", "redo": "Ctrl+Shift+Z"}
"""For standard keys that a desktop does not have."""


def translated(text: str) -> str:
    return QCoreApplication.translate("Actions", text)


class Actions:
    """The window's QActions by name, and the menus that hold them."""

    def __init__(self, window: QMainWindow, handlers: dict[str, Callable[..., Any]]) -> None:
        self._by_name: dict[str, QAction] = {}
        self.menus: dict[str, QMenu] = {}
        for name, words in MENUS.items():
            self.menus[name] = window.menuBar().addMenu(translated(words))
        for entry in ENTRIES:
            if isinstance(entry, tuple):
                self.menus[entry[1]].addSeparator()
            else:
                self._add(window, entry, handlers[entry.name])

    def __getitem__(self, name: str) -> QAction:
        return self._by_name[name]

    def __iter__(self) -> Iterator[tuple[str, QAction]]:
        return iter(self._by_name.items())

    def _add(self, window: QMainWindow, entry: Entry, handler: Callable[..., Any]) -> None:
        action = QAction(translated(entry.words), window)
        action.setObjectName(entry.name)
        if entry.icon:
            action.setIcon(symbol(entry.icon))
        if entry.short:
            action.setIconText(translated(entry.short))
        action.setShortcut(QKeySequence(entry.keys))
        if action.shortcut().isEmpty():
            action.setShortcut(QKeySequence(_FALLBACK_KEYS.get(entry.name, "")))
        action.setCheckable(entry.checkable)
        action.setMenuRole(entry.role)
        action.setStatusTip(translated(entry.help))
        keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        action.setToolTip(f"{translated(entry.help)} ({keys})" if keys else translated(entry.help))
        (action.toggled if entry.checkable else action.triggered).connect(
            handler if entry.checkable else lambda _checked=False: handler()
        )
        self.menus[entry.menu].addAction(action)
        self._by_name[entry.name] = action

    def toolbar(self, window: QMainWindow) -> QToolBar:
        """The toolbar, made of the names in `TOOLBAR`."""
        bar = QToolBar(QCoreApplication.translate("Actions", "Tools"), window)
        bar.setObjectName("tools")
        bar.setMovable(False)
        bar.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextUnderIcon)
        for name in TOOLBAR:
            if name == SEPARATOR:
                bar.addSeparator()
            elif not name:
                space = QWidget(bar)
                space.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
                bar.addWidget(space)
            else:
                action = self._by_name[name]
                bar.addAction(action)
                button = bar.widgetForAction(action)
                if isinstance(button, QToolButton):
                    button.setAccessibleName(action.text().rstrip("…"))
        return bar

    def context_menu(self, names: Sequence[str], window: QWidget) -> QMenu:
        """A menu of some actions; "" is a line. It is gone when it closes."""
        menu = QMenu(window)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for name in names:
            if name:
                menu.addAction(self._by_name[name])
            else:
                menu.addSeparator()
        return menu

    def enable(self, enabled: Mapping[str, bool]) -> None:
        for name, on in enabled.items():
            self._by_name[name].setEnabled(on)

    def check_silently(self, name: str, on: bool) -> None:
        """Show the state of a switch without doing what switching it does."""
        action = self._by_name[name]
        action.blockSignals(True)
        action.setChecked(on)
        action.blockSignals(False)


_WITH_A_PAGE = (
    "region",
    "copy",
    "rotate",
    "rotate_left",
    "choose_pages",
    "move_up",
    "move_down",
    "remove",
    "close_all",
    "zoom_in",
    "zoom_out",
    "actual",
    "fit",
    "fit_width",
)
_WITH_ITS_TEXT = ("copy_markdown", "copy_rich", "correct", "next_doubtful")


def sensible(*, page: bool, text: bool, any_text: bool, engine: bool, reading: bool, busy: bool) -> dict[str, bool]:
    """Which actions make sense: with a current page, its text, any text at all, an open engine, a page in its hands,
    pages that wait or are read."""
    return {
        **dict.fromkeys(_WITH_A_PAGE, page),
        **dict.fromkeys(_WITH_ITS_TEXT, text),
        **dict.fromkeys(("read", "read_with"), page and engine),
        **dict.fromkeys(("export", "copy_all"), any_text),
        "pause": reading,
        "cancel": busy,
    }
