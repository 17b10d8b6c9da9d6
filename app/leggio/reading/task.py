"""What the engine thread is asked to do, and what it needs from an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from uocr.control import Control

from leggio.history.jobs import Job
from leggio.sources.inputs import Input


class Engine(Protocol):
    """The part of `uocr.UnlimitedOCR` that the window uses; tests hand in a scripted one."""

    front_end: dict[str, Any]

    @property
    def info(self) -> Any: ...
    def stream(self, source: Any, *, control: Control | None = None, **settings: Any) -> Iterator[Any]: ...
    def estimate(self, width: int, height: int, **settings: Any) -> Any: ...
    def estimate_together(self, sizes: Sequence[tuple[int, int]], **settings: Any) -> Any: ...
    def memory(self) -> Any: ...
    def recorded(self, settings: Any = None) -> dict[str, object]: ...
    def close(self) -> None: ...


EngineFactory = Callable[[], Engine]


@dataclass(frozen=True, slots=True)
class PageTask:
    """Pages of one input to read: one, or several in one pass.

    `keys` are the window's, `numbers` the pages' own in the file, from 0, side by side; `settings` are changes to
    `uocr.ReadSettings`.
    """

    keys: tuple[int, ...]
    input: Input
    name: str
    numbers: tuple[int, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    job: Job | None = None
    """The job in whose journal a page is written down when it is done."""

    @property
    def together(self) -> bool:
        """Several pages in one pass."""
        return len(self.numbers) > 1

    def key(self, number: int) -> int:
        """The window's key of page `number`."""
        return self.keys[self.numbers.index(number)]
