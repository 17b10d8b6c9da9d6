"""Where results are written: a file takes its final name only when it is complete.

A regular file is written under a name of its own beside the final one (`name.XXXXXXXX.partial`, made with
O_EXCL, so that neither a file of the user nor another process is ever met) and renamed at the end. On any
failure it is removed and what stood at the final name before is untouched. A symbolic link is written
through: what it points to is replaced, the link stays. A character device, a pipe or a name of an open
descriptor (/dev/stdout) is never replaced: the whole result is copied into it when it is complete.
Sockets and block devices are refused.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import stat
import tempfile
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
    errno.ENOTDIR: "a file stands where a folder should be; choose another place",
    errno.EISDIR: "a folder has that name; choose another name",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
    errno.ELOOP: "symbolic links there lead in a circle; choose another place",
    errno.EBADF: "it is closed; open it or choose a file",
    errno.EPIPE: "its reader went away; choose a file",
}
_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr|fd/\d+)|/proc/(self|\d+)/fd/\d+")
ABANDONED_S = 86_400.0
"""Seconds without a change after which a partial file is nobody's: no export works on one file for a day."""
_LONGEST_STEM = 200
"""Bytes of the final name that a partial name begins with; names may have 255."""


def reason(error: OSError) -> str:
    """Why the system refused, and what to do: the end of a sentence, without its full stop."""
    return _REASONS.get(error.errno or 0, error.strerror or str(error))


def failed(path: Path, error: OSError) -> OutputFailed:
    """The error as a sentence with the file and what to do; the system's own is its cause."""
    told = OutputFailed(f"{path}: cannot be written: {reason(error)}.")
    told.__cause__ = error
    return told


def refuse_existing(path: Path) -> None:
    """Raise OutputExists when the name is taken."""
    if os.path.lexists(path):
        raise OutputExists(f"{path} exists already; allow overwriting or choose another name.")


def is_stream(path: Path) -> bool:
    """Whether `path` is written into and never replaced: a character device, a pipe, an open descriptor.

    Raises OutputFailed for what the system refuses to look at, and for sockets and block devices.
    """
    status = _status(path)
    if status is None:
        return False
    mode = status.st_mode
    if stat.S_ISSOCK(mode) or stat.S_ISBLK(mode):
        kind = "socket" if stat.S_ISSOCK(mode) else "block device"
        raise OutputFailed(f"{path} is a {kind} and is not written to; choose a file.")
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode) or _DESCRIPTOR.fullmatch(str(path)) is not None


def check_target(path: Path, *, overwrite: bool) -> None:
    """Find out before any work what `output_file` would refuse. Raises OutputExists, OutputFailed."""
    if is_stream(path):
        return
    if path.is_dir():
        raise OutputExists(f"{path} is a folder; choose another name.")
    if not overwrite:
        refuse_existing(path)
    check_folder(_final(path).parent, path)


def check_folder(folder: Path, named: Path | None = None) -> None:
    """Raise OutputFailed, about `named` or the folder, when no file can be made in `folder`."""
    status = _status(folder)
    number = 0
    if status is None or not stat.S_ISDIR(status.st_mode):
        number = errno.ENOENT
    elif os.statvfs(folder).f_flag & os.ST_RDONLY:
        number = errno.EROFS
    elif not os.access(folder, os.W_OK | os.X_OK):
        number = errno.EACCES
    if number:
        raise failed(named or folder, OSError(number, os.strerror(number)))
    try:  # permissions do not say all: in some folders of the system not even the superuser makes a file
        _remove(_made_partial(folder / "probe"))
    except OSError as error:
        raise failed(named or folder, error) from error


@contextlib.contextmanager
def output_file(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Give the partial name to write to; it becomes `path` when the block ends without an error.

    Raises OutputExists when the name is taken and `overwrite` is not given, OutputFailed for what the
    system refuses.
    """
    if is_stream(path):
        with _copied_into(path) as partial:
            yield partial
        return
    check_target(path, overwrite=overwrite)
    final = _final(path)
    partial = _new_partial(path, final)
    try:
        yield partial
        with open(partial, "rb") as written:
            os.fsync(written.fileno())
        if overwrite:
            with contextlib.suppress(FileNotFoundError):
                partial.chmod(stat.S_IMODE(final.stat().st_mode))
            os.replace(partial, final)
        else:
            _rename_to_free(partial, final)
    except OSError as error:
        _remove(partial)
        raise failed(path, error) from error
    except BaseException:
        _remove(partial)
        raise


def open_text(partial: Path) -> IO[str]:
    """A UTF-8 text file with "\\n" line ends; a lone surrogate that slipped through becomes "?"."""
    return open(partial, "w", encoding="utf-8", errors="replace", newline="\n")


def partial_name(final: Path) -> Path:
    """A name beside `final` that nobody else has."""
    return final.with_name(f"{_stem(final.name)}.{secrets.token_hex(4)}.partial")


def remove_leftovers(path: Path, unchanged_since: float) -> int:
    """Remove what exports to `path` left beside it when they were killed; how many files and folders that were.

    Only what bears such a name and did not change after `unchanged_since` (seconds since 1970): an export that is
    at work now is never met. What cannot be looked at or removed stays.
    """
    final = _final(path)
    name, stem, suffix = (re.escape(_stem(part)) for part in (final.name, final.stem, final.suffix))
    pattern = re.compile(rf"(?:{name}|{stem}-pictures|{stem}-\d{{4,}}{suffix})\.[0-9a-f]{{8}}\.partial(?:-\d+)?")
    removed = 0
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(final.parent)):
            if not pattern.fullmatch(entry.name):
                continue
            with contextlib.suppress(OSError):
                if entry.stat(follow_symlinks=False).st_mtime <= unchanged_since:
                    if entry.is_dir(follow_symlinks=False):
                        shutil.rmtree(entry.path)
                    else:
                        os.unlink(entry.path)
                    removed += 1
    return removed


def _stem(name: str) -> str:
    """The part of a final name that its partial name begins with."""
    return os.fsdecode(os.fsencode(name)[:_LONGEST_STEM])


def _status(path: Path) -> os.stat_result | None:
    """What `path` leads to; None when there is nothing. Raises OutputFailed."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise failed(path, error) from error


def _final(path: Path) -> Path:
    """The file that is replaced: where symbolic links lead to."""
    return Path(os.path.realpath(path))


def _new_partial(path: Path, final: Path) -> Path:
    """Make the partial file, with the permissions of any new file."""
    try:
        return _made_partial(final)
    except OSError as error:
        raise failed(path, error) from error


def _made_partial(final: Path) -> Path:
    """A new, empty partial file beside `final`. Raises OSError."""
    partial = partial_name(final)
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except FileNotFoundError as error:
        if not final.parent.is_dir():
            raise
        # What a folder of the system answers that takes no files: it is there, and nothing can be made in it.
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from error
    return partial


def _rename_to_free(partial: Path, final: Path) -> None:
    """Rename without ever replacing, even what another process made a moment ago."""
    try:
        os.link(partial, final)
    except FileExistsError:
        refuse_existing(final)
        raise
    except OSError:  # a file system without hard links: look, then rename
        refuse_existing(final)
        os.replace(partial, final)
    else:
        partial.unlink()


@contextlib.contextmanager
def _copied_into(path: Path) -> Iterator[Path]:
    """A partial file elsewhere that is copied into a device or pipe at the end."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            partial = Path(folder) / "whole"
            yield partial
            # Appending keeps what stands before in a file that /dev/stdout was redirected to.
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
            try:
                with open(partial, "rb") as whole:
                    while block := whole.read(1 << 20):
                        rest = memoryview(block)
                        while rest:
                            rest = rest[os.write(descriptor, rest) :]
            finally:
                os.close(descriptor)
    except OSError as error:
        raise failed(path, error) from error


def _remove(partial: Path) -> None:
    with contextlib.suppress(OSError):
        partial.unlink(missing_ok=True)
