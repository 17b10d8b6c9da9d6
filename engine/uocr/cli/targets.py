"""Where the results of `uocr read` go: the format, one place an input, all checked before any work."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from urllib.parse import unquote, urlsplit

import platformdirs

from uocr.errors import InvalidRequest, OutputExists
from uocr.export import FORMATS
from uocr.export.target import check_folder, check_target, failed, is_stream
from uocr.sources import STDIN, Input
from uocr.sources.opening import path_of_address

_SUFFIXES = {name: name for name in FORMATS} | {"htm": "html", "markdown": "md"}
_LONGEST_PART = 180
"""Bytes of a file name made of an input's name; the rest of 255 is for suffixes and page numbers."""


@dataclass(frozen=True, slots=True)
class Output:
    """What -o names: a folder that gets one file an input, or one file."""

    path: Path
    is_folder: bool

    @classmethod
    def parse(cls, text: str) -> Output:
        """A folder is one that exists, ends with "/", or has no suffix and does not exist."""
        if not text:
            raise InvalidRequest("-o is empty; name a file or folder.")
        path = Path(text)
        return cls(
            path,
            text.endswith("/") or os.path.isdir(path) or not (path.suffix or os.path.lexists(path)),
        )


def choose_format(format: str | None, output: Output | None) -> str:
    """The format: what was asked for, else what the suffix of -o says, else md. InvalidRequest when they differ."""
    choices = ", ".join(FORMATS)
    if format is not None and format not in FORMATS:
        raise InvalidRequest(f"--format is {format!r}; choose one of {choices}.")
    if output is None:
        if format in ("docx", "pdf"):
            raise InvalidRequest(f"A {format} file cannot be shown on the screen; name a file or folder with -o.")
        return format or "md"
    suffix = output.path.suffix.lstrip(".").lower()
    if output.is_folder or not suffix:
        return format or "md"
    meant = _SUFFIXES.get(suffix)
    if meant is None and format is None:
        raise InvalidRequest(
            f"{output.path} ends in .{suffix}, which is no format; choose one of {choices} as suffix or with "
            "--format, or end the name of a folder with /."
        )
    if meant is not None and format is not None and meant != format:
        raise InvalidRequest(
            f"{output.path} ends in .{suffix}, but the format asked for is {format}; let them agree."
        )
    return format or meant or "md"


class Targets:
    """The file that each input's result is written to."""

    def __init__(
        self, output: Output, format: str, inputs: Sequence[Input], *, per_page: bool, overwrite: bool
    ) -> None:
        self.output, self.format, self.per_page, self.overwrite = output, format, per_page, overwrite
        self._inputs = inputs
        self._made: list[Path] = []
        if output.is_folder:
            places = place_names(inputs)
            self._files = {name: output.path / f"{place}.{format}" for name, place in places.items()}
        elif len(inputs) > 1 and not is_stream(output.path):
            raise InvalidRequest(
                f"-o {output.path} names one file, but there are {len(inputs)} inputs; "
                f"name a folder, such as {output.path.with_suffix('')}/."
            )
        else:
            self._files = {found.name: output.path for found in inputs}

    def __getitem__(self, name: str | Path) -> Path:
        return self._files[name]

    def check(self) -> None:
        """Refuse before any work what could not be written at the end, and always an input as output.

        Raises OutputExists, OutputFailed.
        """
        inputs = {identity for found in self._inputs if (identity := _identity(local_path(found.name)))}
        for target in dict.fromkeys(self._files.values()):
            if is_stream(target):
                continue
            for file in self._written(target):
                if _identity(file) in inputs:
                    raise OutputExists(f"{file} is an input itself; name another place with -o.")
            self._check_one(target)

    def partial_names(self, target: Path) -> Iterator[Path]:
        """Free names beside `target` for a document that was stopped: a.partial.md, a.partial-2.md, ..."""
        stem = _short(Path(target.stem))
        for number in count(1):
            again = f"-{number}" if number > 1 else ""
            name = target.with_name(f"{stem}.partial{again}{target.suffix}")
            pictures = name.with_name(f"{name.stem}-pictures")
            if not (os.path.lexists(name) or os.path.lexists(pictures) or _page_files(name)):
                yield name

    def _check_one(self, target: Path) -> None:
        if not os.path.isdir(target.parent):
            check_folder(_nearest(target.parent), None if self.output.is_folder else target)
        elif not self.per_page:
            try:
                check_target(target, overwrite=self.overwrite)
            except OutputExists as problem:
                if os.path.isdir(target):
                    raise
                raise OutputExists(f"{target} exists; add --overwrite or name another place with -o.") from problem
        else:
            check_folder(target.parent, target)
            if not self.overwrite and (taken := _page_files(target)):
                raise OutputExists(f"{taken[0]} exists; add --overwrite or name another place with -o.")

    def _written(self, target: Path) -> list[Path]:
        """Files there now that writing `target` could replace."""
        files = _page_files(target) if self.per_page else [target]
        if self.format == "md":
            files += _listed(target.with_name(f"{target.stem}-pictures"), re.compile(r"\d+\.jpg"))
        return files

    def make_folder(self, target: Path) -> None:
        """Make the folder of `target`. Raises OutputFailed."""
        missing = []
        folder = target.parent
        while not os.path.lexists(folder):
            missing.append(folder)
            folder = folder.parent
        for folder in reversed(missing):
            try:
                folder.mkdir(exist_ok=True)
            except OSError as error:
                raise failed(folder, error) from error
            self._made.append(folder)

    def remove_empty(self) -> None:
        """Folders that were made and got nothing go again."""
        for folder in reversed(self._made):
            with contextlib.suppress(OSError):
                folder.rmdir()
        self._made.clear()


def local_path(name: str | Path) -> Path | None:
    """The file on this machine that an input is; None for standard input, web addresses and data."""
    if isinstance(name, Path):
        return name
    if name.lower().startswith("file:"):
        with contextlib.suppress(InvalidRequest):  # of another machine: opening it reports that
            return path_of_address(name)
    return None


def place_names(inputs: Sequence[Input]) -> dict[str | Path, Path]:
    """A place for every input below one folder, without the format's suffix; no two are equal.

    What was found in a folder keeps its sub-folders, all else is its name, without suffix. Of equal ones each
    keeps its suffix (a.gif, a.webp); if they are still equal, each keeps the folders in which they differ; and
    if even that is equal, the second is called name-2. Letters that differ in case alone count as equal.
    """
    own = {found.name: _relative(found) for found in inputs}
    places = {name: path.with_suffix("") for name, path in own.items()}

    def in_common_folder(names: list[str | Path]) -> dict[str | Path, Path]:
        folders = [os.path.abspath(path.parent) for path in map(Path, names)]
        common = os.path.commonpath(folders)
        return {
            name: _short(Path(os.path.relpath(folder, common), own[name].name))
            for name, folder in zip(names, folders, strict=True)
            if isinstance(name, Path)
        }

    steps: list[Callable[[list[str | Path]], dict[str | Path, Path]]] = [
        lambda names: {name: own[name] for name in names},
        in_common_folder,
    ]
    for step in steps:
        for names in _equal(places):
            places |= step(names)
    taken: set[str] = set()
    for name, place in places.items():
        number, free = 1, place
        while _key(free) in taken:
            number += 1
            free = place.with_name(f"{place.name}-{number}")
        taken.add(_key(free))
        places[name] = free
    return places


def rescue(text: str, name: str) -> Path:
    """Keep a text whose target failed, in a new file of the user's state folder. Raises OSError."""
    folder = platformdirs.user_state_path("leggio", appauthor=False) / "rescued"
    folder.mkdir(parents=True, exist_ok=True)
    stem = re.sub(r"[^\w.-]+", "_", Path(name).name)[:60] or "text"
    descriptor, path = tempfile.mkstemp(".txt", f"{stem}-", folder)
    with open(descriptor, "w", encoding="utf-8", errors="replace") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    return Path(path)


def _equal(places: dict[str | Path, Path]) -> list[list[str | Path]]:
    """Names whose places are equal, group by group."""
    groups: dict[str, list[str | Path]] = defaultdict(list)
    for name, place in places.items():
        groups[_key(place)].append(name)
    return [names for names in groups.values() if len(names) > 1]


def _key(place: Path) -> str:
    return unicodedata.normalize("NFC", str(place)).casefold()


def _relative(found: Input) -> Path:
    name = found.name
    if isinstance(name, Path):
        inside = found.root is not None and name.is_relative_to(found.root)
        return _short(name.relative_to(found.root) if inside and found.root is not None else Path(name.name))
    if name == STDIN:
        return Path("standard-input")
    if name.lower().startswith("data:"):
        return Path("data")
    return _short(Path(Path(unquote(urlsplit(name).path)).name or "page"))


def _short(path: Path) -> Path:
    """The path with every part cut to a length that leaves room for suffixes."""

    def cut(part: str) -> str:
        return os.fsencode(part)[:_LONGEST_PART].decode("utf-8", "ignore") if len(part) > _LONGEST_PART // 4 else part

    return Path(*map(cut, path.parts))


def _identity(path: Path | None) -> tuple[int, int] | None:
    """What tells whether two names are one regular file; None when there is none."""
    if path is None or not os.path.isfile(path):
        return None
    status = path.stat()
    return status.st_dev, status.st_ino


def _nearest(folder: Path) -> Path:
    """The first folder above `folder` (or itself) that exists. Raises OutputFailed for a name that is refused."""
    for above in (folder, *folder.parents):
        try:
            above.stat()
            break
        except FileNotFoundError as error:
            if os.path.islink(above):  # one that leads to nothing: no folder can be made there
                raise failed(above, error) from error
        except OSError as error:
            raise failed(above, error) from error
    return above


def _page_files(target: Path) -> list[Path]:
    return _listed(target.parent, re.compile(re.escape(target.stem) + r"-\d{4,}" + re.escape(target.suffix)))


def _listed(folder: Path, pattern: re.Pattern[str]) -> list[Path]:
    try:
        names: Iterable[str] = sorted(os.listdir(folder))
    except OSError:
        return []
    return [folder / name for name in names if pattern.fullmatch(name)]
