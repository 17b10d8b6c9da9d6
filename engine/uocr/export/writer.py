"""What a format's writer is given and has to do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from uocr.document import Document, Page
from uocr.export.content import Part, joined_lists, parts_of, places_of
from uocr.export.notes import Notes
from uocr.export.pictures import PageCrops, PageImages, PictureFolder


@dataclass(frozen=True, slots=True)
class Original:
    """The PDF file that a page came from: its path or its bytes, and the password to open it with."""

    content: Path | bytes
    password: str | None = None


Originals = Callable[[Page], Original | Path | str | None]
"""Gives the PDF file of a page; None for a page that came from a picture."""


@dataclass(slots=True)
class Job:
    """One call of `export`: its options, and what there is to tell the caller afterwards."""

    folder: PictureFolder
    pictures: bool = True
    page_images: PageImages | None = None
    originals: Originals | None = None
    add_to_text_layer: bool = False
    notes: Notes = field(default_factory=Notes)

    def crops(self, page: Page) -> PageCrops:
        return PageCrops(page, self.page_images, self.notes)


class Writer(ABC):
    """Writes pages to `partial`, one after another, keeping as little of them in memory as the format allows."""

    def __init__(self, partial: Path, job: Job) -> None:
        self.partial = partial
        self.job = job
        self.count = 0
        """Pages written so far."""

    @abstractmethod
    def page(self, document: Document, page: Page) -> None:
        """Write one page of `document` (whose own list of pages is not looked at)."""

    @abstractmethod
    def finish(self) -> None:
        """Complete the file and close it."""

    @abstractmethod
    def abandon(self) -> None:
        """Close the file without completing it; never raises."""

    def parts(self, page: Page) -> Iterator[Part]:
        """The parts of all blocks of `page`, items of one list together.

        Characters that had to be replaced are told in the job's notes.
        """
        if page.located is not None:
            parts, replaced = places_of(page)
            yield from parts
            self.note_replaced(page, replaced)
            return
        pairs = [parts_of(block) for block in page.blocks]
        yield from joined_lists(part for parts, _ in pairs for part in parts)
        self.note_replaced(page, sum(count for _, count in pairs))

    def note_replaced(self, page: Page, count: int) -> None:
        """Tell that `count` characters of `page` could not be written as they are."""
        if count:
            were = "characters were" if count > 1 else "character was"
            self.job.notes.add(page, f"{count} control {were} replaced or removed")
