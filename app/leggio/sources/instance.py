"""One window for one person: a second start hands its files to the first."""

from __future__ import annotations

import getpass
import json
from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

_CONNECT_MS = 300
_ANSWER_MS = 3000


def server_name(suffix: str = "") -> str:
    """A name of this user's own."""
    return f"leggio-{getpass.getuser()}{suffix}"


def hand_over(files: Sequence[str], name: str) -> bool:
    """Give `files` to a running Leggio. False: there is none, this is the first."""
    socket = QLocalSocket()
    socket.connectToServer(name)
    if not socket.waitForConnected(_CONNECT_MS):
        return False
    socket.write(json.dumps(list(files)).encode() + b"\n")
    socket.waitForBytesWritten(_ANSWER_MS)
    taken = socket.waitForReadyRead(_ANSWER_MS) and bytes(socket.readLine().data()).strip() == b"ok"
    socket.disconnectFromServer()
    return taken


class FirstInstance(QObject):
    """Listens for later starts."""

    handed = Signal(list)
    """Files of a later start; empty when it only wants the window in front."""

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._greet)
        if not self._server.listen(name):
            QLocalServer.removeServer(name)  # left behind by a start that was killed
            self._server.listen(name)

    def close(self) -> None:
        self._server.close()

    def _greet(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            socket.readyRead.connect(lambda s=socket: self._read(s))
            socket.disconnected.connect(socket.deleteLater)

    def _read(self, socket: QLocalSocket) -> None:
        if not socket.canReadLine():
            return
        try:
            files = json.loads(bytes(socket.readLine().data()))
        except ValueError:
            return
        socket.write(b"ok\n")
        socket.flush()
        if isinstance(files, list):
            self.handed.emit([str(f) for f in files])
