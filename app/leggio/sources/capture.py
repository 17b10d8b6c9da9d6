"""A part of the screen as a picture: macOS's own tool, elsewhere the desktop portal."""

from __future__ import annotations

import secrets
import shutil
import sys
from pathlib import Path

from PySide6.QtCore import SLOT, QObject, QProcess, QUrl, Signal, Slot
from PySide6.QtDBus import QDBusConnection, QDBusInterface, QDBusMessage, QDBusObjectPath

from leggio.processes import temporary_folder

ON_MACOS = sys.platform == "darwin"
_PORTAL = "org.freedesktop.portal.Desktop"
_PORTAL_PATH = "/org/freedesktop/portal/desktop"
_SCREENSHOT = "org.freedesktop.portal.Screenshot"
_REQUEST = "org.freedesktop.portal.Request"


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
        if ON_MACOS and shutil.which("screencapture"):
            self._with_tool()
        else:
            self._with_portal()

    def _with_tool(self) -> None:
        self._target = temporary_folder() / "screen.png"
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
        # The answer is listened for before the question is put: it may come at once. The token cannot be guessed, so
        # nobody but the portal can answer.
        token = f"leggio{secrets.token_hex(8)}"
        sender = bus.baseService().removeprefix(":").replace(".", "_")
        request = f"{_PORTAL_PATH}/request/{sender}/{token}"
        self._listen(bus, request)
        answer = portal.call("Screenshot", "", {"interactive": True, "handle_token": token})
        if answer.type() == QDBusMessage.MessageType.ErrorMessage:
            self.refused.emit(self.tr("The desktop refused the screenshot: {0}").format(answer.errorMessage()))
            return
        handle = answer.arguments()[0] if answer.arguments() else None
        if isinstance(handle, QDBusObjectPath) and handle.path() != request:
            self._listen(bus, handle.path())  # portals before version 0.9 choose the place of the answer themselves

    def _listen(self, bus: QDBusConnection, path: str) -> None:
        slot = SLOT("portalAnswered(uint,QVariantMap)")
        bus.connect("", path, _REQUEST, "Response", self, slot)  # type: ignore[call-overload]

    # Declared this way, Qt decodes the answer's map itself; PySide hands an undecoded one over as it came.
    @Slot("uint", "QVariantMap")  # type: ignore[arg-type]
    def portalAnswered(self, response: int, results: dict[str, object]) -> None:
        """The portal's Response: 0 and the picture's address, or another number when there is none."""
        uri = results.get("uri", "") if response == 0 else ""
        if uri:
            self.captured.emit(Path(QUrl(str(uri)).toLocalFile()))
        else:
            self.refused.emit("")
