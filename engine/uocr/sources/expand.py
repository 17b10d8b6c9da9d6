"""From what a person typed or dropped to the list of inputs to read, in the order a person expects."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from uocr.errors import InvalidRequest
from uocr.sources.opening import STDIN

SUFFIXES: Final = frozenset({
    ".apng", ".avif", ".bmp", ".dib", ".gif", ".heic", ".heics", ".heif", ".hif", ".ico", ".j2k", ".jfif",
    ".jp2", ".jpe", ".jpeg", ".jpf", ".jpg", ".jpx", ".mpo", ".pbm", ".pcx", ".pdf", ".pgm", ".png", ".pnm",
    ".ppm", ".psd", ".qoi", ".sgi", ".tga", ".tif", ".tiff", ".webp"})
"""Names taken from a folder; a file named on its own is tried whatever its name."""
_WEB: Final = re.compile(r"(?:https?|file|data):", re.IGNORECASE)


def natural_key(text: str) -> tuple[object, ...]:
    """A sort key: 2 comes before 10, letters compare without case, and different names never tie."""
    parts = re.split(r"(\d+)", text)
    return tuple(int(p) if n % 2 else p.casefold() for n, p in enumerate(parts)), text


def expand_inputs(args: Iterable[str | os.PathLike[str]], *, recursive: bool = True) -> list[str | Path]:
    """Files, addresses and "-" (standard input) that `args` stand for, each once.

    A folder gives the pictures and PDFs in it, with `recursive` also those in its folders, in natural order
    and without hidden files; a pattern with * ? [ ] gives the files it matches, in natural order (** spans
    folders). A file that does not exist stays in the list: opening it reports it without stopping the others.
    Raises InvalidRequest for a pattern that matches nothing or a folder with nothing to read.
    """
    found: dict[str | Path, None] = {}
    for arg in args:
        if isinstance(arg, str) and (arg == STDIN or _WEB.match(arg)):
            found[arg] = None
            continue
        text = os.fspath(arg)
        path = Path(text).expanduser()
        if path.is_dir():
            found.update(dict.fromkeys(_folder(path, recursive)))
        elif path.exists() or not glob.has_magic(text):
            found[path] = None
        else:
            found.update(dict.fromkeys(_pattern(str(path))))
    return list(found)


def _folder(folder: Path, recursive: bool) -> list[Path]:
    files: list[Path] = []
    for root, folders, names in os.walk(folder):
        folders[:] = [f for f in folders if not f.startswith(".")] if recursive else []
        files += [Path(root, name) for name in names
                  if not name.startswith(".") and Path(name).suffix.lower() in SUFFIXES]
    if not files:
        raise InvalidRequest(f"The folder {folder} holds no picture and no PDF.")
    return sorted(files, key=lambda file: tuple(natural_key(p) for p in file.relative_to(folder).parts))


def _pattern(pattern: str) -> list[Path]:
    matches = (Path(match) for match in glob.iglob(pattern, recursive=True))
    files = [path for path in matches if path.is_file()]
    if not files:
        raise InvalidRequest(f"No file matches {pattern}.")
    return sorted(files, key=lambda file: tuple(natural_key(p) for p in file.parts))
