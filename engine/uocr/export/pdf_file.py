"""Searchable PDF: the original pages, or the page pictures, with invisible text over what one sees.

Pages of a PDF file keep everything they have (fonts, links, outline, encryption); pages of pictures are
built. The text is drawn in a font without ink, in the page's own coordinates, whatever /Rotate, /CropBox
and /UserUnit say.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
from collections.abc import Iterator
from pathlib import Path

import pymupdf
from PIL import Image

from uocr.characters import clean
from uocr.document import Document, Page
from uocr.export.content import is_missing, notice_of
from uocr.export.pdf_font import ASCENT, InvisibleFont, advance
from uocr.export.pdf_page import PageFrame, add_content, add_font
from uocr.export.pictures import jpeg
from uocr.export.text_layer import Area, placed_lines
from uocr.export.writer import Job, Original, Writer
from uocr.sources.pdf import MUPDF_LOCK

_CHUNK = 16
"""Pages of pictures held in memory before they go to the file."""

_SYSTEM_ERRORS = (
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT,
)
_KEEP_ENCRYPTION = 0  # pymupdf.PDF_ENCRYPT_KEEP, which the library defines only at run time
_DEFAULT_DPI = 200
_A4 = (595.0, 842.0)
_MAX_SIDE = 14_400
"""Points: the largest page side that PDF readers accept."""


class PdfWriter(Writer):
    """Writes runs of pages from one source to a part each; a single part is the result, several are joined."""

    def __init__(self, partial: Path, job: Job) -> None:
        super().__init__(partial, job)
        partial.touch()  # a target that cannot be written is found out before any work
        self._part: _Part | None = None
        self._files: list[Path] = []

    def page(self, document: Document, page: Page) -> None:
        self.count += 1
        self.note_replaced(page, sum(clean(block.text)[1] for block in page.blocks))
        original = self._original(page)
        if original is not None:
            with MUPDF_LOCK, _as_os_error():
                if self._add_original(page, original):
                    return
        crops = self.job.crops(page)
        image = crops.image
        with MUPDF_LOCK, _as_os_error():
            if not isinstance(self._part, _PicturePart):
                self._begin(_PicturePart(self._new_file(), document))
            assert isinstance(self._part, _PicturePart)
            self._part.add(page, image)

    def _original(self, page: Page) -> Original | None:
        """Where the page came from, None for a picture."""
        if self.job.originals is None:
            return None
        try:
            found = self.job.originals(page)
        except Exception as error:  # an original that is gone must not lose the text of all pages
            self.job.notes.add(page, f"its original is not to be had: {error}", serious=True)
            return None
        return Original(Path(found)) if isinstance(found, str | Path) else found

    def _add_original(self, page: Page, original: Original) -> bool:
        """Write the page onto its original; False when that cannot be opened or has no such page."""
        part = self._part
        if not isinstance(part, _OriginalPart) or part.original != original:
            try:
                part = _OriginalPart(self._new_file(), original)
            except Exception as error:  # MuPDF's own types differ by version
                self.job.notes.add(page, f"its original cannot be opened: {error}", serious=True)
                return False
        if page.index >= len(part.document):
            self.job.notes.add(page, "the original PDF has no such page", serious=True)
            if part is not self._part:
                part.document.close()
            return False
        if part is not self._part:
            self._begin(part)
        part.add(page, self.job)
        return True

    def _new_file(self) -> Path:
        return self.partial.with_name(f"{self.partial.name}-{len(self._files)}")

    def _begin(self, part: _Part) -> None:
        """End the part at hand, go on with `part`."""
        self._end_part()
        self._files.append(part.file)
        self._part = part

    def _end_part(self) -> None:
        part, self._part = self._part, None
        if part is not None:
            part.finish()

    def finish(self) -> None:
        with MUPDF_LOCK, _as_os_error():
            if self._part is None:
                self._begin(_PicturePart(self._new_file(), Document("")))
            self._end_part()
            if len(self._files) > 1:
                self._join()
            else:
                os.replace(self._files[0], self.partial)
            self._files.clear()
        _check_whole(self.partial)

    def _join(self) -> None:
        joined = pymupdf.open()
        for file in self._files:
            with pymupdf.open(file, filetype="pdf") as part:
                joined.insert_pdf(part)
        joined.save(self.partial, garbage=1, deflate=True)
        joined.close()
        for file in self._files:
            file.unlink()

    def abandon(self) -> None:
        with MUPDF_LOCK, contextlib.suppress(Exception):
            if self._part is not None:
                self._part.document.close()
        for file in self._files:
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)


class _Part:
    """Pages from one source, written to `file`."""

    def __init__(self, file: Path, document: pymupdf.Document) -> None:
        self.file = file
        self.document = document
        self.font = InvisibleFont(document)

    def finish(self) -> None:
        raise NotImplementedError

    def add_text(self, target: pymupdf.Page, page: Page) -> None:
        """Put the invisible text of `page` on `target`, and a note where there is something to know of it."""
        frame = PageFrame.of(target)
        name = add_font(target, self.font.xref)
        pieces = []
        for line in placed_lines(page, frame.width, frame.height, advance):
            pieces.append(self._show(line.text, line.area, frame))
        if pieces:
            add_content(target, f"BT 3 Tr /{name} 1 Tf\n{''.join(pieces)}ET\n".encode())
        notice = notice_of(page)
        if notice:
            note = target.add_text_annot(target.rect.tl, notice)
            xs, ys = zip(frame.point(12, 12), frame.point(32, 32), strict=True)
            # Placed by hand: the library's own conversion goes wrong where rotation meets /UserUnit.
            self.document.xref_set_key(
                note.xref, "Rect", f"[{min(xs):.2f} {min(ys):.2f} {max(xs):.2f} {max(ys):.2f}]")

    def _show(self, text: str, area: Area, frame: PageFrame) -> str:
        """One line as PDF operators: a text matrix that makes the line fill its area, and the line."""
        across = area.width / sum(map(advance, text))
        base_line = area.y + area.height * ASCENT / 1000
        a, b = frame.vector(across, 0)
        c, d = frame.vector(0, -area.height)
        e, f = frame.point(area.x, base_line)
        return f"{a:.4f} {b:.4f} {c:.4f} {d:.4f} {e:.3f} {f:.3f} Tm <{self.font.encode(text)}> Tj\n"


class _OriginalPart(_Part):
    """Pages of a PDF file: a copy of it with text added, reduced to the pages that were given."""

    def __init__(self, file: Path, original: Original) -> None:
        if isinstance(original.content, bytes):
            document = pymupdf.open(stream=original.content, filetype="pdf")
        else:
            document = pymupdf.open(original.content)
        if document.needs_pass and not document.authenticate(original.password or ""):
            document.close()
            raise ValueError("it needs another password")
        super().__init__(file, document)
        self.original = original
        self._order: list[int] = []
        self._done: set[int] = set()

    def add(self, page: Page, job: Job) -> None:
        self._order.append(page.index)
        if page.index in self._done:
            return
        self._done.add(page.index)
        if page.has_text_layer and not job.add_to_text_layer:
            job.notes.add(page, "it has text already and was left as it is")
            return
        self.add_text(self.document[page.index], page)

    def finish(self) -> None:
        self.font.save()
        if self._order != list(range(len(self.document))):
            self.document.select(self._order)
        self.document.save(self.file, garbage=1, deflate=True, encryption=_KEEP_ENCRYPTION)
        self.document.close()


class _PicturePart(_Part):
    """Pages built from pictures; every few pages they go to the file and out of memory."""

    def __init__(self, file: Path, document: Document) -> None:
        super().__init__(file, pymupdf.open())
        self.document.set_metadata({"title": clean(Path(document.source).name)[0]})
        self._waiting = 0
        self._saved = False

    def add(self, page: Page, image: Image.Image | None) -> None:
        if self._waiting >= _CHUNK:
            self._save()
            self.document.close()
            self.document = pymupdf.open(self.file, filetype="pdf")
            self.font.document = self.document
        width, height = _size_in_points(page, image)
        target = self.document.new_page(width=width, height=height)
        if image is not None:
            target.insert_image(target.rect, stream=_picture_file(image))
        else:
            words = "Page {} could not be read" if is_missing(page) else "No picture of page {}"
            target.insert_text((36, 48), words.format(page.index + 1), fontsize=11)
        self.add_text(target, page)
        self._waiting += 1

    def finish(self) -> None:
        if not len(self.document):
            self.document.new_page()
        self.font.save()
        self._save()
        self.document.close()

    def _save(self) -> None:
        if self._saved:
            self.document.saveIncr()
        else:
            self.document.save(self.file, deflate=True)
        self._saved, self._waiting = True, 0


def _picture_file(image: Image.Image) -> bytes:
    """PNG for black and white, where it is small and exact, JPEG for everything else."""
    if image.mode != "1":
        return jpeg(image)
    data = io.BytesIO()
    image.save(data, "PNG")
    return data.getvalue()


def _size_in_points(page: Page, image: Image.Image | None) -> tuple[float, float]:
    """Page size: the picture's at the resolution it claims where that is credible, at 200 dpi otherwise."""
    width, height = image.size if image is not None else (page.width, page.height)
    if not width or not height:
        return _A4  # a page that could not even be opened
    dpi = float(_DEFAULT_DPI)
    claimed = image.info.get("dpi") if image is not None else None
    if isinstance(claimed, tuple) and len(claimed) == 2 and 50 <= min(claimed) and max(claimed) <= 2400:
        dpi = float(claimed[0])
    scale = min(72 / dpi, _MAX_SIDE / max(width, height, 1))
    return max(width * scale, 1.0), max(height * scale, 1.0)


@contextlib.contextmanager
def _as_os_error() -> Iterator[None]:
    """MuPDF's failures to write as the OSError that they are; other failures pass."""
    try:
        yield
    except pymupdf.mupdf.FzErrorSystem as error:
        message = str(error)
        for code in _SYSTEM_ERRORS:
            if os.strerror(code) in message:
                raise OSError(code, os.strerror(code)) from error
        raise OSError(errno.EIO, message) from error


def _check_whole(file: Path) -> None:
    """MuPDF does not tell when the last bytes could not be written: look for the end mark."""
    with open(file, "rb") as written:
        written.seek(max(os.path.getsize(file) - 64, 0))
        if b"%%EOF" not in written.read():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
