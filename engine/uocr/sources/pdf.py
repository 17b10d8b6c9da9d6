"""PDF files, rasterised page by page by MuPDF."""

from __future__ import annotations

import math
import threading
from typing import Any, Final

import pymupdf
from PIL import Image
from uocr.errors import EncryptedFile, InvalidRequest, TooLarge, UnreadableFile
from uocr.sources.ranges import choose_pages
from uocr.sources.types import Content, Limits, PageImage, Source

POINTS_PER_INCH: Final = 72.0
DEFAULT_DPI: Final = 300.0

_MUPDF = threading.RLock()
"""MuPDF may be used by one thread at a time, whatever the document."""

# MuPDF prints what it thinks of damaged files; that goes into notes instead (see `_complaints`).
pymupdf.TOOLS.mupdf_display_errors(False)
pymupdf.TOOLS.mupdf_display_warnings(False)


class PdfSource(Source):
    """A PDF file. Pages are `dpi` pixels per inch, turned and cropped as the file asks."""

    kind = "pdf"

    def __init__(self, content: Content, *, pages: str | None = None, dpi: float = DEFAULT_DPI,
                 password: str | None = None, limits: Limits | None = None) -> None:
        limits = limits or Limits()
        if not 1 <= dpi <= 2400:
            raise InvalidRequest(f"{dpi:g} dpi is outside 1..2400; 300 suits printed pages")
        self.dpi: Final = float(dpi)
        self._content = content
        self._sha256: str | None = None
        self._document: Any = None
        name = content.name
        with _MUPDF:
            _complaints()
            self._document = _open(content)
            try:
                _unlock(self._document, name, password)
                try:
                    count = self._document.page_count
                except Exception as error:  # MuPDF's own types, by version
                    raise UnreadableFile(
                        f"{name} is damaged, its pages cannot be counted: {error}") from error
                super().__init__(name, choose_pages(pages, count, name), limits)
                if self._document.is_repaired:
                    self.notes.append("the file is damaged and was repaired, parts of it may be missing")
            except BaseException:
                self.close()
                raise

    @property
    def sha256(self) -> str:
        with _MUPDF:
            if self._sha256 is None:
                self._sha256 = self._content.sha256()
            return self._sha256

    def page_size(self, i: int) -> tuple[int, int]:
        with _MUPDF:
            return self._measured(i)[1:]

    def page(self, i: int) -> PageImage:
        index = self._check_index(i)
        name = self.page_name(i)
        with _MUPDF:
            page, width, height = self._measured(i)
            try:
                has_text = self._inspect(page, name)
                zoom = self.dpi / POINTS_PER_INCH
                pixels = page.get_pixmap(matrix=pymupdf.Matrix(zoom, zoom), alpha=False)
                image = Image.frombytes("RGB", (pixels.width, pixels.height), pixels.samples)
            except TooLarge:
                raise
            except MemoryError as error:
                raise TooLarge(f"{name} needs more memory than there is for {width} x {height} pixels; "
                               "choose a lower dpi") from error
            except Exception as error:
                raise UnreadableFile(f"{name} is damaged and cannot be drawn: {error}") from error
            complaints = _complaints()
            pymupdf.TOOLS.store_shrink(100)  # decoded pictures of past pages would fill up to 256 MB
        notes = list(self.notes)
        if complaints:
            notes.append(f"parts of the page may be missing: {complaints}")
        return PageImage(image, self.name, index, image.width, image.height, self.dpi, has_text, notes)

    def close(self) -> None:
        with _MUPDF:
            if self._document is not None and not self._document.is_closed:
                self._document.close()
            self._document = None

    def _measured(self, i: int) -> tuple[Any, int, int]:
        """The loaded page and its pixels across and down. Raises TooLarge, UnreadableFile."""
        index = self._check_index(i)
        if self._document is None:
            raise InvalidRequest(f"{self.name} was closed, open it again")
        name = self.page_name(i)
        try:
            page = self._document.load_page(index)
            zoom = self.dpi / POINTS_PER_INCH
            area = (page.rect * pymupdf.Matrix(zoom, zoom)).irect
        except Exception as error:
            raise UnreadableFile(f"{name} is damaged and cannot be loaded: {error}") from error
        width, height = int(area.width), int(area.height)
        if width < 1 or height < 1:
            raise UnreadableFile(f"{name} is {page.rect.width:g} x {page.rect.height:g} points, "
                                 "it has no area to draw")
        fitting = math.floor(self.dpi * math.sqrt(self.limits.max_pixels / (width * height)))
        advice = f"read it with at most {fitting} dpi" if fitting >= 1 else "no resolution makes it fit"
        self.limits.check_pixels(f"{name} at {self.dpi:g} dpi", width, height, advice)
        return page, width, height

    def _inspect(self, page: Any, name: str) -> bool:
        """Whether the page carries text; refuses a small file whose pictures unfold to gigantic ones."""
        content = page.get_textpage(flags=pymupdf.TEXT_PRESERVE_IMAGES | pymupdf.TEXT_MEDIABOX_CLIP)
        for picture in content.extractIMGINFO():
            self.limits.check_pixels(f"a picture on {name}", int(picture["width"]), int(picture["height"]),
                                     "the file may be made to exhaust memory")
        return not content.extractText().isspace() and bool(content.extractText())


def _open(content: Content) -> Any:
    try:
        if content.path is not None:
            return pymupdf.open(content.path, filetype="pdf")
        return pymupdf.open(stream=content.data, filetype="pdf")
    except Exception as error:
        complaints = _complaints() or str(error)
        raise UnreadableFile(
            f"{content.name} is damaged or not a PDF, no page can be found: {complaints}") from error


def _unlock(document: Any, name: str, password: str | None) -> None:
    """A file with an owner's password only opens without one; a password that is not needed is ignored."""
    if not document.needs_pass:
        return
    if not password:
        raise EncryptedFile(f"{name} is encrypted and needs a password to be read; give it one")
    if not document.authenticate(password):
        raise EncryptedFile(f"{name} is encrypted and the given password does not open it")


def _complaints() -> str:
    """What MuPDF complained about since the last call, in one line, at most 200 letters."""
    text = pymupdf.TOOLS.mupdf_warnings(reset=True)
    return "; ".join(line.strip() for line in text.splitlines() if line.strip())[:200]
