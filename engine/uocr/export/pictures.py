"""Pictures cut out of pages: clamped to the page, numbered by what is really saved."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable
from pathlib import Path

from PIL import Image

from uocr.document import Box, Page
from uocr.errors import OutputExists
from uocr.export.notes import Notes
from uocr.export.target import failed, partial_name, refuse_existing
from uocr.sources.pixels import on_white

PageImages = Callable[[Page], Image.Image | None]
"""Gives the oriented picture of a page, at any size; None when it is not to be had."""

_JPEG_QUALITY = 90


class PageCrops:
    """Cuts pictures out of one page, whose picture is fetched at the first cut and freed with the object."""

    def __init__(self, page: Page, page_images: PageImages | None, notes: Notes) -> None:
        self._page = page
        self._page_images = page_images
        self._image: Image.Image | None = None
        self._fetched = False
        self._notes = notes

    @property
    def image(self) -> Image.Image | None:
        """The page's picture, None when there is none; why is told once in the notes."""
        if not self._fetched:
            self._fetched = True
            if self._page_images is None:
                self._notes.add(self._page, "no picture of it was given", serious=True)
                return None
            try:
                self._image = self._page_images(self._page)
            except Exception as error:  # a page picture that is gone must not lose the text of all pages
                self._notes.add(self._page, f"its picture cannot be read: {error}", serious=True)
                return None
            if self._image is None:
                self._notes.add(self._page, "its picture is not to be had", serious=True)
        return self._image

    def cut(self, box: Box) -> bytes | None:
        """That part of the page as a JPEG file; None when it covers no pixel or there is no page picture."""
        image = self.image
        if image is None:
            return None
        left, top, right, bottom = place = box.pixels(*image.size)
        if left >= right or top >= bottom:
            self._notes.add(self._page, "a box that covers no pixel was left out")
            return None
        return jpeg(image.crop(place))


def jpeg(image: Image.Image) -> bytes:
    """`image` as a JPEG file."""
    data = io.BytesIO()
    on_white(image).save(data, "JPEG", quality=_JPEG_QUALITY)
    return data.getvalue()


class PictureFolder:
    """The folder beside an exported file that its pictures go to, made when the first one is saved."""

    def __init__(self, document: Path, *, overwrite: bool) -> None:
        self.path = document.with_name(f"{document.stem}-pictures")
        self._overwrite = overwrite
        self._partial = partial_name(self.path)
        self._made = self._committed = False
        self._waiting: list[str] = []
        self.count = 0
        """Pictures saved so far."""

    def save(self, data: bytes) -> str:
        """Keep one picture; its name relative to the document's folder, with "/" between the parts."""
        try:
            if not self.count:
                if not self._overwrite:
                    refuse_existing(self.path)
                self._partial.mkdir()
                self._made = True
            name = f"{self.count + 1:04d}.jpg"
            (self._partial / name).write_bytes(data)
        except OSError as error:
            raise failed(self.path, error) from error
        self.count += 1
        self._waiting.append(name)
        return f"{self.path.name}/{name}"

    def commit(self) -> None:
        """Give the pictures saved so far their final place."""
        try:
            if self._waiting:
                self.path.mkdir(exist_ok=self._overwrite or self._committed)
                self._committed = True
            for name in self._waiting:
                os.replace(self._partial / name, self.path / name)
        except FileExistsError:
            raise OutputExists(f"{self.path} exists already; allow overwriting or choose another name.") from None
        except OSError as error:
            raise failed(self.path, error) from error
        self._waiting.clear()

    def close(self) -> None:
        """Remove what was not committed."""
        if self._made:
            with contextlib.suppress(OSError):
                for left in self._partial.iterdir():
                    left.unlink()
                self._partial.rmdir()
