"""Plain text: one paragraph a line, cells parted by tabs, pages by a form feed on a line of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from uocr.document import Block, Document, Page
from uocr.export.content import Formula, Heading, List, Paragraph, Part, Picture, notice_of, parts_of, places_of
from uocr.export.target import open_text
from uocr.export.writer import Job, Writer
from uocr.markup.grid import Table
from uocr.markup.inline import plain

PAGE_SEPARATOR = "\n\f\n"


class PlainTextWriter(Writer):
    """Streams; formulas are TeX without delimiters, a picture is the line [picture]."""

    def __init__(self, partial: Path, job: Job) -> None:
        super().__init__(partial, job)
        self._file = open_text(partial)

    def page(self, document: Document, page: Page) -> None:
        if self.count:
            self._file.write(PAGE_SEPARATOR)
        self.count += 1
        paragraphs = _texts(self.parts(page))
        notice = notice_of(page)
        if notice:
            paragraphs.append(f"[{notice}]")
        self._file.write("\n\n".join(paragraphs) + "\n" if paragraphs else "")

    def finish(self) -> None:
        self._file.close()

    def abandon(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()


def page_text(page: Page, between: str = "\n\n") -> str:
    """The page's text for a person, its blocks parted by `between`. `Page.text` has tables as HTML, this as rows."""
    if page.located is not None:
        return "\n\n".join(_texts(places_of(page)[0]))
    return between.join(text for block in page.blocks if (text := block_text(block)))


def block_text(block: Block) -> str:
    """As `page_text`: cells are parted by tabs, a picture says nothing."""
    return "\n\n".join(_texts(part for part in parts_of(block)[0] if not isinstance(part, Picture)))


def _texts(parts: Iterable[Part]) -> list[str]:
    return [text for part in parts if (text := _text(part))]


def _text(part: Part) -> str:
    match part:
        case Heading(line=line):
            return plain(line)
        case Paragraph(lines=lines):
            return "\n".join(map(plain, lines))
        case List(items=items):
            return "\n".join(
                f"{'    ' * item.level}{'-' if item.number is None else f'{item.number}{item.delimiter}'} "
                f"{plain(item.line)}" for item in items)
        case Formula(tex=tex):
            return tex
        case Picture():
            return "[picture]"
        case Table():
            rows = (
                "\t".join("" if cell is None else " ".join(map(plain, cell.lines)) for cell in row)
                for row in part.grid()
            )
            return "\n".join(rows)
