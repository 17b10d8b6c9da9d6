"""Writes blocks into a QTextDocument, at its end while they stream, in place when one changes.

Positions are Qt's: UTF-16 units from the start of the document. The work for a piece of text does not depend
on how much was written before.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from PySide6.QtCore import QUrl
from PySide6.QtGui import (
    QFont,
    QImage,
    QPalette,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFrameFormat,
    QTextImageFormat,
    QTextLength,
    QTextTableFormat,
)
from uocr.document import Block
from uocr.export.content import Formula, Heading, List, Paragraph, Part, Picture, parts_of
from uocr.markup.grid import Table
from uocr.markup.inline import Kind, Line, Run

from leggio.look.colours import colours
from leggio.transcript.doubts import SIGN, Places, doubt_format, doubtful_numbers, signed_parts, without_signs
from leggio.transcript.formulas import FormulaImages, FormulaKey

PIECE = 2000
"""Characters after which a paragraph goes on in a new piece: a page without breaks stays cheap."""
TABLE_PLACES = 4000
"""Cells of a table; a larger one is shown as text, one row a line."""
_LINE = "\u2028"
_PICTURE_WIDTH = 320
HEADING_LABELS = ("title", "sub_title")


def utf16(text: str) -> int:
    """Length of `text` in Qt's units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


@dataclass(slots=True)
class _Written:
    """Where a block stands: `start` is its first position; `growing` is how long its last piece is; `places` are those
    of its doubtful words, by their numbers, from `start`."""

    start: int
    block: Block
    growing: int = 0
    places: dict[int, tuple[int, int]] = field(default_factory=dict)


class BlockWriter:
    """Keeps a QTextDocument in step with a page's blocks. One block begins where the one before it ends."""

    def __init__(
        self,
        document: QTextDocument,
        formulas: FormulaImages,
        picture: Callable[[Block], QImage | None],
        palette: Callable[[], QPalette],
    ) -> None:
        self._document = document
        self._formulas = formulas
        self._picture = picture
        self._palette = palette
        self._written: list[_Written] = []
        self._waiting: dict[FormulaKey, set[int]] = {}
        self._met = Places()
        self.doubt_below = 0.5
        """Words whose confidence is lower are marked."""

    # -- where things are ----------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._written)

    def block(self, index: int) -> Block:
        return self._written[index].block

    def block_at(self, position: int) -> int:
        """Number of the block at `position`, -1 before the first."""
        return bisect_right(self._written, position, key=lambda w: w.start) - 1

    def span(self, index: int) -> tuple[int, int]:
        """First position of block `index` and the one behind its last character."""
        start = self._written[index].start
        end = (
            self._written[index + 1].start if index + 1 < len(self._written) else self._document.characterCount()
        ) - 1
        return start, max(start, end)

    # -- writing -------------------------------------------------------------------------------------------

    def clear(self) -> None:
        self._document.clear()
        self._written.clear()
        self._waiting.clear()

    def begin(self, label: str) -> None:
        """A new block at the end."""
        cursor = QTextCursor(self._document)
        cursor.movePosition(QTextCursor.MoveOperation.End)
        if self._written:
            cursor.insertBlock()
        cursor.setBlockFormat(_paragraph_format(label))
        cursor.setBlockCharFormat(self._text_format(label))
        self._written.append(_Written(cursor.position(), Block(label, (), "")))

    def grow(self, text: str) -> None:
        """More text of the last block, as it streams."""
        written = self._written[-1]
        cursor = QTextCursor(self._document)
        cursor.movePosition(QTextCursor.MoveOperation.End)
        format_ = self._text_format(written.block.label)
        text = text.replace("\n", _LINE)
        while written.growing + len(text) > PIECE:
            cut = _cut(text, PIECE - written.growing)
            if cut < 0:
                break
            cursor.insertText(text[:cut], format_)
            cursor.insertBlock(_paragraph_format(written.block.label), format_)
            text, written.growing = text[cut + 1 :], 0
        cursor.insertText(text, format_)
        written.growing += len(text)

    def end(self, index: int, block: Block) -> None:
        """Block `index` is complete: its final form and the marks under doubtful words."""
        parts, _ = parts_of(block)
        written = self._written[index]
        written.block = block
        if index == len(self._written) - 1 and written.growing and _is_plain(parts, block):
            self._mark_offsets(written)
        else:
            self._rewrite(index, parts)

    def add(self, block: Block) -> None:
        """A finished block at the end."""
        self.begin(block.label)
        self.end(len(self._written) - 1, block)

    def replace(self, index: int, block: Block) -> None:
        """Block `index` changed."""
        self._written[index].block = block
        self._rewrite(index, parts_of(block)[0])

    def formula_ready(self, key: FormulaKey) -> None:
        for index in sorted(self._waiting.pop(key, ())):
            if index < len(self._written):
                self._rewrite(index, parts_of(self._written[index].block)[0])

    # -- one block -----------------------------------------------------------------------------------------

    def _rewrite(self, index: int, parts: Sequence[Part]) -> None:
        written = self._written[index]
        start, end = self.span(index)
        before = self._document.characterCount()
        cursor = QTextCursor(self._document)
        cursor.beginEditBlock()
        cursor.setPosition(start)
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        self._met = Places()
        for number, part in enumerate(signed_parts(written.block, parts, self.doubt_below)):
            if number:
                cursor.insertBlock()
            cursor.setBlockFormat(_paragraph_format(written.block.label))
            self._part(cursor, part, index)
        cursor.endEditBlock()
        shift = self._document.characterCount() - before
        for later in self._written[index + 1 :]:
            later.start += shift
        written.places = {number: (a - start, b - start) for number, (a, b) in self._met.found.items()}
        self._mark(written)

    def _part(self, cursor: QTextCursor, part: Part, index: int) -> None:
        label = self._written[index].block.label
        match part:
            case Heading(level=level, line=line):
                cursor.setBlockFormat(_paragraph_format("title" if level < 2 else "sub_title"))
                self._line(cursor, line, self._text_format("title" if level < 2 else "sub_title"), index)
            case Paragraph(lines=lines):
                for number, line in enumerate(lines):
                    if number:
                        cursor.insertText(_LINE, self._text_format(label))
                    self._line(cursor, line, self._text_format(label), index)
            case List(items=items):
                for number, item in enumerate(items):
                    if number:
                        cursor.insertBlock()
                    cursor.setBlockFormat(_item_format(item.level, number == len(items) - 1))
                    marker = "•" if item.number is None else f"{item.number}{item.delimiter}"
                    cursor.insertText(f"{marker}\t", self._text_format(label))
                    self._line(cursor, item.line, self._text_format(label), index)
            case Formula(tex=tex):
                self._formula(cursor, tex, True, index)
            case Picture():
                self._image(cursor, self._picture(self._written[index].block))
            case Table():
                self._table(cursor, part, index)

    def _line(self, cursor: QTextCursor, line: Line, format_: QTextCharFormat, index: int) -> None:
        for run in line:
            if run.kind in (Kind.MATH, Kind.DISPLAY):
                self._formula(cursor, run.text, False, index)
            else:
                self._text(cursor, run.text.replace("\n", _LINE), _raised(run, format_))

    def _text(self, cursor: QTextCursor, text: str, format_: QTextCharFormat) -> None:
        """`text`, which may have signs of doubtful words in it."""
        done = 0
        for sign in SIGN.finditer(text):
            cursor.insertText(text[done : sign.start()], format_)
            self._met.meet(sign, cursor.position())
            done = sign.end()
        cursor.insertText(text[done:], format_)

    def _formula(self, cursor: QTextCursor, tex: str, display: bool, index: int) -> None:
        for sign in SIGN.finditer(tex):  # a word that is only a part of the formula has no place
            self._met.meet(sign, cursor.position())
        tex = without_signs(tex)
        key = FormulaKey(tex, display, self._palette().color(QPalette.ColorRole.Text).name())
        image = self._formulas.get(key)
        if image is None:
            if self._formulas.pending(key):
                self._waiting.setdefault(key, set()).add(index)
            format_ = self._text_format("text")
            format_.setFontFamilies(["Menlo", "DejaVu Sans Mono", "monospace"])
            cursor.insertText(tex, format_)
            return
        self._insert_image(cursor, key.url, image, f"${tex}$")

    def _image(self, cursor: QTextCursor, image: QImage | None) -> None:
        if image is None or image.isNull():
            format_ = self._text_format("text")
            format_.setForeground(colours(self._palette()).quiet)
            cursor.insertText("▨", format_)
            return
        if image.width() > _PICTURE_WIDTH * image.devicePixelRatio():
            image = image.scaledToWidth(_PICTURE_WIDTH * 2)
            image.setDevicePixelRatio(2)
        self._insert_image(cursor, f"leggio-picture:{image.cacheKey():x}", image, "")

    def _insert_image(self, cursor: QTextCursor, url: str, image: QImage, words: str) -> None:
        self._document.addResource(QTextDocument.ResourceType.ImageResource, QUrl(url), image)
        format_ = QTextImageFormat()
        format_.setName(url)
        format_.setWidth(image.width() / image.devicePixelRatio())
        format_.setHeight(image.height() / image.devicePixelRatio())
        format_.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignMiddle)
        format_.setToolTip(words)
        cursor.insertImage(format_)

    def _table(self, cursor: QTextCursor, table: Table, index: int) -> None:
        if not table.width or table.height * table.width > TABLE_PLACES:
            lines = (
                "\t".join("".join(r.text for line in cell.lines for r in line) for cell in row) for row in table.rows
            )
            self._text(cursor, _LINE.join(lines), self._text_format("text"))
            return
        format_ = QTextTableFormat()
        format_.setBorder(1)
        format_.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        format_.setBorderCollapse(True)
        format_.setBorderBrush(colours(self._palette()).line)
        format_.setCellPadding(5)
        format_.setTopMargin(4)
        format_.setBottomMargin(10)
        format_.setColumnWidthConstraints([QTextLength()] * table.width)
        made = cursor.insertTable(table.height, table.width, format_)
        for row in table.rows:
            for cell in row:
                rows, columns = (
                    min(cell.rows, table.height - cell.row),
                    min(cell.columns, table.width - cell.column),
                )
                if rows > 1 or columns > 1:
                    made.mergeCells(cell.row, cell.column, rows, columns)
                inside = made.cellAt(cell.row, cell.column).firstCursorPosition()
                text = self._text_format("text")
                if cell.header:
                    text.setFontWeight(QFont.Weight.DemiBold)
                for number, line in enumerate(cell.lines):
                    if number:
                        inside.insertText(_LINE, text)
                    self._line(inside, line, text, index)
        cursor.movePosition(QTextCursor.MoveOperation.NextBlock)

    # -- doubtful words ------------------------------------------------------------------------------------

    def find_word(self, index: int, number: int) -> QTextCursor | None:
        """Doubtful word `number` of block `index`, selected; None when the block shows it otherwise (inside a
        formula)."""
        written = self._written[index]
        place = written.places.get(number)
        return None if place is None else self._selected(written.start + place[0], written.start + place[1])

    def _mark_offsets(self, written: _Written) -> None:
        """Words of a block that stands as it was streamed: its offsets are positions."""
        block, done, position = written.block, 0, 0
        written.places = {}
        for number in doubtful_numbers(block, self.doubt_below):
            word = block.words[number]
            position += utf16(block.text[done : word.start])
            done = word.start
            written.places[number] = (position, position + utf16(word.text))
        self._mark(written)

    def _mark(self, written: _Written) -> None:
        for number, (start, end) in written.places.items():
            cursor = self._selected(written.start + start, written.start + end)
            cursor.mergeCharFormat(doubt_format(self._palette(), written.block.words[number].confidence))

    def _selected(self, start: int, end: int) -> QTextCursor:
        cursor = QTextCursor(self._document)
        cursor.setPosition(start)
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        return cursor

    def _text_format(self, label: str) -> QTextCharFormat:
        format_ = QTextCharFormat()
        base = self._document.defaultFont().pointSizeF()
        if label in HEADING_LABELS:
            format_.setFontPointSize(base * (1.45 if label == "title" else 1.2))
            format_.setFontWeight(QFont.Weight.DemiBold)
        elif label.endswith("caption") or label in ("header", "footer", "page_number"):
            format_.setFontPointSize(base * 0.92)
            format_.setForeground(colours(self._palette()).quiet)
        return format_


def _is_plain(parts: Sequence[Part], block: Block) -> bool:
    """Whether the streamed text already is the block's final form."""
    if len(parts) != 1 or not isinstance(parts[0], Paragraph | Heading):
        return False
    lines = parts[0].lines if isinstance(parts[0], Paragraph) else (parts[0].line,)
    text = "\n".join("".join(run.text for run in line) for line in lines)
    return text == block.text and all(run.kind is Kind.TEXT for line in lines for run in line)


def _cut(text: str, wanted: int) -> int:
    """Where to break `text` near `wanted`: at a blank or line end, -1 when there is none."""
    wanted = max(0, wanted)
    for mark in (" ", _LINE):
        at = text.find(mark, wanted)
        if at >= 0:
            return at
    return -1


def _paragraph_format(label: str) -> QTextBlockFormat:
    format_ = QTextBlockFormat()
    heading = label in HEADING_LABELS
    format_.setTopMargin(8 if heading else 0)
    format_.setBottomMargin(6 if heading else 10)
    format_.setLineHeight(130, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
    if heading:
        format_.setHeadingLevel(1 if label == "title" else 2)
    return format_


def _item_format(level: int, last: bool) -> QTextBlockFormat:
    format_ = QTextBlockFormat()
    format_.setLeftMargin(22 * (level + 1))
    format_.setTextIndent(-18)
    format_.setBottomMargin(10 if last else 3)
    format_.setLineHeight(130, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
    return format_


def _raised(run: Run, format_: QTextCharFormat) -> QTextCharFormat:
    if run.kind in (Kind.SUPERSCRIPT, Kind.SUBSCRIPT):
        format_ = QTextCharFormat(format_)
        alignment = QTextCharFormat.VerticalAlignment
        format_.setVerticalAlignment(
            alignment.AlignSuperScript if run.kind is Kind.SUPERSCRIPT else alignment.AlignSubScript
        )
    return format_
