"""One window for one person: a second start hands its files to the first."""

from __future__ import annotations

import getpass
import json
from collections.abc import Sequence

from PySide6.QtCore import QDir, QLockFile, QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

_CONNECT_MS = 300
_ANSWER_MS = 3000
_ATTEMPTS = 5


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


def claim(files: Sequence[str], name: str) -> FirstInstance | None:
    """Be the first Leggio, or None after the files were handed to the one that is.

    Of two that start at the same moment one gets the lock. A first one that does not answer, because it hangs, does
    not keep a person from working: then this one works beside it.
    """
    first = FirstInstance(name)
    if first.listening or not any(hand_over(files, name) for _ in range(_ATTEMPTS)):
        return first
    return None


class FirstInstance(QObject):
    """Listens for later starts, if no other does."""

    handed = Signal(list)
    """Files of a later start; empty when it only wants the window in front."""

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._greet)
        # Listening alone would not do: it silently takes the name away from another server.
        self._lock = QLockFile(f"{QDir.tempPath()}/{name}.lock")
        self._lock.setStaleLockTime(0)  # stale only when its process is gone
        if self._lock.tryLock(0):
            self._server.listen(name)

    @property
    def listening(self) -> bool:
        return self._server.isListening()

    def close(self) -> None:
        self._server.close()
        self._lock.unlock()

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
