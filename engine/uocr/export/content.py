"""A block's text as the parts that every document format knows: headings, lists, tables, pictures, ...

The one place that decides what a block is; writers only write.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from uocr.characters import clean
from uocr.document import Block, Box, FinishReason, Page
from uocr.markup.grid import Table, begins_rows, clean_text, read_table, split_tables, uneven_tables, without_tags
from uocr.markup.inline import Kind, Line, Run, plain, split_lines, split_runs, strip_start


@dataclass(frozen=True, slots=True)
class Heading:
    level: int
    """1 is the highest, 6 the lowest."""
    line: Line


@dataclass(frozen=True, slots=True)
class Paragraph:
    lines: tuple[Line, ...]
    role: str = "text"
    """The block's label: caption, header, page_number, ... A writer may style it."""


@dataclass(frozen=True, slots=True)
class ListItem:
    """`number` is None for a bullet; `level` counts from 0."""

    level: int
    number: int | None
    delimiter: str
    line: Line


@dataclass(frozen=True, slots=True)
class List:
    items: tuple[ListItem, ...]


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula on a line of its own, TeX without delimiters."""

    tex: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A place on the page whose picture belongs into the text; `block` takes the file name when it is saved."""

    box: Box
    block: Block


Part = Heading | Paragraph | List | Formula | Picture | Table

_PICTURE_LABELS = {"image", "figure", "picture", "photo", "chart", "seal"}
_HEADING = re.compile(r"(#{1,6})[ \t]+")
_BULLET = re.compile(r"[ \t]*[-*+•●▪◦‣·][ \t]+(?=\S)")
_NUMBER = re.compile(r"[ \t]*([0-9]{1,9})([.)])[ \t]+(?=\S)")

_BLANK = Run(Kind.TEXT, " ")


def is_picture(block: Block) -> bool:
    """Whether the block stands for a picture. `image_caption` does not, `header_image` does."""
    return block.label in _PICTURE_LABELS or block.label.endswith("_image")


def parts_of(block: Block) -> tuple[list[Part], int]:
    """The parts of `block` in order, and how many characters no format can hold were replaced in it."""
    text, replaced = clean_text(block)
    label = clean(block.label)[0]
    parts: list[Part] = [Picture(box, block) for box in block.boxes] if is_picture(block) else []
    pieces = [(read_table(piece) if is_table else None, piece) for is_table, piece in split_tables(text)]
    has_table = label == "table" or any(table is not None or begins_rows(piece) for table, piece in pieces)
    for table, piece in pieces:
        if table is None:
            parts += _text_parts(without_tags(piece) if has_table else piece, label)
            continue
        if table.outside:
            parts += _text_parts(table.outside, label)
        parts.append(table)
    return parts, replaced


def joined_lists(parts: Iterable[Part]) -> Iterator[Part]:
    """`parts` with lists that follow each other as one where they are: a model may make a block of every item.

    Numbers that run on belong together; of bullets, where one of the two neighbours is a single item. All else are
    lists of their own.
    """
    items: tuple[ListItem, ...] = ()
    single = False  # the last of the joined lists is a single item
    for part in parts:
        if not isinstance(part, List):
            yield from [List(items)] if items else []
            items = ()
            yield part
            continue
        if items and not _runs_on(items, part.items, one_alone=single or len(part.items) == 1):
            yield List(items)
            items = ()
        items, single = (*items, *part.items), len(part.items) == 1
    yield from [List(items)] if items else []


def _runs_on(before: Sequence[ListItem], after: Sequence[ListItem], *, one_alone: bool) -> bool:
    last = next((item for item in reversed(before) if item.level == 0), None)
    first = after[0]
    if last is None or first.level or (last.number is None) != (first.number is None):
        return False
    if last.number is None or first.number is None:
        return one_alone
    return first.delimiter == last.delimiter and first.number == last.number + 1


def places_of(page: Page) -> tuple[list[Part], int]:
    """As `parts_of` for a page on which words were located: one paragraph, a line for each place."""
    text, replaced = clean("\n".join(page.places))
    return [Paragraph(tuple((Run(Kind.TEXT, line),) for line in text.split("\n")))] if text else [], replaced


def _text_parts(text: str, label: str) -> list[Part]:
    parts: list[Part] = []
    lines: list[Line] = []

    def flush() -> None:
        if lines:
            parts.extend(_paragraph(lines, label))
            lines.clear()

    pending = []
    for run in split_runs(text):
        if run.kind is not Kind.DISPLAY:
            pending.append(run)
            continue
        lines.extend(split_lines(pending))
        pending.clear()
        flush()
        parts.append(Formula(run.text))
    lines.extend(split_lines(pending))
    flush()
    return parts


def _paragraph(lines: list[Line], label: str) -> list[Part]:
    """Lines between two formulas: a heading, or paragraphs and lists parted by empty lines."""
    if label.endswith("title"):
        return _heading([line for line in lines if plain(line).strip()])
    parts: list[Part] = []
    text: list[Line] = []
    items: list[ListItem] = []
    indents: list[int] = []
    after_gap = False

    def flush_text() -> None:
        if text:
            parts.append(Paragraph(tuple(text), label))
            text.clear()

    def flush_items() -> None:
        if items:
            run_on = _numbers_run_on(items)
            parts.append(List(tuple(items)) if run_on else Paragraph(tuple(map(_item_line, items)), label))
            items.clear()
            indents.clear()

    for line in lines:
        item = _list_item(line, indents)
        if item is not None:
            flush_text()
            items.append(item)
        elif not plain(line).strip():
            flush_text()
        elif items and not after_gap and _indent(line):
            last = items[-1]
            items[-1] = replace(last, line=(*last.line, _BLANK, *_unindent(line)))
        else:
            flush_items()
            text.append(_unindent(line))
        after_gap = not plain(line).strip()
    flush_text()
    flush_items()
    return parts


def _heading(lines: list[Line]) -> list[Part]:
    """One heading of all lines. Leading `#` signs, which the model's ancestor writes, give the level."""
    if not lines:
        return []
    lines = [_unindent(line) for line in lines]
    first = lines[0][0]
    hashes = _HEADING.match(first.text) if first.kind is Kind.TEXT else None
    if hashes and len(plain(lines[0])) > hashes.end():
        lines[0] = strip_start(lines[0], hashes.end())
    joined = tuple(run for line in lines for run in (_BLANK, *line))[1:]
    return [Heading(len(hashes.group(1)) if hashes else 1, joined)]


def _list_item(line: Line, indents: list[int]) -> ListItem | None:
    """The line as a list item, None when it is none; `indents` are those of the enclosing levels."""
    if not line or line[0].kind is not Kind.TEXT:
        return None
    text = line[0].text if len(line) == 1 else line[0].text + "."  # a formula may follow the marker
    bullet, number = _BULLET.match(text), _NUMBER.match(text)
    marker = bullet or number
    if marker is None:
        return None
    indent = _indent(line)
    while indents and indents[-1] > indent:
        indents.pop()
    if not indents or indent > indents[-1]:
        indents.append(indent)
    rest = strip_start(line, min(marker.end(), len(line[0].text)))
    if number:
        return ListItem(len(indents) - 1, int(number.group(1)), number.group(2), rest)
    return ListItem(len(indents) - 1, None, "", rest)


def _numbers_run_on(items: list[ListItem]) -> bool:
    """Whether every number follows the one before it at its level, as list numbering would have it."""
    last: list[ListItem] = []
    for item in items:
        del last[item.level + 1:]
        if len(last) == item.level + 1:
            before = last.pop()
            if item.number is not None and before.number is not None and before.delimiter == item.delimiter \
                    and item.number != before.number + 1:
                return False
        last.append(item)
    return True


def _item_line(item: ListItem) -> Line:
    marker = "-" if item.number is None else f"{item.number}{item.delimiter}"
    return (Run(Kind.TEXT, f"{marker} "), *item.line)


def _indent(line: Line) -> int:
    """Columns of white space before the line's first character; a tab counts 4."""
    if not line or line[0].kind is not Kind.TEXT:
        return 0
    text = line[0].text.replace("\t", "    ")
    return len(text) - len(text.lstrip(" "))


def _unindent(line: Line) -> Line:
    if line[0].kind is not Kind.TEXT:
        return line
    return strip_start(line, len(line[0].text) - len(line[0].text.lstrip()))


_REASONS = {
    FinishReason.LENGTH: "is cut short: the limit of generated text was reached before its end",
    FinishReason.LOOP: "is cut short: the model began to repeat itself",
    FinishReason.CANCELLED: "is cut short: reading was cancelled",
    FinishReason.ERROR: "is cut short by an error",
    FinishReason.NOT_READ: "was not read",
}


def is_missing(page: Page) -> bool:
    """Whether nothing of `page` was read: it failed before its first block, or its turn never came."""
    return not page.blocks and page.finish_reason in (FinishReason.ERROR, FinishReason.NOT_READ)


def doubt_of(page: Page, turning: str = "") -> str | None:
    """That the model is unsure of `page`, worded to stand after "page 3: "; None where it is sure.

    turning: words in brackets on how a page is turned, for where hardly any word is sure.
    """
    if not page.unsure:
        return None
    what = "text may be wrong" if page.located is None else "words may not be there"
    words = f"the model is unsure (confidence {page.confidence:.2f}); the {what}"
    return f"{words}, as hardly any word is sure: {reasons(turning)}" if page.hardly_sure else words


def reasons(turning: str = "") -> str:
    """Why a page with ink gives nothing that is sure, as far as a person can find out or mend it."""
    turned = f"turned {turning}" if turning else "turned"
    return f"the page may be {turned}, too small or blurred, or in a script or hand that the model does not read"


def notice_of(page: Page) -> str | None:
    """One line to print with a page whose text may not be all or may not be right; None where all is well."""
    name = f"Page {page.index + 1}"
    told = []
    if not page.complete:
        words = "could not be read" if is_missing(page) and page.error else _REASONS[page.finish_reason]
        error = " ".join(clean(page.error)[0].split()) if page.error else ""
        told.append(f"{name} {words}: {error}" if error else f"{name} {words}.")
    if page.ink_without_text:
        told.append(f"{name}: no text was found, though there is ink on it; {reasons()}.")
    if (doubt := doubt_of(page)) is not None:
        told.append(f"{name}: {doubt}.")
    told += [f"{name}: {uneven}." for uneven in uneven_tables(page.blocks)]
    return " ".join(told) or None
