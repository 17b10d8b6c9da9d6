"""Coming and going: the window's places between starts, and the one question before quitting."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QCoreApplication
from PySide6.QtWidgets import QMainWindow, QMessageBox, QSplitter

from leggio.settings.store import SettingsStore

translate = QCoreApplication.translate


def restore_places(window: QMainWindow, splitter: QSplitter, store: SettingsStore) -> None:
    """Where and how large the window was."""
    geometry, parts = store.place("geometry"), store.place("parts")
    if isinstance(geometry, QByteArray):
        window.restoreGeometry(geometry)
    else:
        window.resize(1240, 800)
    if isinstance(parts, QByteArray):
        splitter.restoreState(parts)


def store_places(window: QMainWindow, splitter: QSplitter, store: SettingsStore) -> None:
    store.set_place("geometry", window.saveGeometry())
    store.set_place("parts", splitter.saveState())


def ask_before_quitting(window: QMainWindow, reading: bool, exporting: bool) -> bool:
    """Whether to go. Asks once, and only when something would be stopped."""
    if not reading and not exporting:
        return True
    box = QMessageBox(window)
    box.setIcon(QMessageBox.Icon.Question)
    box.setText(
        translate("Quit", "Pages are still being read.")
        if reading
        else translate("Quit", "A file is still being written.")
    )
    box.setInformativeText(
        translate("Quit", "Pages that are done are kept; reading can go on at the next start.")
        if reading
        else translate("Quit", "If you quit now, the file is not written.")
    )
    leave = box.addButton(translate("Quit", "Stop and quit"), QMessageBox.ButtonRole.DestructiveRole)
    stay = box.addButton(translate("Quit", "Stay"), QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(stay)
    box.setEscapeButton(stay)
    box.exec()
    return box.clickedButton() is leave
