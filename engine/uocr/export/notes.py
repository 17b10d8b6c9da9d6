"""What one export has to tell the caller: remarks on pages, the serious ones first, alike ones together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from uocr.document import Page


@dataclass(slots=True)
class Notes:
    """Remarks in the order they are made; `sentences` puts them in the order they are told."""

    general: list[str] = field(default_factory=list)
    """About the export as a whole."""
    _pages: list[tuple[bool, str, str, int]] = field(default_factory=list)
    """(harmless, source, text, page index)."""
    _sources: set[str] = field(default_factory=set)

    def saw(self, page: Page) -> None:
        """`page` is exported: with pages of several sources, each remark names its own."""
        self._sources.add(page.source)

    def add(self, page: Page, text: str, *, serious: bool = False) -> None:
        """A remark on `page`, worded to stand after "page 3: "; serious when something of the page is missing."""
        note = (not serious, page.source, text, page.index)
        if note not in self._pages:
            self._pages.append(note)

    def sentences(self) -> list[str]:
        """Serious ones first, then by first mention; pages of one source with the same remark share a sentence."""
        groups: dict[tuple[bool, str, str], list[int]] = {}
        for harmless, source, text, index in self._pages:
            groups.setdefault((harmless, source, text), []).append(index)
        told = []
        for (_, source, text), indices in sorted(groups.items(), key=lambda group: group[0][0]):
            name = f"{Path(source).name}, " if len(self._sources) > 1 else ""
            told.append(f"{name}{page_ranges(indices)}: {text}")
        return told[: self.serious] + self.general + told[self.serious :]

    @property
    def serious(self) -> int:
        """How many of `sentences`, at their start, are serious."""
        return len({(source, text) for harmless, source, text, _ in self._pages if not harmless})


def page_ranges(indices: Iterable[int]) -> str:
    """"page 3" or "pages 3, 6-8" of page indices that count from 0."""
    words = number_ranges(indices)
    return f"page {words}" if words.isdecimal() else f"pages {words}"


def number_ranges(indices: Iterable[int]) -> str:
    """"3, 6-8" of page indices that count from 0."""
    runs: list[list[int]] = []
    for number in sorted({index + 1 for index in indices}):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
