"""Copying, checked: what was written is read back before it is called copied."""

from __future__ import annotations

import ctypes
import ctypes.util
import sys

from PySide6.QtCore import QCoreApplication, QMimeData
from PySide6.QtGui import QClipboard, QGuiApplication

from leggio.look.units import number_text

translate = QCoreApplication.translate


def copy(text: str, html: str = "", clipboard: QClipboard | None = None) -> tuple[bool, str]:
    """Put `text` (and the same as HTML) on the clipboard: (whether it is there, one sentence about it)."""
    clipboard = clipboard or QGuiApplication.clipboard()
    data = QMimeData()
    data.setText(text)
    if html:
        data.setHtml(html)
    clipboard.setMimeData(data)
    if clipboard.text() != text:
        return False, translate(
            "Clipboard",
            "The clipboard did not take the text: another program may be holding it. Try again, or use Export.",
        )
    if not text:
        return False, translate("Clipboard", "There is no text to copy yet.")
    words = translate("Clipboard", "Copied {0} characters.").format(number_text(len(text)))
    if not stays_after_quit():
        words += " " + translate(
            "Clipboard",
            "Leave Leggio open until you have pasted: this desktop forgets the clipboard of programs that quit.",
        )
    return True, words


def stays_after_quit() -> bool:
    """Whether copied text outlives the program. On X11 only when a clipboard manager runs."""
    if sys.platform == "darwin" or QGuiApplication.platformName() != "xcb":
        return True
    return _has_clipboard_manager()


def _has_clipboard_manager() -> bool:
    library = ctypes.util.find_library("X11")
    if library is None:
        return False
    x11 = ctypes.CDLL(library)
    x11.XOpenDisplay.restype = ctypes.c_void_p
    x11.XInternAtom.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]
    x11.XInternAtom.restype = ctypes.c_ulong
    x11.XGetSelectionOwner.argtypes = [ctypes.c_void_p, ctypes.c_ulong]
    x11.XGetSelectionOwner.restype = ctypes.c_ulong
    x11.XCloseDisplay.argtypes = [ctypes.c_void_p]
    display = x11.XOpenDisplay(None)
    if not display:
        return False
    try:
        return bool(x11.XGetSelectionOwner(display, x11.XInternAtom(display, b"CLIPBOARD_MANAGER", 0)))
    finally:
        x11.XCloseDisplay(display)
