"""What each running Leggio writes down for the next start, in case it is killed."""

from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)

_FOLDER = "leggio-"


class ProcessFile:
    """A JSON list in `STEM-PROCESS.json`. Files of processes that are gone are orphans."""

    def __init__(self, folder: Path, stem: str) -> None:
        self._folder, self._stem = folder, stem

    @property
    def path(self) -> Path:
        """This process's own."""
        return self._folder / f"{self._stem}-{os.getpid()}.json"

    def write(self, records: Sequence[Any]) -> None:
        """Keep `records`; an empty list removes the file. A folder that cannot be written is logged, no more."""
        try:
            if not records:
                self.path.unlink(missing_ok=True)
                return
            self._folder.mkdir(parents=True, exist_ok=True)
            partial = self.path.with_name(self.path.name + ".partial")
            partial.write_text(json.dumps(records), "utf-8", "surrogateescape")
            os.replace(partial, self.path)
        except OSError as error:
            log.info("%s is not written down: %s", self.path.name, error)

    def orphaned(self) -> list[Any]:
        """Records of processes that are gone; a file that is damaged is passed over."""
        found: list[Any] = []
        for path in self._orphans():
            try:
                records = json.loads(path.read_text("utf-8", "surrogateescape"))
            except (OSError, ValueError) as error:
                log.info("%s is passed over: %s", path.name, error)
                continue
            found += records if isinstance(records, list) else []
        return found

    def adopt(self) -> None:
        """The orphaned records are taken care of: their files go, half-written ones with them."""
        for path in self._orphans():
            for each in (path, path.with_name(path.name + ".partial")):
                each.unlink(missing_ok=True)

    def _orphans(self) -> list[Path]:
        names = {p.with_name(p.name.removesuffix(".partial")) for p in self._folder.glob(f"{self._stem}-*.json*")}
        found = []
        for path in sorted(names):
            process = path.stem.removeprefix(f"{self._stem}-")
            if process.isdecimal() and not is_alive(int(process)):
                found.append(path)
        return found


def temporary_folder() -> Path:
    """A new folder of this process's own. `remove_temporary` removes it."""
    return Path(tempfile.mkdtemp(prefix=f"{_FOLDER}{os.getpid()}-"))


def remove_temporary() -> None:
    """Remove the temporary folders of this process, and of those that are gone."""
    for path in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*"):
        process = path.name.removeprefix(_FOLDER).partition("-")[0]
        if process.isdecimal() and (int(process) == os.getpid() or not is_alive(int(process))):
            shutil.rmtree(path, ignore_errors=True)


def is_alive(process: int) -> bool:
    """Whether a process of that number runs on this machine, whoever owns it."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
