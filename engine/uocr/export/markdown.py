"""Markdown (CommonMark with pipe tables and $ formulas), and the escaping that keeps text literal in it."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from urllib.parse import quote

from uocr.document import Document, Page
from uocr.export.content import Formula, Heading, List, Paragraph, Part, Picture, notice_of
from uocr.export.html_markup import table_markup
from uocr.export.pictures import PageCrops
from uocr.export.target import open_text
from uocr.export.writer import Job, Writer
from uocr.markup.grid import Cell, Table
from uocr.markup.inline import Kind, Line, Run


class MarkdownWriter(Writer):
    """Streams; pictures go to the folder beside the file. Pages are parted by a rule and a comment."""

    def __init__(self, partial: Path, job: Job) -> None:
        super().__init__(partial, job)
        self._file = open_text(partial)

    def page(self, document: Document, page: Page) -> None:
        if self.count:
            self._file.write(f"\n---\n\n<!-- page {page.index + 1} -->\n\n")
        self.count += 1
        for block in page.blocks:
            block.picture = None
        crops = self.job.crops(page)
        pieces: list[str] = []
        before: Part | None = None
        for part in self.parts(page):
            if isinstance(part, List) and isinstance(before, List):
                pieces.append("<!-- -->")  # two lists in a row would become one, numbered anew
            pieces.append(self._picture(part, crops) if isinstance(part, Picture) else part_markdown(part))
            before = part
        notice = notice_of(page)
        if notice:
            pieces.append(f"> **{escape(notice)}**")
        if pieces:
            self._file.write("\n\n".join(pieces) + "\n")

    def _picture(self, picture: Picture, crops: PageCrops) -> str:
        data = crops.cut(picture.box) if self.job.pictures else None
        if data is None:
            return "*[picture]*"
        name = self.job.folder.save(data)
        picture.block.picture = picture.block.picture or name
        return f"![]({quote(name)})"

    def finish(self) -> None:
        self._file.close()

    def abandon(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()


def part_markdown(part: Part) -> str:
    """One part as Markdown without a line end; a picture as a mark that there is one."""
    match part:
        case Heading(level=level, line=line):
            return f"{'#' * level} {_CLOSING_HASHES.sub(_escape_first, _inline(line).strip())}"
        case Paragraph(lines=lines):
            return "  \n".join(_line(line) for line in lines)
        case List(items=items):
            return "\n".join(
                f"{'    ' * item.level}{'-' if item.number is None else f'{item.number}{item.delimiter}'} "
                f"{_line(item.line)}" for item in items)
        case Formula(tex=tex):
            return f"$${_tex(tex)}$$"
        case Picture():
            return "*[picture]*"
        case Table():
            return table_markup(part, "$", "$") if part.has_spans else _pipe_table(part)


def _pipe_table(table: Table) -> str:
    rows = [[_cell(cell) for cell in row] for row in table.grid()]
    rows.insert(1, ["---"] * table.width)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(cell: Cell | None) -> str:
    """A cell's content on one line; a pipe inside a formula becomes \\vert, so no renderer sees a column."""
    if cell is None:
        return ""
    lines = []
    for line in cell.lines:
        runs = [Run(run.kind, run.text.replace("\\|", "\\Vert ").replace("|", "\\vert "))
                if run.kind in (Kind.MATH, Kind.DISPLAY) else run for run in line]
        lines.append(_inline(tuple(runs)).strip().replace("|", "\\|"))
    return "<br>".join(lines)


def _line(line: Line) -> str:
    """A line of a paragraph or list item: its start must not look like the start of a block."""
    text = _inline(line).strip()
    return _BLOCK_START.sub(_escape_first, text, count=1)


def _inline(line: Line) -> str:
    pieces = []
    for run in line:
        match run.kind:
            case Kind.MATH | Kind.DISPLAY:
                pieces.append(f"${_tex(run.text)}$")
            case Kind.SUPERSCRIPT | Kind.SUBSCRIPT:
                pieces.append(f"<{run.kind.value}>{escape(run.text)}</{run.kind.value}>")
            case _:
                pieces.append(escape(run.text))
    return "".join(pieces)


def _tex(tex: str) -> str:
    """A bare dollar sign inside a formula would end it."""
    return _BARE_DOLLAR.sub(r"\\$", tex)


_BARE_DOLLAR = re.compile(r"(?<!\\)\$")
_CLOSING_HASHES = re.compile(r"(?<=\s)()#+$|^()#+$")
_BLOCK_START = re.compile(r"""^(?:
    ([0-9]{1,9})(?=[.)](?:\s|$))     # a numbered list
  | ()(?:
      \#{1,6}(?=\s|$)               # a heading
    | [-+*](?=\s|$)                 # a list
    | > | ~{3,}                     # a quotation, a code fence
    | (?:=+|[-:|][-:|\s]*)$         # an underline that makes a heading or a table of the line above
    )
)""", re.VERBOSE)
_SPECIAL = re.compile(r"""
    \\(?=[!-/:-@\[-`{-~]|$)         # a backslash that would escape what follows, or break the line
  | [`$]                            # code, formulas
  | \*(?<!(?<=\s)\*(?=\s))          # emphasis; between blanks an asterisk is only that
  | \](?=[(\[:])                    # links and their definitions
  | \[(?=\^|[ xX]\])                # footnotes, boxes to tick
  | (?<![^\W_])_ | _(?![^\W_])      # emphasis; inside a word an underscore is only that
  | ~(?=~) | (?<=~)~                # struck-out text
  | <(?=[A-Za-z/!?])                # tags, comments, addresses
  | &(?=\#?[A-Za-z0-9]+;)           # entities
""", re.VERBOSE)


def escape(text: str) -> str:
    """`text` so that CommonMark shows it as it is, whatever it looks like."""
    return _SPECIAL.sub(lambda match: "\\" + match.group(), text)


def _escape_first(match: re.Match[str]) -> str:
    """A backslash after the number of a numbered list, before anything else."""
    number = match.group(1) or ""
    return f"{number}\\{match.group()[len(number):]}"
