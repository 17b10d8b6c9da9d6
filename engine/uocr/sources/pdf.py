"""PDF files, rasterised page by page by MuPDF."""

from __future__ import annotations

import logging
import math
import re
import threading
from typing import Any, Final

import pymupdf
from PIL import Image

from uocr.errors import EncryptedFile, InvalidRequest, TooLarge, UnreadableFile
from uocr.sources.pdf_repair import with_mended_page_tree
from uocr.sources.ranges import choose_pages
from uocr.sources.types import DEFAULT_DPI, Content, Limits, PageImage, Source, reason

POINTS_PER_INCH: Final = 72.0
MAX_DPI: Final = 2400.0
LEAST_DPI: Final = 36
"""The lowest resolution that the read settings accept; a lower one is not advised."""
_EMBEDDED: Final = 4
"""A picture on a page may have this many times the pixels of a page: scans are finer than they are drawn."""
_INLINE_PICTURE: Final = re.compile(rb"\bBI\b(.{1,1000}?)\bID\b", re.DOTALL)
_INLINE_SIDE: Final = re.compile(rb"/(W|H|Width|Height)\s+(\d{1,12})")
_log = logging.getLogger(__name__)

MUPDF_LOCK = threading.RLock()
"""MuPDF may be used by one thread at a time, whatever the document."""

# MuPDF prints what it thinks of damaged files, in terms of the format. A note says that they are damaged, the log why
# (see `_complaints`).
pymupdf.TOOLS.mupdf_display_errors(False)
pymupdf.TOOLS.mupdf_display_warnings(False)


class PdfSource(Source):
    """A PDF file. Pages are `dpi` pixels per inch, turned and cropped as the file asks."""

    kind = "pdf"

    def __init__(self, content: Content, *, pages: str | None = None, dpi: float = DEFAULT_DPI,
                 password: str | None = None, limits: Limits | None = None) -> None:
        if not 1 <= dpi <= MAX_DPI:
            raise InvalidRequest(f"{dpi:g} dpi is outside 1..{MAX_DPI:g}; 300 suits printed pages.")
        self.dpi: Final = float(dpi)
        self._zoom: Final = pymupdf.Matrix(dpi / POINTS_PER_INCH, dpi / POINTS_PER_INCH)
        self._content = content
        self._sha256: str | None = None
        with MUPDF_LOCK:
            self._document, complaints = _open(content, password)
            try:
                chosen = choose_pages(pages, self._document.page_count, content.name)
                super().__init__(content.name, chosen, limits or Limits())
            except BaseException:
                self.close()
                raise
            if complaints:
                self._note_damage(complaints)

    @property
    def sha256(self) -> str:
        with MUPDF_LOCK:
            if self._sha256 is None:
                self._sha256 = self._content.sha256()
            return self._sha256

    def page_size(self, i: int) -> tuple[int, int]:
        with MUPDF_LOCK:
            return self._load(i)[1:]

    def page(self, i: int) -> PageImage:
        index = self._check_index(i)
        name = self.page_name(i)
        with MUPDF_LOCK:
            page, width, height = self._load(i)
            try:
                has_text = self._inspect(page, name)
                pixels = page.get_pixmap(matrix=self._zoom, alpha=False)
                image = Image.frombytes("RGB", (pixels.width, pixels.height), pixels.samples)
            except TooLarge:
                raise
            except MemoryError as error:
                raise TooLarge(f"{name} needs more memory than there is for {width} x {height} pixels; "
                               "choose a lower dpi.") from error
            except Exception as error:  # MuPDF's own types differ by version
                _log.info("%s: %s", name, reason(error))
                raise UnreadableFile(f"{name} is damaged and cannot be drawn.") from error
            complaints = _complaints(about_tree=False)
            pymupdf.TOOLS.store_shrink(100)  # decoded pictures of past pages would fill up to 256 MB
        notes = list(self.notes)
        if complaints:
            _log.info("%s: %s", name, complaints)
            if _uniform(image):
                raise UnreadableFile(f"{name} is damaged, nothing on it can be drawn.")
            notes.append("The page is damaged, parts of it may be missing.")
        return PageImage(image, self.name, index, image.width, image.height, self.dpi, has_text, notes)

    def close(self) -> None:
        with MUPDF_LOCK:
            if self._document is not None:
                self._document.close()
            self._document = None

    def _load(self, i: int) -> tuple[Any, int, int]:
        """The loaded page and its pixels across and down. Raises TooLarge, UnreadableFile."""
        index = self._check_index(i)
        if self._document is None:
            raise InvalidRequest(f"{self.name} was closed, open it again.")
        name = self.page_name(i)
        _complaints()
        try:
            page = self._document.load_page(index)
            area = (page.rect * self._zoom).irect
            is_page = self._document.xref_object(page.xref).startswith("<<")
        except Exception as error:
            _log.info("%s: %s", name, reason(error))
            raise UnreadableFile(f"{name} is damaged and cannot be loaded.") from error
        if not is_page:  # MuPDF would draw an empty Letter sheet
            raise UnreadableFile(f"{name} is damaged: object {page.xref} stands where the page should be.")
        if complaints := _complaints():
            self._note_damage(complaints)
        width, height = int(area.width), int(area.height)
        if width < 1 or height < 1:
            raise UnreadableFile(f"{name} is {page.rect.width:g} x {page.rect.height:g} points, "
                                 "it has no area to draw.")
        fitting = math.floor(self.dpi * math.sqrt(self.limits.max_pixels / (width * height)))
        advice = f"read it with at most {fitting} dpi" if fitting >= LEAST_DPI else (
            f"even {LEAST_DPI} dpi, the lowest, is too much: save its pages in a smaller size first")
        self.limits.check_pixels(f"{name} at {self.dpi:g} dpi", width, height, advice)
        return page, width, height

    def _inspect(self, page: Any, name: str) -> bool:
        """Whether the page carries text. Raises TooLarge when it unfolds to gigantic pictures.

        Inline pictures are looked for first: MuPDF fetches room for all their samples when it meets one.
        """
        streams = [page.read_contents()]
        streams += [self._document.xref_stream(form[0]) or b"" for form in page.get_xobjects()]
        self._refuse_bombs([size for stream in streams for size in _inline_sizes(stream)], name)
        content = page.get_textpage(flags=pymupdf.TEXT_PRESERVE_IMAGES | pymupdf.TEXT_MEDIABOX_CLIP)
        shown = content.extractIMGINFO()
        self._refuse_bombs([(int(picture["width"]), int(picture["height"])) for picture in shown], name)
        return bool(content.extractText().strip())

    def _refuse_bombs(self, sizes: list[tuple[int, int]], name: str) -> None:
        allowed = _EMBEDDED * self.limits.max_pixels
        for width, height in sizes:
            if width * height > allowed:
                raise TooLarge(f"{name} holds a picture of {width} x {height} = {width * height:,} pixels, "
                               f"over the limit of {allowed:,}; the file may be made to exhaust memory.")

    def _note_damage(self, complaints: str) -> None:
        _log.info("%s: %s", self.name, complaints)
        if not self.notes:
            self.notes.append("The file is damaged and was repaired, parts of it may be missing.")


def _open(content: Content, password: str | None) -> tuple[Any, str]:
    """The open, unlocked, countable document, and what was wrong with it (empty for a sound file)."""
    _complaints()
    document = _unlocked(content, password)
    repaired = _complaints()
    wrong = _wrong_with_tree(document)
    if wrong:
        mended = with_mended_page_tree(_unlocked(content, password))
        if mended is not None:
            document.close()
            document = mended
        elif not _countable(document):
            document.close()
            _log.info("%s: %s", content.name, wrong)
            raise UnreadableFile(f"{content.name} is damaged, its pages cannot be counted.")
    _complaints()
    return document, repaired or wrong


def _unlocked(content: Content, password: str | None) -> Any:
    """The file opened. One with an owner's password only needs none; a password not needed is ignored."""
    name = content.name
    try:
        if content.path is not None:
            document = pymupdf.open(content.path, filetype="pdf")
        else:
            document = pymupdf.open(stream=content.data, filetype="pdf")
        locked = bool(document.needs_pass)
        opened = not locked or bool(password and document.authenticate(password))
    except Exception as error:
        _log.info("%s: %s", name, _complaints() or reason(error))
        raise UnreadableFile(f"{name} is damaged or not a PDF, no page can be found.") from error
    if opened:
        return document
    document.close()
    if password:
        raise EncryptedFile(f"{name} is encrypted and the given password does not open it.")
    raise EncryptedFile(f"{name} is encrypted and needs a password to be read.")


def _wrong_with_tree(document: Any) -> str:
    """Why the page tree does not lead to as many pages as it says; empty when it does."""
    try:
        count = document.page_count
        if count < 1:
            return "its page tree leads to no page"
        document.load_page(count - 1)
    except Exception as error:
        return reason(error)
    complaints = _complaints()
    return complaints if "too many kids" in complaints else ""


def _countable(document: Any) -> bool:
    try:
        return bool(document.page_count >= 0)
    except Exception:
        return False


def _inline_sizes(stream: bytes) -> list[tuple[int, int]]:
    """Width and height of the inline pictures in a content stream."""
    sizes = []
    for header in _INLINE_PICTURE.findall(stream):
        sides = {key[:1]: int(value) for key, value in _INLINE_SIDE.findall(header)}
        sizes.append((sides.get(b"W", 1), sides.get(b"H", 1)))
    return sizes


def _uniform(image: Image.Image) -> bool:
    return all(low == high for low, high in image.getextrema())  # type: ignore[misc]


def _complaints(*, about_tree: bool = True) -> str:
    """What MuPDF complained about since the last call, each once, in one line of at most 200 letters.

    A damaged page tree is complained about again with every page; that says nothing about the page.
    """
    text = pymupdf.TOOLS.mupdf_warnings(reset=True)
    lines = dict.fromkeys(line.strip() for line in text.splitlines() if line.strip())
    return "; ".join(line for line in lines if about_tree or "page tree" not in line)[:200].rstrip(". ")
