"""Documents into the files that -o names: whole ones under their own name, stopped ones beside it as partial."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from uocr import export
from uocr.cli import stopped, targets, view
from uocr.document import Document, Page
from uocr.errors import OutputExists
from uocr.reading import turned
from uocr.settings import ReadSettings
from uocr.sources import Source


class Files:
    """Writes each input's document to its target."""

    def __init__(self, places: targets.Targets, settings: ReadSettings, *, quiet: bool) -> None:
        self.places, self.settings, self.quiet = places, settings, quiet

    def write(self, document: Document, source: Source, name: str | Path) -> None:
        """A document under its own name. Raises OutputExists, OutputFailed."""
        exported = self._export(document, source, name, self.places[name], overwrite=self.places.overwrite)
        self._tell([*(f"written: {path}" for path in exported.files), *exported.notes])

    def write_stopped(self, document: Document, source: Source, name: str | Path) -> list[Path]:
        """A document that was stopped, under names that are free; which, or none when `name`'s target is a stream.

        One file a page: the pages behind the last that was read get none. Raises OutputFailed.
        """
        target = self.places[name]
        if targets.is_stream(target):
            self.write(document, source, name)
            return []
        if self.places.per_page:
            document.pages = stopped.without_unread_end(document.pages)
        for free in self.places.partial_names(target):
            try:
                exported = self._export(document, source, name, free, overwrite=False)
            except OutputExists:  # another process took the name just now
                continue
            self._tell(exported.notes)
            return exported.files
        raise AssertionError("partial_names never ends")

    def _export(
        self, document: Document, source: Source, name: str | Path, target: Path, *, overwrite: bool
    ) -> export.Exported:
        self.places.make_folder(target)
        return export.export(
            document,
            target,
            self.places.format,
            overwrite=overwrite,
            per_page=self.places.per_page,
            page_images=page_images(source, self.settings),
            originals=_originals(source, name, self.settings),
        )

    def _tell(self, lines: list[str]) -> None:
        if not self.quiet:
            for line in lines:
                view.err.print(line, markup=False)


def page_images(source: Source, settings: ReadSettings) -> Callable[[Page], Any]:
    """The picture of a page that was read, for exporters that cut pictures out of it."""

    def image(page: Page) -> Any:
        picture = source.page(source.indices.index(page.index)).image
        return turned(picture, settings.rotate)

    return image


def _originals(source: Source, name: str | Path, settings: ReadSettings) -> export.Originals | None:
    """The PDF file behind the pages, to keep its pages as they are; a turned page fits only its own picture."""
    path = targets.local_path(name)
    if source.kind != "pdf" or settings.rotate or path is None or not path.is_file():
        return None
    original = export.Original(path, settings.password)
    return lambda page: original
