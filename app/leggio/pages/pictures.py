"""Page pictures and thumbnails, decoded on worker threads, newest wish first."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable

from PIL import Image
from PySide6.QtCore import QObject, QRunnable, QThreadPool, Signal
from PySide6.QtGui import QImage, QPixmap
from uocr.errors import UocrError

from leggio.pages.items import PageItem
from leggio.sources.inputs import Input, LastInput

log = logging.getLogger(__name__)

THUMBNAIL_PIXELS = 144
"""Longer side: twice what a row shows, for high-DPI screens."""
THUMBNAIL_DPI = 40
THUMBNAIL_WORK = 1_000_000
"""Pixels of a PDF page that are drawn for a thumbnail at most."""
SHOWN_PIXELS = 24_000_000
"""A larger page is shown reduced; it is read, and boxes are placed, at its own size."""
KEPT_THUMBNAILS = 200
"""About 12 MB; a row that comes back into view has its thumbnail made again."""


def to_qimage(image: Image.Image) -> QImage:
    """A copy of an RGB Pillow picture that owns its bytes."""
    data = image.tobytes()
    return QImage(data, image.width, image.height, image.width * 3, QImage.Format.Format_RGB888).copy()


def turned(image: Image.Image, degrees: int) -> Image.Image:
    """`image` turned clockwise by 0, 90, 180 or 270 degrees."""
    ways = {90: Image.Transpose.ROTATE_270, 180: Image.Transpose.ROTATE_180, 270: Image.Transpose.ROTATE_90}
    return image.transpose(ways[degrees]) if degrees else image


class _Wish(QRunnable):
    """One picture to make. Runs once; a wish that was withdrawn does nothing."""

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__()
        self._work = work

    def run(self) -> None:
        self._work()


class PagePictures(QObject):
    """Makes and keeps pictures of pages. Thumbnails and whole pages have a thread each, off the window's."""

    thumbnail_ready = Signal(int)
    """Page key: `thumbnail` now has it."""
    page_ready = Signal(int, int, object, int, int)
    """(page key, rotation, QImage, width, height): the picture, maybe reduced, and the page's own pixels."""
    page_failed = Signal(int, object)
    """(page key, UocrError)."""
    _made = Signal(int, int, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._thumbnails: OrderedDict[tuple[int, int], QPixmap] = OrderedDict()
        self._wanted: set[tuple[int, int]] = set()
        self._failed: set[tuple[int, int]] = set()
        self._order = 0
        self._closed = False
        self._small_input, self._large_input = LastInput(), LastInput()
        self._small, self._large = QThreadPool(self), QThreadPool(self)
        for pool in (self._small, self._large):
            pool.setMaxThreadCount(1)
        self._made.connect(self._keep)

    def thumbnail(self, item: PageItem) -> QPixmap | None:
        """The thumbnail, or None and a wish for it; `thumbnail_ready` follows."""
        wish = (item.key, item.rotate)
        pixmap = self._thumbnails.get(wish)
        if pixmap is not None:
            self._thumbnails.move_to_end(wish)
            return pixmap
        if wish not in self._wanted and wish not in self._failed and not self._closed:
            self._wanted.add(wish)
            self._order += 1
            document = item.document
            task = (document.input, document.name, item.number, document.password)
            self._small.start(_Wish(lambda: self._make_thumbnail(wish, *task)), self._order)
        return None

    def forget(self, item: PageItem) -> None:
        """Make a failed or changed thumbnail again at the next painting."""
        wishes = {(item.key, r) for r in (0, 90, 180, 270)}
        self._failed -= wishes
        for wish in wishes:
            self._thumbnails.pop(wish, None)

    def request_page(self, item: PageItem, dpi: float) -> None:
        """Make the picture of a page; `page_ready` or `page_failed` follows. Older requests are dropped."""
        if self._closed:
            return
        self._order += 1
        document = item.document
        task = (item.key, item.rotate, document.input, document.name, item.number, document.password, dpi)
        self._large.clear()
        self._large.start(_Wish(lambda: self._make_page(*task)), self._order)

    def close(self) -> None:
        """Let the work in hand finish; begin nothing any more: a pool must be idle when the program ends."""
        self._closed = True
        for pool in (self._small, self._large):
            pool.clear()
            pool.waitForDone()
        self._small_input.close()
        self._large_input.close()

    # -- on worker threads ---------------------------------------------------------------------------------

    def _make_thumbnail(
        self, wish: tuple[int, int], source: Input, name: str, number: int, password: str | None
    ) -> None:
        image: QImage | None = None
        if not self._closed:
            try:
                picture = self._small_picture(source, name, number, password)
                picture.thumbnail((THUMBNAIL_PIXELS, THUMBNAIL_PIXELS), Image.Resampling.BILINEAR, reducing_gap=2.0)
                image = to_qimage(turned(picture, wish[1]))
            except UocrError as error:
                log.info("no thumbnail: %s", error)
            except Exception:  # a file made to break the decoders must not leave its row waiting for ever
                log.exception("no thumbnail of %s", name)
            self._made.emit(*wish, image)

    def _small_picture(self, source: Input, name: str, number: int, password: str | None) -> Image.Image:
        """The page at few dots an inch; at fewer still when it is gigantic."""
        with self._small_input.page(source, name, number, dpi=THUMBNAIL_DPI, password=password) as opened:
            width, height = opened.page_size(0)
            if opened.is_drawn and width * height > THUMBNAIL_WORK:
                dpi = max(1, THUMBNAIL_DPI * (THUMBNAIL_WORK / (width * height)) ** 0.5)
            else:
                return opened.page(0).image
        with self._small_input.page(source, name, number, dpi=dpi, password=password) as opened:
            return opened.page(0).image

    def _make_page(
        self, key: int, rotate: int, source: Input, name: str, number: int, password: str | None, dpi: float
    ) -> None:
        if self._closed:
            return
        try:
            with self._large_input.page(source, name, number, dpi=dpi, password=password) as opened:
                picture = turned(opened.page(0).image, rotate)
            width, height = picture.size
            if width * height > SHOWN_PIXELS:
                factor = (SHOWN_PIXELS / (width * height)) ** 0.5
                picture = picture.resize(
                    (max(1, int(width * factor)), max(1, int(height * factor))),
                    Image.Resampling.BILINEAR,
                    reducing_gap=2.0,
                )
            self.page_ready.emit(key, rotate, to_qimage(picture), width, height)
        except UocrError as error:
            self.page_failed.emit(key, error)
        except Exception as error:
            log.exception("page %s of %s cannot be shown", number + 1, name)
            self.page_failed.emit(key, UocrError(f"{name} cannot be shown: {error}"))

    def _keep(self, key: int, rotate: int, image: QImage | None) -> None:
        wish = (key, rotate)
        self._wanted.discard(wish)
        if image is None:
            self._failed.add(wish)
            return
        self._thumbnails[wish] = QPixmap.fromImage(image)
        while len(self._thumbnails) > KEPT_THUMBNAILS:
            self._thumbnails.popitem(last=False)
        self.thumbnail_ready.emit(key)
