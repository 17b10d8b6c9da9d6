"""From what a person typed or dropped to the list of inputs to read, in the order a person expects."""

from __future__ import annotations

import glob
import logging
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Final

from uocr.errors import EmptyDocument, InvalidRequest, UnreadableFile
from uocr.sources.opening import STDIN, scheme_of, split_address

SUFFIXES: Final = frozenset({
    ".apng", ".avif", ".bmp", ".dib", ".gif", ".heic", ".heics", ".heif", ".hif", ".ico", ".j2k", ".jfif",
    ".jp2", ".jpe", ".jpeg", ".jpf", ".jpg", ".jpx", ".mpo", ".pbm", ".pcx", ".pdf", ".pgm", ".png", ".pnm",
    ".ppm", ".psd", ".qoi", ".sgi", ".tga", ".tif", ".tiff", ".webp"})
"""Names taken from a folder; a file named on its own is tried whatever its name."""
_log = logging.getLogger(__name__)


class EmptyFolder(EmptyDocument, InvalidRequest):
    """A folder with nothing to read. Also an InvalidRequest, so that callers can tell it from an empty file."""


def natural_key(text: str) -> tuple[object, ...]:
    """A sort key: 2 comes before 10, letters compare without case, and different names never tie."""
    parts = re.split(r"(\d+)", text)
    return tuple(int(p) if n % 2 else p.casefold() for n, p in enumerate(parts)), text


@dataclass(frozen=True, slots=True)
class Input:
    """One thing to read. `root` is the folder it was found in by a folder or pattern, None when it was named."""

    name: str | Path
    root: Path | None = None


def expand_input(arg: str | os.PathLike[str], *, recursive: bool = True) -> list[Input]:
    """What one argument stands for; see `expand_inputs`.

    Raises UnreadableFile for an empty name, a pattern that matches nothing or a folder that cannot be listed,
    EmptyFolder for a folder with nothing to read, InvalidRequest for an address that has no parts. Addresses of
    a kind that is not understood pass, as missing files do: opening them reports it.
    """
    if isinstance(arg, str):
        scheme = scheme_of(arg)
        if scheme not in ("", "data"):
            split_address(arg)
        if scheme or arg == STDIN:
            return [Input(arg)]
    text = os.fspath(arg)
    if not text:  # a variable that is not set; as a path it would mean the current folder
        raise UnreadableFile('The name of an input is empty; name a file, or "." for the current folder.')
    try:
        path = Path(text).expanduser()
    except RuntimeError:  # "~name" of nobody is a file name like any other
        path = Path(text)
    if os.path.isdir(path):
        return [Input(file, path) for file in _folder(path, recursive)]
    if os.path.lexists(path) or not glob.has_magic(text):
        return [Input(path)]
    root = Path(*takewhile(lambda part: not glob.has_magic(part), path.parts[:-1]))
    return [Input(file, root) for file in _pattern(str(path))]


def expand_inputs(args: Iterable[str | os.PathLike[str]], *, recursive: bool = True) -> list[str | Path]:
    """Files, addresses and "-" (standard input) that `args` stand for, each once.

    A folder gives the pictures and PDFs in it, with `recursive` also those in its folders, in natural order
    and without hidden files; a pattern with * ? [ ] gives the files it matches, in natural order (** spans
    folders). A file that does not exist, or whose name the system refuses, stays in the list: opening it
    reports it without stopping the others. Raises what `expand_input` raises at the first such argument.
    """
    return list(dict.fromkeys(found.name for arg in args for found in expand_input(arg, recursive=recursive)))


def _folder(folder: Path, recursive: bool) -> list[Path]:
    def unlisted(error: OSError) -> None:
        if error.filename == os.fspath(folder):
            raise UnreadableFile(f"The folder {folder} cannot be listed: {error.strerror}.") from error
        _log.warning("The folder %s cannot be listed and is left out: %s.", error.filename, error.strerror)

    files: list[Path] = []
    for root, folders, names in os.walk(folder, onerror=unlisted):
        folders[:] = [f for f in folders if not f.startswith(".")] if recursive else []
        files += [Path(root, name) for name in names
                  if not name.startswith(".") and Path(name).suffix.lower() in SUFFIXES]
    if not files:
        raise EmptyFolder(f"The folder {folder} holds no picture and no PDF.")
    return sorted(files, key=lambda file: tuple(natural_key(p) for p in file.relative_to(folder).parts))


def _pattern(pattern: str) -> list[Path]:
    files = [Path(match) for match in glob.iglob(pattern, recursive=True) if os.path.isfile(match)]
    if not files:
        raise UnreadableFile(f"No file matches {pattern}.")
    return sorted(files, key=lambda file: tuple(natural_key(p) for p in file.parts))
