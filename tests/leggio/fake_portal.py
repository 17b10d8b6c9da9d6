"""A desktop portal that answers every screenshot request with one picture: fake_portal.py PICTURE|refuse."""

from __future__ import annotations

import subprocess
import sys

from PySide6.QtCore import QCoreApplication, QTimer, QUrl
from PySide6.QtDBus import QDBusConnection, QDBusMessage, QDBusObjectPath, QDBusVirtualObject

PATH = "/org/freedesktop/portal/desktop"


class Portal(QDBusVirtualObject):
    """org.freedesktop.portal.Screenshot, as far as Leggio asks for it."""

    def introspect(self, path: str) -> str:
        return (
            '<interface name="org.freedesktop.portal.Screenshot"><method name="Screenshot">'
            '<arg type="s" direction="in"/><arg type="a{sv}" direction="in"/><arg type="o" direction="out"/>'
            "</method></interface>"
        )

    def handleMessage(self, message: QDBusMessage, connection: QDBusConnection) -> bool:
        if message.member() != "Screenshot":
            return False
        path = f"{PATH}/request/chosen/by_the_portal"
        reply = message.createReply()
        reply.setArguments([QDBusObjectPath(path)])
        connection.send(reply)
        QTimer.singleShot(300, lambda: answer(path))
        return True


def answer(path: str) -> None:
    """The Response signal, sent by gdbus: PySide cannot say that a number is unsigned."""
    refused = sys.argv[1] == "refuse"
    results = "@a{sv} {}" if refused else f"{{'uri': <'{QUrl.fromLocalFile(sys.argv[1]).toString()}'>}}"
    signal = ["--signal", "org.freedesktop.portal.Request.Response", "uint32 1" if refused else "uint32 0", results]
    subprocess.run(["gdbus", "emit", "--session", "--object-path", path, *signal], check=True)


def main() -> int:
    application = QCoreApplication([])
    bus = QDBusConnection.sessionBus()
    portal = Portal()
    bus.registerVirtualObject(PATH, portal, QDBusConnection.VirtualObjectRegisterOption.SubPath)
    bus.registerService("org.freedesktop.portal.Desktop")
    print("ready", flush=True)
    return application.exec()


if __name__ == "__main__":
    sys.exit(main())
