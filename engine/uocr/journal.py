"""Pages that are done, written down one by one, so that a killed job goes on where it stopped.

A journal is a text file: a header line that binds it to the hashes of the file, the settings, the model and
the engine version (and may name the settings, to say later which one changed), then one line a page, each
with a checksum and on the disk (fsync) before `append` returns. What a kill leaves half written at the end
is cut off at the next opening. A journal that fits gives back its pages exactly as they were; one that does
not is refused, saying what changed.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import platformdirs

from uocr.document import Page
from uocr.errors import JournalMismatch, OutputFailed
from uocr.export.json_file import dump_json, page_from_record, page_record
from uocr.export.target import reason

_FORMAT = "leggio-journal 1"
_NAMES = {
    "file": "the file", "settings": "the settings", "model": "the model", "engine": "the engine version",
}

Change = Callable[[str, str, str], str]
"""Words for a setting that changed: of its name, its value then and now, both as JSON or "unknown"."""


def default_path(name: str, key: Mapping[str, str]) -> Path:
    """Where the journal of an input belongs: in the user's state folder, by its name and its content's hash.

    `name` is the input's own (a path or URL may stand before it). Settings, model and engine are not part
    of the place: a journal made with others is found and refused instead of silently starting anew.
    """
    stem = re.sub(r"[^\w.-]+", "_", name.replace("\\", "/").rstrip("/").rpartition("/")[2])[:60] or "input"
    folder = platformdirs.user_state_path("leggio", appauthor=False) / "journals"
    return folder / f"{stem}-{re.sub(r'[^0-9A-Za-z]', '', key.get('file', ''))[:16]}.jsonl"


class Journal:
    """An open journal. `pages` are those done before it was opened and since, in the order they were written."""

    def __init__(self, path: Path, file: IO[bytes], pages: list[Page]) -> None:
        self.path = path
        self.pages = pages
        self._file = file

    @classmethod
    def open(
        cls, path: Path | str, key: Mapping[str, str], details: Mapping[str, object] | None = None,
        told: Change = lambda name, then, now: f"{name}: {then} then, {now} now",
    ) -> Journal:
        """Open the journal at `path` for the job that `key` stands for, or begin one.

        `key`: hashes of what the pages depend on, by name: file, settings, model, engine. `details`: the
        settings themselves, by name; they only make a refusal say which of them changed, in the words of
        `told`. Raises
        JournalMismatch when the journal there belongs to another job (`changed` names the differing keys),
        is in use by another process or is no journal; OutputFailed when it cannot be written.
        """
        path = Path(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = open(path, "a+b")
        except OSError as error:
            raise _failed(path, error) from error
        try:
            return cls(path, file, _resume(path, file, key, details or {}, told))
        except OSError as error:
            file.close()
            raise _failed(path, error) from error
        except BaseException:
            file.close()
            raise

    def append(self, page: Page) -> None:
        """Write down `page`; after this a kill or a power cut no longer loses it. Raises OutputFailed."""
        end = self._file.seek(0, os.SEEK_END)
        try:
            _write_line(self._file, dump_json(page_record(page)))
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file.fileno(), end)  # a half line would spoil the one after it
            raise _failed(self.path, error) from error
        self.pages.append(page)

    def close(self, *, finished: bool = False) -> None:
        """Close the journal; remove it when the job is `finished` or no page is in it. Closing twice is harmless."""
        if (finished or not self.pages) and not self._file.closed:
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def discard(path: Path | str) -> None:
    """Remove a journal, so that its job starts anew; nothing happens when there is none.

    Raises JournalMismatch when another process is at work on it, OutputFailed when it cannot be removed.
    """
    path = Path(path)
    try:
        with open(path, "rb") as file:
            _lock(path, file)
            path.unlink()
    except FileNotFoundError:
        return
    except OSError as error:
        raise _failed(path, error) from error


def _failed(path: Path, error: OSError) -> OutputFailed:
    return OutputFailed(f"The journal {path} cannot be written: {reason(error)}.")


def _lock(path: Path, file: IO[bytes]) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise JournalMismatch(
            f"{path}: another process is at work on this job; let it finish or stop it.") from None


def _resume(path: Path, file: IO[bytes], key: Mapping[str, str], details: Mapping[str, object],
            told: Change) -> list[Page]:
    """The pages in `file`, whose torn end is cut off; an empty or new file gets its header."""
    _lock(path, file)
    file.seek(0)
    header = _read_line(first := file.readline())
    if header is None:
        if first.endswith(b"\n") or not _is_torn_header(first):
            raise JournalMismatch(f"{path} is no journal of Leggio; move it away or choose another place.")
        file.truncate(0)
        _write_line(file, dump_json({"format": _FORMAT, "key": dict(key), "details": dict(details)}))
        _sync_folder(path.parent)
        return []
    if header.get("format") != _FORMAT:
        raise JournalMismatch(f"{path} was written by another version of Leggio; remove it to start anew.")
    _compare(path, header["key"], key, header.get("details", {}), json.loads(dump_json(dict(details))), told)

    pages = []
    while True:
        good = file.tell()
        record = _read_line(file.readline())
        if record is None:
            break
        try:
            pages.append(page_from_record(record))
        except (KeyError, TypeError, ValueError) as error:
            raise JournalMismatch(f"{path} holds pages of another version of Leggio ({error!r}); "
                                  "remove it to start anew.") from error
    file.truncate(good)
    return pages


def _compare(path: Path, then: Mapping[str, str], now: Mapping[str, str], details_then: Mapping[str, object],
             details_now: Mapping[str, object], setting: Change) -> None:
    """Raise JournalMismatch, with old and new values, when the keys differ. Details are as JSON gives them."""
    changed = tuple(name for name in {**then, **now} if then.get(name) != now.get(name))
    if not changed:
        return
    settings = [
        setting(name, _value(details_then, name), _value(details_now, name))
        for name in {**details_then, **details_now}
        if _value(details_then, name) != _value(details_now, name)
    ]

    def told(name: str) -> str:
        if name == "settings" and settings:
            return f"{_NAMES[name]} ({'; '.join(settings)})"
        return f"{_NAMES.get(name, name)} ({_short(then.get(name))} then, {_short(now.get(name))} now)"

    raise JournalMismatch(f"{path}: since its pages were read, {' and '.join(map(told, changed))} changed; "
                          "put that back as it was, or remove the journal to start anew.", changed)


def _value(details: Mapping[str, object], name: str) -> str:
    return dump_json(details[name]) if name in details else "unknown"


def _short(value: str | None) -> str:
    return "none" if value is None else value[:12]


def _write_line(file: IO[bytes], record: str) -> None:
    # JSON has no raw line ends, and the escape for a lone surrogate is JSON's own: a record is one line of
    # UTF-8.
    data = record.encode("utf-8", "backslashreplace")
    line = memoryview(b"%08x %s\n" % (zlib.crc32(data), data))
    while line:  # straight to the descriptor: a buffer would keep what a full disk refused
        line = line[os.write(file.fileno(), line):]
    os.fsync(file.fileno())


def _read_line(line: bytes) -> dict[str, Any] | None:
    """The record of a line; None when the line is torn, altered or missing."""
    checksum, _, data = line.rstrip(b"\n").partition(b" ")
    if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(data):
        return None
    record: dict[str, Any] = json.loads(data)
    return record


def _is_torn_header(start: bytes) -> bool:
    """Whether a file without a complete line can be the beginning of a journal."""
    return re.fullmatch(rb"[0-9a-f]{0,8}|[0-9a-f]{8} .*", start) is not None and (
        len(start) < 10 or start[9:].startswith(b'{"format": "'[: len(start) - 9]))


def _sync_folder(folder: Path) -> None:
    """Make the new file's name itself survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
