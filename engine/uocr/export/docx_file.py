"""Word documents (DOCX): headings, paragraphs, lists, tables with spans, pictures, one section for all pages.

A DOCX file is one XML tree, so it is built in memory and grows with the text and pictures of the document.
"""

from __future__ import annotations

import io
from pathlib import Path

import docx
from docx.enum.text import WD_ALIGN_PARAGRAPH, WD_BREAK
from docx.image.image import Image as DocxImage
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.oxml import OxmlElement
from docx.oxml.shape import CT_Inline
from docx.oxml.table import CT_Tbl
from docx.parts.image import ImagePart
from docx.shared import Inches
from docx.table import Table as DocxTable
from docx.table import _Cell
from docx.text.paragraph import Paragraph as DocxParagraph

from uocr.characters import clean, is_right_to_left
from uocr.document import BOX_SCALE, Document, Page
from uocr.export.content import Formula, Heading, List, Paragraph, Part, Picture, notice_of
from uocr.export.pictures import PageCrops
from uocr.export.writer import Job, Writer
from uocr.markup.grid import Table
from uocr.markup.inline import Kind, Line, plain

COLUMN_LIMIT = 63
"""Columns that Word accepts in a table; a wider one is written as lines with tabs."""

_TEXT_WIDTH = Inches(6)
_FORMULA_FONT = "Cambria Math"
_INDENT = Inches(0.25)
_AFTER_DIRECTION = (
    "w:adjustRightInd", "w:snapToGrid", "w:spacing", "w:ind", "w:contextualSpacing", "w:mirrorIndents",
    "w:suppressOverlap", "w:jc", "w:textDirection", "w:textAlignment", "w:textboxTightWrap", "w:outlineLvl",
    "w:divId", "w:cnfStyle", "w:rPr", "w:sectPr", "w:pPrChange",
)
"""Paragraph properties that the schema puts after the direction; Word refuses another order."""


class DocxWriter(Writer):
    """Pages are parted by page breaks; formulas are TeX in a font of their own."""

    def __init__(self, partial: Path, job: Job) -> None:
        super().__init__(partial, job)
        self._docx = docx.Document()
        self._end = self._docx.element.body.sectPr  # the section's properties stay last
        self._pictures = 0
        self._styles = {style.name: style.style_id for style in self._docx.styles}

    def page(self, document: Document, page: Page) -> None:
        if not self.count:
            properties = self._docx.core_properties
            properties.title = clean(Path(document.source).name)[0][:255]
            properties.author = properties.comments = ""
        else:
            self._paragraph().add_run().add_break(WD_BREAK.PAGE)
        self.count += 1
        crops = self.job.crops(page)
        for part in self.parts(page):
            self._part(part, page, crops)
        notice = notice_of(page)
        if notice:
            self._paragraph("Intense Quote").add_run(notice)

    def _paragraph(self, style: str = "Normal") -> DocxParagraph:
        """A new paragraph at the end. (The library's own way looks through all before it, every time.)"""
        element = OxmlElement("w:p")
        self._end.addprevious(element)
        if style != "Normal":
            element.style = self._styles[style]
        return DocxParagraph(element, self._docx._body)

    def _part(self, part: Part, page: Page, crops: PageCrops) -> None:
        match part:
            case Heading(level=level, line=line):
                _fill(self._paragraph(f"Heading {level}"), (line,))
            case Paragraph(lines=lines, role=role):
                _fill(self._paragraph("Caption" if role.endswith("caption") else "Normal"), lines)
            case List():
                self._list(part)
            case Formula(tex=tex):
                paragraph = self._paragraph()
                paragraph.alignment = WD_ALIGN_PARAGRAPH.CENTER
                paragraph.add_run(tex).font.name = _FORMULA_FONT
            case Picture():
                self._picture(part, crops)
            case Table():
                self._table(part, page)

    def _list(self, part: List) -> None:
        for item in part.items:
            if item.number is None:
                level = min(item.level, 2)
                paragraph = self._paragraph("List Bullet" + (f" {level + 1}" if level else ""))
            else:
                # Numbers are written out: Word's own numbering would count anew across the document.
                paragraph = self._paragraph("List Paragraph")
                paragraph.paragraph_format.left_indent = _INDENT * (item.level + 2)
                paragraph.paragraph_format.first_line_indent = -_INDENT
                paragraph.add_run(f"{item.number}{item.delimiter}\t")
            _fill(paragraph, (item.line,))

    def _picture(self, picture: Picture, crops: PageCrops) -> None:
        data = crops.cut(picture.box) if self.job.pictures else None
        paragraph = self._paragraph()
        if data is None:
            paragraph.add_run("[picture]").italic = True
            return
        share = max((picture.box.x2 - picture.box.x1) / BOX_SCALE, 0.05)  # of the page, to stay in proportion
        # By hand: the library would hash every earlier picture again to see whether this one is new.
        self._pictures += 1
        image = DocxImage.from_blob(data)
        name = f"picture{self._pictures}.jpg"
        part = ImagePart.from_image(image, PackURI(f"/word/media/{name}"))
        relation = self._docx.part.relate_to(part, RELATIONSHIP_TYPE.IMAGE)
        width, height = image.scaled_dimensions(int(_TEXT_WIDTH * share), None)
        drawing = CT_Inline.new_pic_inline(self._pictures, relation, name, width, height)
        paragraph.add_run()._r.add_drawing(drawing)

    def _table(self, table: Table, page: Page) -> None:
        if table.width > COLUMN_LIMIT:
            self.job.notes.add(
                page, f"a table of {table.width} columns was written as lines, Word takes {COLUMN_LIMIT}")
            for row in table.grid():
                text = "\t".join("" if cell is None else " ".join(map(plain, cell.lines)) for cell in row)
                self._paragraph().add_run(text)
            return
        element = CT_Tbl.new_tbl(table.height, table.width, _TEXT_WIDTH)
        self._end.addprevious(element)
        element.tblStyle_val = self._styles["Table Grid"]
        made = DocxTable(element, self._docx._body)
        places = made._cells  # once: the library collects them anew at every table.cell()
        for cell in (cell for row in table.rows for cell in row):
            first = places[cell.row * table.width + cell.column]
            if cell.rows > 1 or cell.columns > 1:
                last_row, last_column = cell.row + cell.rows - 1, cell.column + cell.columns - 1
                first = first.merge(places[last_row * table.width + last_column])
            _fill_cell(first, cell.lines, bold=cell.header)

    def finish(self) -> None:
        # Through memory: the library's ZIP writer cannot be closed again once its file has refused to grow.
        data = io.BytesIO()
        self._docx.save(data)
        self.partial.write_bytes(data.getbuffer())

    def abandon(self) -> None:
        pass  # nothing is open before `finish`


def _fill_cell(cell: _Cell, lines: list[Line], *, bold: bool) -> None:
    _fill(cell.paragraphs[0], tuple(lines))
    if bold:
        for run in cell.paragraphs[0].runs:
            run.bold = True


def _fill(paragraph: DocxParagraph, lines: tuple[Line, ...]) -> None:
    """Add the lines to `paragraph`, parted by line breaks, in the direction of their first letter."""
    right_to_left = is_right_to_left(" ".join(map(plain, lines)))
    if right_to_left:
        paragraph._p.get_or_add_pPr().insert_element_before(OxmlElement("w:bidi"), *_AFTER_DIRECTION)
    for i, line in enumerate(lines):
        if i:
            paragraph.add_run().add_break()
        for run in line:
            made = paragraph.add_run(run.text)
            if run.kind in (Kind.MATH, Kind.DISPLAY):
                made.font.name = _FORMULA_FONT
            elif right_to_left:
                made.font.rtl = True
            if run.kind is Kind.SUPERSCRIPT:
                made.font.superscript = True
            elif run.kind is Kind.SUBSCRIPT:
                made.font.subscript = True
