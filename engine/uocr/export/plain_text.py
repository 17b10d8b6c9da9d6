"""Plain text: one paragraph a line, cells parted by tabs, pages by a form feed on a line of its own."""

from __future__ import annotations

import contextlib
from pathlib import Path

from uocr.document import Document, Page
from uocr.export.content import Formula, Heading, List, Paragraph, Part, Picture, notice_of
from uocr.export.inline import plain
from uocr.export.tables import Table
from uocr.export.target import open_text
from uocr.export.writer import Job, Writer

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
        paragraphs = [text for part in self.parts(page) if (text := _text(part))]
        notice = notice_of(page)
        if notice:
            paragraphs.append(f"[{notice}]")
        self._file.write("\n\n".join(paragraphs) + "\n" if paragraphs else "")

    def finish(self) -> None:
        self._file.close()

    def abandon(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()


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
