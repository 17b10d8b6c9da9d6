"""Results into files: txt, md, json, html, docx and searchable pdf.

    export(document, "out.md", page_images=images)

writes one file (or one a page), streaming page by page where the format allows, and gives back what was
written and what there is to know about it. A file takes its final name only when it is complete.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from uocr.document import Document, Page
from uocr.errors import InvalidRequest, OutputFailed
from uocr.export.content import is_missing
from uocr.export.json_file import load_json
from uocr.export.pictures import PageImages, PictureFolder
from uocr.export.plain_text import page_text
from uocr.export.target import ABANDONED_S, output_file, remove_leftovers
from uocr.export.writer import Job, Original, Originals, Writer

__all__ = ["FORMATS", "Exported", "Original", "Originals", "export", "load_json", "to_text"]

_WRITERS = {
    "txt": "plain_text:PlainTextWriter",
    "md": "markdown:MarkdownWriter",
    "json": "json_file:JsonWriter",
    "html": "html_file:HtmlWriter",
    "docx": "docx_file:DocxWriter",
    "pdf": "pdf_file:PdfWriter",
}
_BINARY = ("docx", "pdf")
FORMATS = tuple(_WRITERS)
"""Names of the formats, which are also the file name suffixes."""

Exportable = Document | Iterable[Document | Page]


@dataclass(slots=True)
class Exported:
    """What one export wrote. `notes` are sentences for the user: what was replaced, left out or not found."""

    files: list[Path] = field(default_factory=list)
    pictures: Path | None = None
    """Folder of the cut-out pictures, None when there are none."""
    pages: int = 0
    notes: list[str] = field(default_factory=list)
    serious: int = 0
    """How many of the notes, at their start, say that something of a page is missing."""


def export(
    documents: Exportable,
    path: Path | str,
    format: str | None = None,
    *,
    overwrite: bool = False,
    per_page: bool = False,
    pictures: bool = True,
    page_images: PageImages | None = None,
    originals: Originals | None = None,
    add_to_text_layer: bool = False,
) -> Exported:
    """Write readings to `path`.

    - `documents`: a Document, or an iterable of documents or of pages. An iterable is taken page by page, so
      500 pages need no more memory than one (but for DOCX, which is one tree and grows with its text).
    - `format`: one of FORMATS; None takes the suffix of `path`.
    - `per_page`: one file a page, `name-0001.suffix`, `name-0002.suffix`, ...
    - `pictures`: cut pictures out of the pages (md: files beside the document; html, docx: inside it).
    - `page_images(page)` gives a page's oriented picture or None; asked only where it is needed.
    - `originals(page)` gives the PDF file that a page came from (pdf only), as a path or an Original; None
      means that the page is built from its picture.
    - `add_to_text_layer`: add text to PDF pages that have some already; by default those stay as they are.

    Raises OutputExists (the name is taken and `overwrite` is not set), InvalidRequest (unknown format), and
    OutputFailed (full or read-only target), whose `text` is the plain text of the pages seen so far, of all
    pages when they were given in memory.
    """
    path = Path(path)
    writer_class = _writer_class(format or path.suffix.lstrip("."), path)
    job = Job(PictureFolder(path, overwrite=overwrite), pictures, page_images, originals, add_to_text_layer)
    result = Exported()
    if remove_leftovers(path, time.time() - ABANDONED_S):
        job.notes.general.append("what an earlier export to this name had left half written was removed")
    kept = _KeptText()
    pages = kept.watch(_pages(documents))
    try:
        if per_page:
            for number, (document, page) in enumerate(pages, 1):
                name = path.with_name(f"{path.stem}-{number:04d}{path.suffix}")
                _write(writer_class, name, iter([(document, page)]), job, overwrite)
                result.files.append(name)
        else:
            _write(writer_class, path, pages, job, overwrite)
            result.files.append(path)
    except OutputFailed as error:
        if isinstance(documents, Document | Sequence):
            for _ in pages:  # what is in memory anyway is kept whole
                pass
        error.text = kept.text
        raise
    finally:
        job.folder.close()
    result.pages = kept.count
    result.notes, result.serious = job.notes.sentences(), job.notes.serious
    result.pictures = job.folder.path if job.folder.count else None
    return result


def to_text(documents: Exportable, format: str = "md") -> str:
    """What `export` would write in a text format (txt, md, json, html), without pictures."""
    if format in _BINARY:
        raise InvalidRequest(f"{format} is no text; export it to a file.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text"
        export(documents, path, format, pictures=False)
        return path.read_text(encoding="utf-8")


def _write(
    writer_class: type[Writer], path: Path, pages: Iterator[tuple[Document, Page]], job: Job, overwrite: bool
) -> None:
    with output_file(path, overwrite=overwrite) as partial:
        writer = writer_class(partial, job)
        try:
            for document, page in pages:
                job.notes.saw(page)
                if is_missing(page):
                    job.notes.add(page, "not read, so there is no text", serious=True)
                writer.page(document, page)
            writer.finish()
        except BaseException:
            writer.abandon()
            raise
        job.folder.commit()


def _pages(documents: Exportable) -> Iterator[tuple[Document, Page]]:
    """Every page with its document; bare pages of the same source share one."""
    alone: Document | None = None
    for item in [documents] if isinstance(documents, Document) else documents:
        if isinstance(item, Document):
            alone = None
            for page in item.pages:
                yield item, page
        else:
            if alone is None or alone.source != item.source:
                alone = Document(item.source)
            yield alone, item


class _KeptText:
    """Plain text of the pages that went by, for the case that the target fails."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def watch(self, pages: Iterator[tuple[Document, Page]]) -> Iterator[tuple[Document, Page]]:
        for document, page in pages:
            self._texts.append(page_text(page, between="\n"))
            yield document, page

    @property
    def count(self) -> int:
        return len(self._texts)

    @property
    def text(self) -> str:
        return "\n\n".join(self._texts)


def _writer_class(format: str, path: Path) -> type[Writer]:
    """The writer of `format`; its libraries are imported only when they are used."""
    try:
        module, name = _WRITERS[format.lower()].split(":")
    except KeyError:
        raise InvalidRequest(
            f"{path}: {format or 'no suffix'} is no format to export to; choose one of {', '.join(FORMATS)}."
        ) from None
    writer: type[Writer] = getattr(import_module(f"uocr.export.{module}"), name)
    return writer
