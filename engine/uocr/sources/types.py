"""What every source of pages has in common: limits, the page picture, and the source itself."""

from __future__ import annotations

import hashlib
import io
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self
from urllib.parse import urlsplit, urlunsplit

from PIL import Image

from uocr.errors import InvalidRequest, TooLarge, UnreadableFile

DEFAULT_DPI: Final = 300.0
"""Pixels per inch of a PDF page."""
_ERROR_NUMBER: Final = re.compile(r"^code=\d+: ")
"""What PyMuPDF puts before MuPDF's own words."""
_LOGIN: Final = re.compile(r"//[^/?#]*@")
"""User name and password in an address."""


def reason(error: object) -> str:
    """A library's words about a failure, fit for the end of our sentence: one line without a full stop."""
    words = " ".join(_ERROR_NUMBER.sub("", str(error)).split()).rstrip(". ")
    return words or type(error).__name__


def shown_url(url: str) -> str:
    """The address without user name and password, for messages and records."""
    try:
        parts = urlsplit(url)
    except ValueError:  # what cannot be taken apart is shown as it is
        return _LOGIN.sub("//", url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, parts.query, ""))


Compat = Literal["upstream"] | None
"""None: pictures as a person sees them. "upstream": exactly what the published code does to pixels."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What is refused before it can hurt. The defaults let an A0 sheet at 300 dpi through."""

    max_pixels: int = 178_956_970
    """Pixels of one page; the default is also Pillow's own limit, twice `Image.MAX_IMAGE_PIXELS`."""
    max_bytes: int = 1 << 30
    """Bytes of one file, download or stream."""
    max_pages: int = 10_000
    """Pages of one source, after the choice by `pages`."""
    timeout_s: float = 30.0
    """Seconds without an answer from a server."""
    deadline_s: float = 600.0
    """Seconds for one whole download."""

    def check_pixels(self, name: str, width: int, height: int, advice: str = "make it smaller first") -> None:
        """Raises TooLarge for a page over `max_pixels`."""
        if width * height > self.max_pixels:
            raise TooLarge(f"{name} is {width} x {height} = {width * height:,} pixels, "
                           f"over the limit of {self.max_pixels:,}; {advice}.")

    def check_bytes(self, name: str, count: int) -> None:
        """Raises TooLarge for a file over `max_bytes`."""
        if count > self.max_bytes:
            raise TooLarge(f"{name} has {count:,} bytes, over the limit of {self.max_bytes:,}; "
                           "split it first.")

    def check_pages(self, name: str, count: int) -> None:
        """Raises TooLarge for more than `max_pages`."""
        if count > self.max_pages:
            raise TooLarge(f"{name} has {count:,} pages, over the limit of {self.max_pages:,}; "
                           f'choose some, such as pages="1-{self.max_pages}".')


@dataclass(slots=True)
class PageImage:
    """One page as a picture, turned upright."""

    image: Image.Image
    """Mode RGB."""
    source: str
    """Name of the source."""
    index: int
    """Page number inside the source, from 0."""
    width: int
    height: int
    """Pixels."""
    dpi: float | None = None
    """Pixels per inch: of the rasterised PDF page, or what the picture file says, or None."""
    has_text_layer: bool = False
    """The page already carries text (a born-digital PDF, or a scan that was read before)."""
    notes: list[str] = field(default_factory=list)
    """What the reader should know about how this picture came about, one sentence each."""


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes behind a source: a file that stays on disk, or bytes in memory."""

    name: str
    path: Path | None = None
    data: bytes = b""

    def open(self) -> io.BufferedReader | io.BytesIO:
        """A fresh binary stream at the start. Raises OSError when the file is gone."""
        return io.BytesIO(self.data) if self.path is None else self.path.open("rb")

    def sha256(self) -> str:
        """Hexadecimal. Raises UnreadableFile when the file is gone."""
        try:
            with self.open() as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise UnreadableFile(f"{self.name} cannot be opened: {error.strerror or error}.") from error


class Source(ABC):
    """Pages in order, each made only when asked for. Safe to use from several threads.

    `len(source)` is the number of chosen pages and `source.page(i)` the i-th of them. Iterating gives the
    same pages; a page that raises does not end the iteration, the next `next()` goes on behind it.
    """

    kind: str
    """"pdf" or "picture"."""

    def __init__(self, name: str, indices: list[int], limits: Limits) -> None:
        limits.check_pages(name, len(indices))
        self.name: Final = name
        self.indices: Final = tuple(indices)
        """Number inside the file, from 0, of each chosen page."""
        self.limits: Final = limits
        self.notes: list[str] = []
        """What holds for the whole file, such as that it is damaged."""

    @property
    @abstractmethod
    def sha256(self) -> str:
        """SHA-256 of the file's bytes, hexadecimal. Computed once, when asked for."""

    @abstractmethod
    def page_size(self, i: int) -> tuple[int, int]:
        """Width and height in pixels of page `i` as `page(i)` will give it, without making its pixels.

        Raises UnreadableFile or TooLarge.
        """

    @abstractmethod
    def page(self, i: int) -> PageImage:
        """Page `i` of the chosen ones, from 0. Raises UnreadableFile or TooLarge naming the page."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the file. Closing twice is harmless."""

    def page_name(self, i: int) -> str:
        """The source and the page as a person counts it, for messages."""
        index = self.indices[i]
        return f"{self.name}, page {index + 1}" if len(self.indices) > 1 or index else self.name

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[PageImage]:
        return _Pages(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def _check_index(self, i: int) -> int:
        if not 0 <= i < len(self.indices):
            raise InvalidRequest(f"{self.name} has {len(self.indices)} chosen pages, there is no number {i}.")
        return self.indices[i]


class _Pages(Iterator[PageImage]):
    """A generator would end at the first error; this one can go on."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._next = 0

    def __next__(self) -> PageImage:
        if self._next >= len(self._source):
            raise StopIteration
        self._next += 1
        return self._source.page(self._next - 1)
