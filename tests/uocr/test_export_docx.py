"""DOCX: opened again with the library, and as the XML that Word will see."""

from __future__ import annotations

import io
import zipfile

import docx
import pytest
from docx.oxml.ns import qn
from export_samples import document, page, page_picture, rich_page
from lxml import etree
from PIL import Image
from uocr.document import Block, Box, FinishReason
from uocr.export import export


@pytest.fixture
def written(tmp_path):
    """Export pages, give the reopened document."""

    def write(*pages, **options):
        result = export(document(*pages), tmp_path / "a.docx", overwrite=True, **options)
        made = docx.Document(tmp_path / "a.docx")
        made.notes = result.notes
        return made

    return write


def shown(made):
    return [(p.style.name, p.text) for p in made.paragraphs]


def test_headings_paragraphs_lists_and_captions(written):
    made = written(
        page(
            ("title", "## Results"),
            ("text", "one\ntwo"),
            ("text", "- a\n  - b\n- c"),
            ("text", "7. x\n8. y"),
            ("image_caption", "Fig. 1"),
            ("formula", "\\[ E = mc^2 \\]"),
        )
    )
    assert shown(made) == [
        ("Heading 2", "Results"),
        ("Normal", "one\ntwo"),
        ("List Bullet", "a"),
        ("List Bullet 2", "b"),
        ("List Bullet", "c"),
        ("List Paragraph", "7.\tx"),
        ("List Paragraph", "8.\ty"),
        ("Caption", "Fig. 1"),
        ("Normal", "E = mc^2"),
    ]


def test_formulas_and_raised_text_are_runs_of_their_own(written):
    (paragraph,) = written(page(("text", "is \\( x_1 \\), 5<sup>2</sup> H<sub>2</sub>O"))).paragraphs
    raised = [(r.text, r.font.name, bool(r.font.superscript), bool(r.font.subscript)) for r in paragraph.runs]
    assert raised == [
        ("is ", None, False, False),
        ("x_1", "Cambria Math", False, False),
        (", 5", None, False, False),
        ("2", None, True, False),
        (" H", None, False, False),
        ("2", None, False, True),
        ("O", None, False, False),
    ]


def test_a_table_with_spans(written):
    made = written(
        page(
            (
                "table",
                '<table><tr><th rowspan="2">a</th><td colspan="2">b</td></tr>'
                "<tr><td>c<br>d</td><td>e | f</td></tr></table>",
            )
        )
    )
    (table,) = made.tables
    assert [[cell.text for cell in row.cells] for row in table.rows] == [
        ["a", "b", "b"],
        ["a", "c\nd", "e | f"],
    ]
    assert table.cell(0, 0)._tc is table.cell(1, 0)._tc or table.cell(1, 0)._tc.vMerge == "continue"
    assert table.cell(0, 1)._tc.grid_span == 2
    assert table.cell(0, 0).paragraphs[0].runs[0].bold
    assert all(len(cell.paragraphs) == 1 for row in table.rows for cell in row.cells)


def test_a_table_wider_than_word_takes_is_written_as_lines(written):
    row = "<tr>" + "".join(f"<td>{i}</td>" for i in range(64)) + "</tr>"
    made = written(page(("table", f"<table>{row}</table>")))
    assert made.tables == []
    assert made.paragraphs[0].text.split("\t") == [str(i) for i in range(64)]
    assert made.notes == ["page 1: a table of 64 columns was written as lines, Word takes 63"]


def test_pictures_are_inside_in_proportion(written, tmp_path):
    made = written(page(Block("image", (Box(0, 0, 500, 500), Box(7, 7, 7, 7)), "")), page_images=page_picture)
    (shape,) = made.inline_shapes
    assert shape.width.inches == pytest.approx(6 * 500 / 999, abs=0.01)
    assert shape.height / shape.width == pytest.approx(350 / 250, abs=0.01)
    with zipfile.ZipFile(tmp_path / "a.docx") as archive:
        (name,) = [n for n in archive.namelist() if n.startswith("word/media/")]
        with Image.open(io.BytesIO(archive.read(name))) as image:
            assert image.size == (250, 350)
    assert made.paragraphs[1].text == "[picture]"
    assert [p.name for p in tmp_path.iterdir()] == ["a.docx"]


def test_every_picture_is_its_own_part_with_its_own_number(written, tmp_path):
    two = (Box(0, 0, 400, 400), Box(500, 500, 999, 999))
    made = written(page(Block("image", two, "")), page(Block("image", two, "")), page_images=page_picture)
    assert len({shape._inline.docPr.id for shape in made.inline_shapes}) == 4
    with zipfile.ZipFile(tmp_path / "a.docx") as archive:
        media = [archive.read(n) for n in archive.namelist() if n.startswith("word/media/")]
        assert b"image/jpeg" in archive.read("[Content_Types].xml")
    assert len(media) == 4
    assert [image.size for image in map(Image.open, map(io.BytesIO, media))] == [(200, 280), (250, 350)] * 2


def test_pages_are_parted_and_a_cut_one_says_so(written):
    made = written(
        page(("text", "a")), page(index=1), page(("text", "b"), index=2, finish=FinishReason.LENGTH)
    )
    breaks = [p for p in made.paragraphs if p._p.findall(f".//{qn('w:br')}[@{qn('w:type')}='page']")]
    assert len(breaks) == 2
    assert shown(made)[-1] == (
        "Intense Quote",
        "Page 3 is cut short: the limit of generated text was reached before its end.",
    )


def test_right_to_left_text_is_marked_and_stays_in_logical_order(written):
    first, second = written(page(("text", "שלום עולם 12"), ("text", "hello שלום"))).paragraphs
    assert first.text == "שלום עולם 12"
    assert first._p.pPr.find(qn("w:bidi")) is not None
    assert all(run.font.rtl for run in first.runs)
    assert second._p.pPr is None


def test_the_xml_is_well_formed_and_holds_every_letter(written, tmp_path):
    """A lone control character makes Word refuse a file; python-docx alone would raise or write it."""
    odd = [*range(0x20), *range(0x7F, 0xA0), 0xD800, 0xDFFF, 0xFFFE, 0xFFFF, 0xFFFD, 0x1F44D]
    written(page(*[("text", f"A{chr(code)}B") for code in odd], finish=FinishReason.ERROR, error="\x07bad"))
    with zipfile.ZipFile(tmp_path / "a.docx") as archive:
        for name in archive.namelist():
            if name.endswith((".xml", ".rels")):
                etree.fromstring(archive.read(name))
    letters = "".join(p.text for p in docx.Document(tmp_path / "a.docx").paragraphs)
    assert letters.count("A") == letters.count("B") == len(odd)


def test_the_schema_order_of_paragraph_properties_is_kept(written):
    """Word rejects properties in the wrong order: the direction comes after numbering, before alignment."""
    made = written(page(("title", "שלום"), ("text", "- שלום"), ("text", "1. שלום"), ("formula", "\\[ x \\]")))
    order = ["pStyle", "numPr", "bidi", "spacing", "ind", "jc", "rPr"]
    for paragraph in made.paragraphs:
        names = [etree.QName(child).localname for child in paragraph._p.pPr]
        assert names == sorted(names, key=order.index)


def test_a_whole_page(written):
    made = written(rich_page(), page_images=page_picture)
    assert len(made.tables) == 2
    assert len(made.inline_shapes) == 2
    assert made.core_properties.title == "scan.pdf"
    assert made.core_properties.author == ""
