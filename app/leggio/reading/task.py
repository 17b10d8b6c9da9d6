"""What the engine thread is asked to do, and what it needs from an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from PIL import Image
from uocr.control import Control

from leggio.history.jobs import Job

if TYPE_CHECKING:
    from uocr.sources import Limits

    from leggio.reading.one_page import OnePage

Input = Path | Image.Image
"""A file, or a picture that came through the clipboard or a screen capture."""


class Engine(Protocol):
    """The part of `uocr.UnlimitedOCR` that the window uses; tests hand in a scripted one."""

    front_end: dict[str, Any]

    @property
    def info(self) -> Any: ...
    def stream(self, source: Any, *, control: Control | None = None, **settings: Any) -> Iterator[Any]: ...
    def estimate(self, width: int, height: int, **settings: Any) -> Any: ...
    def memory(self) -> Any: ...
    def recorded(self, settings: Any = None) -> dict[str, object]: ...
    def close(self) -> None: ...


EngineFactory = Callable[[], Engine]


@dataclass(frozen=True, slots=True)
class PageTask:
    """One page to read: its `number` in the file, from 0; `settings` are changes to `uocr.ReadSettings`."""

    key: int
    input: Input
    name: str
    number: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    job: Job | None = None
    """The job in whose journal the page is written down when it is done."""


def open_page(
    task_input: Input,
    name: str,
    number: int,
    *,
    dpi: float = 300,
    password: str | None = None,
    compat: str | None = None,
    limits: Limits | None = None,
) -> OnePage:
    """Page `number` (from 0) of an input, opened anew: no file stays open, a vanished one is noticed.

    Raises UnreadableFile, EncryptedFile, EmptyDocument, TooLarge or InvalidRequest.
    """
    # The PDF library takes a third of a second to load: the window's start must not wait for it.
    from uocr.sources import open_source

    from leggio.reading.one_page import OnePage

    pages = None if isinstance(task_input, Image.Image) else str(number + 1)
    return OnePage(
        open_source(task_input, pages=pages, dpi=dpi, password=password, compat=compat, limits=limits, name=name)
    )
