"""Where results are written: a file takes its final name only when it is complete.

Everything goes to `name.partial` beside the final name. On any failure the partial file is removed and what
stood at the final name before is untouched.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from uocr.errors import OutputExists, OutputFailed

_REASONS = {
    errno.ENOSPC: "the disk is full; free some space or choose another disk",
    errno.EDQUOT: "the disk quota is used up; free some space or choose another disk",
    errno.EFBIG: "the file grew beyond the size allowed here; choose another disk",
    errno.EROFS: "the disk is read-only; choose another place",
    errno.EACCES: "writing there is not allowed; choose another place",
    errno.EPERM: "writing there is not allowed; choose another place",
    errno.ENOENT: "the folder does not exist; create it first",
    errno.ENOTDIR: "the folder does not exist; create it first",
    errno.EISDIR: "a folder has that name; choose another name",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
}


def failed(path: Path, error: OSError) -> OutputFailed:
    """The error as a sentence with the file and what to do."""
    reason = _REASONS.get(error.errno or 0, error.strerror or str(error))
    return OutputFailed(f"{path}: cannot be written: {reason}.")


def refuse_existing(path: Path) -> None:
    """Raise OutputExists when the name is taken."""
    if os.path.lexists(path):
        raise OutputExists(f"{path} exists already; allow overwriting or choose another name.")


@contextlib.contextmanager
def output_file(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Give the partial name to write to; rename it to `path` when the block ends without an error.

    Raises OutputExists when the name is taken and `overwrite` is not given, OutputFailed for what the
    system refuses.
    """
    if not overwrite:
        refuse_existing(path)
    if path.is_dir():
        raise OutputExists(f"{path} is a folder; choose another name.")
    partial = path.with_name(path.name + ".partial")
    try:
        yield partial
        with open(partial, "rb") as written:
            os.fsync(written.fileno())
        if not overwrite:
            refuse_existing(path)  # someone else may have taken the name meanwhile
        os.replace(partial, path)
    except OSError as error:
        _remove(partial)
        raise failed(path, error) from error
    except BaseException:
        _remove(partial)
        raise


def open_text(partial: Path) -> IO[str]:
    """A UTF-8 text file with "\\n" line ends; a lone surrogate that slipped through becomes "?"."""
    return open(partial, "w", encoding="utf-8", errors="replace", newline="\n")


def _remove(partial: Path) -> None:
    with contextlib.suppress(OSError):
        partial.unlink(missing_ok=True)
