"""Exports that were begun, so that what a kill leaves half written is cleaned up at the next start."""

from __future__ import annotations

import time
from pathlib import Path

from uocr.export.target import remove_leftovers

from leggio.processes import ProcessFile


class StartedExports:
    """Keeps the targets of this process's exports on the disk while they are written."""

    def __init__(self, folder: Path) -> None:
        self._file = ProcessFile(folder, "exports")
        self._targets: list[str] = []

    def begin(self, target: Path) -> None:
        self._targets.append(str(target))
        self._file.write(self._targets)

    def end(self, target: Path) -> None:
        """Written, refused or cancelled: nothing is left behind."""
        if str(target) in self._targets:
            self._targets.remove(str(target))
            self._file.write(self._targets)

    def end_all(self) -> None:
        self._targets.clear()
        self._file.write(self._targets)

    def clean(self) -> list[Path]:
        """Remove what exports of killed processes left; the targets that they did not come to write."""
        interrupted = [Path(target) for target in self._file.orphaned() if isinstance(target, str)]
        now = time.time()
        for target in interrupted:
            remove_leftovers(target, now)
        self._file.adopt()
        return interrupted
