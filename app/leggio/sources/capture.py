"""A part of the screen as a picture: macOS's own tool, elsewhere the desktop portal."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from PySide6.QtCore import QObject, QProcess, QUrl, Signal, Slot
from PySide6.QtDBus import QDBusConnection, QDBusInterface, QDBusMessage, QDBusObjectPath

_PORTAL = "org.freedesktop.portal.Desktop"
_PORTAL_PATH = "/org/freedesktop/portal/desktop"
_SCREENSHOT = "org.freedesktop.portal.Screenshot"


class ScreenCapture(QObject):
    """One capture at a time; exactly one signal follows each `start`."""

    captured = Signal(object)
    """Path of the picture."""
    refused = Signal(str)
    """Why there is none; empty when the person gave it up."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._process: QProcess | None = None
        self._target = Path()

    def start(self) -> None:
        if sys.platform == "darwin" and shutil.which("screencapture"):
            self._with_tool()
        else:
            self._with_portal()

    def _with_tool(self) -> None:
        self._target = Path(tempfile.mkdtemp(prefix="leggio-")) / "screen.png"
        self._process = QProcess(self)
        self._process.finished.connect(self._tool_done)
        self._process.start("screencapture", ["-i", "-x", str(self._target)])

    def _tool_done(self, code: int) -> None:
        if code == 0 and self._target.is_file():
            self.captured.emit(self._target)
        else:
            self.refused.emit("")

    def _with_portal(self) -> None:
        bus = QDBusConnection.sessionBus()
        portal = QDBusInterface(_PORTAL, _PORTAL_PATH, _SCREENSHOT, bus) if bus.isConnected() else None
        if portal is None or not portal.isValid():
            self.refused.emit(
                self.tr(
                    "Parts of the screen cannot be captured here: this desktop offers no "
                    "screenshot portal. Take a screenshot with the desktop's own tool and paste it."
                )
            )
            return
        answer = portal.call("Screenshot", "", {"interactive": True})
        if answer.type() == QDBusMessage.MessageType.ErrorMessage or not answer.arguments():
            self.refused.emit(self.tr("The desktop refused the screenshot: {0}").format(answer.errorMessage()))
            return
        handle = answer.arguments()[0]
        path = handle.path() if isinstance(handle, QDBusObjectPath) else str(handle)
        bus.connect(_PORTAL, path, "org.freedesktop.portal.Request", "Response", self, "portalAnswered(QDBusMessage)")

    @Slot(QDBusMessage)
    def portalAnswered(self, message: QDBusMessage) -> None:
        arguments = message.arguments()
        uri = arguments[1].get("uri", "") if len(arguments) > 1 and arguments[0] == 0 else ""
        if uri:
            self.captured.emit(Path(QUrl(str(uri)).toLocalFile()))
        else:
            self.refused.emit("")
