"""Picture files: one page, or several frames (TIFF, GIF, WebP, APNG, HEIC)."""

from __future__ import annotations

import hashlib
import io
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from PIL import Image

from uocr.errors import InvalidRequest, TooLarge, UnreadableFile, UocrError
from uocr.sources.heif import HeifImageFile
from uocr.sources.pixels import readable_rgb, upright, upright_size, upstream_rgb
from uocr.sources.ranges import choose_pages
from uocr.sources.types import Compat, Content, Limits, PageImage, Source, reason

FORMATS: Final = ("PNG", "JPEG", "GIF", "BMP", "DIB", "PPM",
                  "AVIF", "ICO", "JPEG2000", "PCX", "PSD", "QOI", "SGI", "TGA", "TIFF", "WEBP")
"""Formats opened by Pillow, in the order in which it asks them: for any but the first six it loads its decoders of all
formats. EPS is left out on purpose: it would start a PostScript interpreter."""
_WITH_PAGES: Final = frozenset({"TIFF", "GIF", "WEBP", "PNG", "AVIF", "HEIF"})
"""Formats whose frames are pages; in the others further frames are previews, depth maps or layers."""
_WARNINGS: Final = threading.RLock()
"""Python keeps one list of warning filters for all threads, so one decodes at a time."""
_SUBFILE_TYPE: Final = 254
_REDUCED: Final = 1


class PictureSource(Source):
    """A picture file, or a picture in memory, one page a frame."""

    kind = "picture"

    def __init__(self, content: Content, *, heif: bool = False, pages: str | None = None,
                 compat: Compat = None, limits: Limits | None = None) -> None:
        limits = limits or Limits()
        self._content = content
        self._heif = heif
        self._compat = compat
        self._lock = threading.RLock()
        self._sha256: str | None = None
        self._image: Image.Image | None = None
        name = content.name
        self._stream: io.BufferedReader | io.BytesIO | None = _open_stream(content)
        try:
            with _explained(name, limits):
                self._image = self._opened()
            limits.check_pixels(name, *self._image.size)
            with _explained(name, limits):
                frames, damage = _page_frames(self._image)
            super().__init__(name, choose_pages(pages, len(frames), name), limits)
            self.notes += damage
        except BaseException:
            self.close()
            raise
        self._frames = frames

    @property
    def sha256(self) -> str:
        with self._lock:
            if self._sha256 is None:
                self._sha256 = self._content.sha256()
            return self._sha256

    def page_size(self, i: int) -> tuple[int, int]:
        with self._lock:
            frame = self._at(i)
            with _explained(self.page_name(i), self.limits):
                return upright_size(frame)

    def page(self, i: int) -> PageImage:
        index = self._check_index(i)
        name = self.page_name(i)
        notes = list(self.notes)
        with self._lock:
            frame = self._at(i)
            dpi = _dpi(frame)
            try:
                with _explained(name, self.limits, notes):
                    frame.load()
                    rgb = _upright_rgb(frame, self._compat, notes)
            except UocrError:
                self._image = None  # a decoder that failed is not used for the next frame
                raise
            if len(self._frames) == 1:
                self._image = None  # its decoded pixels; the file is opened again if the page is wanted again
        return PageImage(rgb, self.name, index, rgb.width, rgb.height, dpi, notes=notes)

    def close(self) -> None:
        with self._lock:
            if self._image is not None:
                self._image.close()
            if self._stream is not None:
                self._stream.close()
            self._image = self._stream = None

    def _at(self, i: int) -> Image.Image:
        """The open file with the frame of page `i` selected, its size checked, its pixels not yet read."""
        index = self._check_index(i)
        name = self.page_name(i)
        with _explained(name, self.limits):
            if self._image is None:
                self._image = self._opened()
            if len(self._frames) > 1:
                self._image.seek(self._frames[index])
        self.limits.check_pixels(name, *self._image.size)
        return self._image

    def _opened(self) -> Image.Image:
        if self._stream is None:
            raise InvalidRequest(f"{self.name} was closed, open it again.")
        self._stream.seek(0)
        if self._heif:  # opened directly: a registered plugin would change Pillow for the whole program
            return HeifImageFile(self._stream)
        return Image.open(self._stream, formats=FORMATS)


class MemoryPicture(Source):
    """A Pillow picture handed over by a program: one page, its current frame, left as it is."""

    kind = "picture"

    def __init__(self, image: Image.Image, *, name: str | None = None, pages: str | None = None,
                 compat: Compat = None, limits: Limits | None = None) -> None:
        limits = limits or Limits()
        name = name or getattr(image, "filename", "") or f"picture of {image.width} x {image.height} pixels"
        if image.width < 1 or image.height < 1:
            raise UnreadableFile(f"{name} has no pixels.")
        limits.check_pixels(name, *image.size)
        super().__init__(name, choose_pages(pages, 1, name), limits)
        self._image = image
        self._compat = compat

    @property
    def sha256(self) -> str:
        header = f"{self._image.mode} {self._image.width} {self._image.height} ".encode()
        return hashlib.sha256(header + self._image.tobytes()).hexdigest()

    def page_size(self, i: int) -> tuple[int, int]:
        self._check_index(i)
        with _explained(self.name, self.limits):
            return upright_size(self._image)

    def page(self, i: int) -> PageImage:
        index = self._check_index(i)
        notes: list[str] = []
        with _explained(self.name, self.limits, notes):
            rgb = _upright_rgb(self._image, self._compat, notes)
        return PageImage(rgb, self.name, index, rgb.width, rgb.height, _dpi(self._image), notes=notes)

    def close(self) -> None:
        """Nothing is held open."""


def _upright_rgb(image: Image.Image, compat: Compat, notes: list[str]) -> Image.Image:
    """A new RGB picture, turned upright; `image` is left as it is."""
    turned = upright(image, notes)
    rgb = upstream_rgb(turned) if compat == "upstream" else readable_rgb(turned, image, notes)
    return rgb.copy() if rgb is image else rgb


def _open_stream(content: Content) -> io.BufferedReader | io.BytesIO:
    try:
        return content.open()
    except OSError as error:
        raise UnreadableFile(f"{content.name} cannot be opened: {error.strerror or error}.") from error


def _page_frames(image: Image.Image) -> tuple[list[int], list[str]]:
    """Numbers of the frames that are pages, and what is wrong with the file.

    A TIFF's reduced copies (thumbnails) are no pages. Of a file cut short the frames before the cut remain.
    """
    if image.format not in _WITH_PAGES:
        return [0], []
    notes: list[str] = []
    try:
        count = int(getattr(image, "n_frames", 1))
    except Exception as error:  # counting walks the whole file, which may be cut short
        count = _frames_before_damage(image)
        notes.append(f"The file is damaged behind frame {count} ({reason(error)}).")
    if image.format != "TIFF" or count == 1:
        return list(range(count)), notes
    pages = []
    for frame in range(count):
        image.seek(frame)
        tags: Any = getattr(image, "tag_v2", {})
        if not int(tags.get(_SUBFILE_TYPE, 0)) & _REDUCED:
            pages.append(frame)
    image.seek(0)
    return pages or [0], notes


def _frames_before_damage(image: Image.Image) -> int:
    count = 0
    try:
        while True:
            image.seek(count)
            count += 1
    except Exception:
        image.seek(0)
        return max(count, 1)


def _dpi(image: Image.Image) -> float | None:
    """Pixels per inch that the file claims, when it is a claim that can be true."""
    value = image.info.get("dpi")
    try:
        dpi = float(value[1])  # type: ignore[index]
    except (TypeError, ValueError, IndexError, ZeroDivisionError):
        return None
    return dpi if 1 < dpi < 100_000 else None


@contextmanager
def _explained(name: str, limits: Limits, notes: list[str] | None = None) -> Iterator[None]:
    """Pillow's errors as ours, its warnings as `notes`.

    A damaged file can raise nearly anything from a decoder, so all is caught.
    """
    try:
        with _WARNINGS, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        if notes is not None:
            notes += [f"{reason(w.message)}." for w in caught
                      if not issubclass(w.category, (Image.DecompressionBombWarning, DeprecationWarning))]
    except UocrError:
        raise
    except Image.DecompressionBombError as error:
        claimed = re.search(r"\((\d+) pixels", str(error))
        count = f"{int(claimed[1]):,}" if claimed else "too many"
        raise TooLarge(f"{name} claims {count} pixels, over the limit of {limits.max_pixels:,}; "
                       "make it smaller first.") from error
    except Image.UnidentifiedImageError as error:
        raise UnreadableFile(f"{name} is damaged or not a picture or PDF.") from error
    except MemoryError as error:
        raise TooLarge(f"{name} needs more memory than there is; "
                       f"the limit is {limits.max_pixels:,} pixels.") from error
    except Exception as error:
        raise UnreadableFile(f"{name} is damaged and cannot be decoded: {reason(error)}.") from error
