"""Marks as tokens of the vocabulary: what is printed on a page stays its text, what is markup never becomes text."""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Callable

import pytest
from export_samples import page
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from uocr import UnlimitedOCR
from uocr.document import Block, Box, Token
from uocr.export import to_text
from uocr.export.content import Paragraph, parts_of
from uocr.export.json_file import page_from_record, page_record
from uocr.markup import BlockStarted, BlockText, MarkupParser
from uocr.markup.grid import Table
from uocr.markup.inline import plain
from uocr.modelfile import ModelFile
from uocr.tokenizer import Tokenizer

from tests.conftest import BUILT_IN, SAMPLES

NAMES = ("<|det|>", "<|/det|>", "<|ref|>", "<|/ref|>", "<PAGE>", "<td>", "</td>", "<tr>", "</tr>", "<image>",
         "<|User|>")  # fmt: skip
SPECIAL = {100 + i: name for i, name in enumerate(NAMES)}
IDS = {name: i for i, name in SPECIAL.items()}


class Mark(str):
    """A mark that the model writes as one token."""


def m(text: str) -> list[str]:
    """`text` cut into tokens; what stands between `{` and `}` is a mark."""
    pieces: list[str] = []
    for part in text.split("{"):
        mark, closed, rest = part.partition("}")
        pieces += [Mark(mark), *rest] if closed else list(part)
    return pieces


def parsed(text: str, special: dict[int, str] = SPECIAL, cut: bool = False, plain: bool = False) -> MarkupParser:
    parser = MarkupParser(special=special, plain=plain)
    streamed: dict[int, str] = {}
    events = []
    for i, piece in enumerate(m(text)):
        token = Token(IDS[piece] if isinstance(piece, Mark) else 5, math.log(0.5 + 0.001 * (i % 400)))
        events += parser.push(str(piece), [token])
    blocks = parser.finish(cut=cut)
    for event in events + parser.last_events:
        if isinstance(event, BlockStarted):
            streamed[event.index] = ""
        elif isinstance(event, BlockText):
            streamed[event.index] += event.delta
    assert [streamed[i] for i in sorted(streamed)] == [block.text for block in blocks]
    return parser


def blocks_of(text: str, **more: object) -> list[Block]:
    return parsed(text, **more).finish()  # type: ignore[arg-type]


TAG = "{<|det|>}text [1, 2, 3, 4]{<|/det|>}"
BOX = (Box(1, 2, 3, 4),)


def test_marks_printed_on_the_page_are_its_text():
    shown = "It writes <|det|>text [1, 2, 3, 4]<|/det|> first, <|ref|>, <PAGE> and <image>."
    parser = parsed(f"{TAG}{shown}\n{TAG}more")
    assert [(b.text, b.boxes) for b in parser.finish()] == [(shown, BOX), ("more", BOX)]
    assert parser.pages[0].problems == []


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        (TAG + "a{<|/det|>}b", ["a b"]),
        (TAG + "a {<|/det|>} b", ["a  b"]),
        (TAG + "a{<image>}", ["a"]),
        ("{<image>}a{<|User|>}\nb", ["a\nb"]),
        (TAG + "a{</td>}{</tr>}{<tr>}{<td>}b", ["a b"]),
        (TAG + "{<td>}a", ["a"]),
        ("{<|det|>}text [1, 2{<td>}, 3, 4]{<|/det|>}a", [", 3, 4] a"]),
        ("{<|det|>}text [1, 2", []),
        ("{<|det|>}text", []),
        ("{<|ref|>}total{<|/ref|>}", []),
        ("{<|ref|>}the total{<|/ref|>} is 7", ["the total is 7"]),
        ("{<|ref|>}{<|ref|>}{<|det|>}{<|/ref|>}{<|det|>}", []),
    ],
)
@pytest.mark.parametrize("cut", [True, False])
def test_marks_out_of_place_are_left_out_and_told(text, texts, cut):
    parser = parsed(text, cut=cut)
    assert [block.text for block in parser.finish()] == texts
    assert parser.pages[0].problems


def test_words_beside_what_was_left_out_keep_their_tokens():
    (block,) = blocks_of(TAG + "ab{<|/det|>}cd{<image>} ef")
    assert [(w.text, w.start) for w in block.words] == [("ab", 0), ("cd", 3), ("ef", 6)]
    places = [m(TAG + "ab{<|/det|>}cd{<image>} ef").index(letter, 19) for letter in "ace"]
    assert [w.confidence for w in block.words] == pytest.approx([0.5 + 0.001 * place for place in places])


CELLS = "<table>{<tr>}{<td>}one{</td>}<td colspan=\"2\">two{</td>}{</tr>}</table>"


def test_tags_of_a_table_stay_in_its_text_as_the_model_writes_them():
    (block,) = blocks_of("{<|det|>}table [1, 2, 3, 4]{<|/det|>}" + CELLS)
    assert block.text == CELLS.replace("{", "").replace("}", "")
    assert block.printed_tags == ()
    assert [w.text for w in block.words] == ["one", "two"]
    (table,) = parts_of(block)[0]
    assert isinstance(table, Table) and table.width == 2


PROSE = "The <table> holds a <tr> for each row and a <td>cell</td>, a <br> parts lines.</table>"


def test_tags_printed_in_prose_are_words():
    (block,) = blocks_of(TAG + PROSE)
    assert "<table>" in [w.text for w in block.words]
    (paragraph,) = parts_of(block)[0]
    assert isinstance(paragraph, Paragraph)
    assert [plain(line) for line in paragraph.lines] == [PROSE]


def test_tags_printed_in_a_cell_are_its_text():
    (block,) = blocks_of(TAG + "<table>{<tr>}{<td>}<td>{</td>}{<td>}&lt;tr> or </tr>{</td>}{</tr>}</table>")
    (table,) = parts_of(block)[0]
    assert isinstance(table, Table)
    assert [plain(line) for cell in table.rows[0] for line in cell.lines] == ["<td>", "<tr> or </tr>"]


PRINTED = ("Write &amp; for &, &lt;td&gt; for <td>", "a < b > c", "use <br> or <br/>", "H<sub>2</sub>O, <b>bold</b>",
           "&nbsp; &#38; &copy", "&amp;amp;", '<a href="b&amp;c">', "AT&T", "<!-- x --> <p>")  # fmt: skip
"""What stands on pages about HTML."""


def rendered(markdown: str) -> str:
    """What a reader of CommonMark sees, tables as cells parted by bars."""
    html_ = MarkdownIt("commonmark").enable("table").render(markdown)
    return html.unescape(re.sub("<[^>]+>", "", html_.replace("</td>", "|").replace("</th>", "|"))).strip()


@pytest.mark.parametrize("shown", PRINTED)
def test_pages_about_html_say_in_every_format_what_stands_on_them(shown: str) -> None:
    prose = [page(*blocks_of(TAG + shown, plain=True))]
    assert to_text(prose, "txt").strip() == rendered(to_text(prose, "md")) == shown
    assert f'<p dir="auto">{html.escape(shown, quote=False)}</p>' in to_text(prose, "html")
    cells = f"<table>{{<tr>}}{{<td>}}{shown}{{</td>}}{{<td>}}2{{</td>}}{{</tr>}}</table>"
    for label in ("text", "table"):
        table = [page(*blocks_of(f"{{<|det|>}}{label} [1, 2, 3, 4]{{<|/det|>}}" + cells, plain=True))]
        assert to_text(table, "txt").strip() == f"{shown}\t2"
        assert [cell.strip() for cell in rendered(to_text(table, "md")).split("|")] == [shown, "2", ""]
        assert f"<td>{html.escape(shown, quote=False)}</td><td>2</td>" in to_text(table, "html")
        assert page_from_record(json.loads(json.dumps(page_record(table[0])))).blocks == table[0].blocks


def test_a_model_that_writes_tags_and_entities_in_cells_means_them() -> None:
    (block,) = blocks_of(TAG + "<table>{<tr>}{<td>}x<sup>2</sup> &lt;br> a<br>b <b>c</b>{</td>}{</tr>}</table>")
    assert block.printed_tags == ()
    assert to_text([page(block)], "txt").strip() == "x^2 <br> a b c"


def test_a_vocabulary_without_tags_of_tables_cannot_tell():
    special = {i: name for i, name in SPECIAL.items() if not name.startswith(("<t", "</t"))}
    (block,) = blocks_of(TAG + "<table><tr><td>one</td></tr></table>", special=special)
    assert block.printed_tags == ()
    assert isinstance(parts_of(block)[0][0], Table)


def test_a_mark_that_is_no_token_is_found_by_its_letters():
    special = {i: name for i, name in SPECIAL.items() if name != "<PAGE>"}
    parser = parsed(f"<PAGE>{TAG}one<PAGE>{TAG}two <PAG", special=special)
    assert [[b.text for b in page.blocks] for page in parser.pages] == [["one"], ["two <PAG"]]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<table>{<tr>}{<td>}a{</td>}{<td>}b", "a\tb"),
        ("<table>{<tr>}{<td>}a{</td>}<td rowspan=\"2", "a\t"),
        ("<table>{<tr>}{<td>}a{</td>}<td rowspan={<td>}b{</td>}{</tr>}</table>", "a\t\tb"),
        ("<table>{<tr>}{<td>}a{</td>}{</tr>}</tab", "a"),
        ("<table>{<tr>}{<td>}a < b", "a < b"),
        ("<table>", ""),
        ("<table>{<tr>}", ""),
        ("<tab", ""),
        ("</table>a", "a"),
        ("<table>{<tr>}{<td>}a{</td>}{</tr>}</table>{</td>}b</tr", "a\n\nb"),
    ],
)
def test_what_is_left_of_a_table_never_shows_its_tags(text, shown):
    made = blocks_of("{<|det|>}table [1, 2, 3, 4]{<|/det|>}" + text)
    assert to_text([page(*made)], "txt").rstrip("\n") == shown


FRAGMENTS = st.sampled_from(
    [*(f"{{{name}}}" for name in NAMES), TAG, CELLS, "<table>", "</table>", "text ", "[1, 2, 3, 4]", "[9, 9", "a", " "]
)


@settings(deadline=None)
@given(st.lists(FRAGMENTS, max_size=14).map("".join), st.booleans())
def test_no_token_that_is_a_mark_reaches_a_text(text, cut):
    for block in parsed(text, cut=cut).finish():
        for name in NAMES:
            assert name not in block.text or (name in ("<td>", "</td>", "<tr>", "</tr>") and "<table" in block.text)
        shown = to_text([page(block)], "txt")
        assert not any(name in shown for name in NAMES)


# -- with the built-in model's vocabulary ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def vocabulary() -> Tokenizer:
    with ModelFile.open(BUILT_IN) as file:
        return Tokenizer(file.tokenizer_json, digits=file.front_end.get("digits"))


def letters(vocabulary: Tokenizer, text: str) -> list[int]:
    """Ids of `text` letter by letter: what is printed on a page, never a mark."""
    return [i for letter in text for i in vocabulary.encode(letter)]


def test_a_reading_keeps_printed_tags_and_loses_stray_marks(forced: Callable[[list[int]], None], vocabulary, tmp_path):
    shown = "Use <table>, <tr> and <td> or <|det|>."
    forced([
        *vocabulary.encode("<|det|>text [100, 100, 900, 200]<|/det|>"),
        *letters(vocabulary, shown),
        *vocabulary.encode("<|/ref|></td><image>"),
        *vocabulary.encode("<|det|>table [100, 300, 900, 400]<|/det|><table><tr><td>a</td><td>b"),
        *vocabulary.encode("<|det|>text [12, 3"),
        1,
    ])
    with UnlimitedOCR() as ocr:
        document = ocr.read(SAMPLES / "screenshot.png", preset="base")
    (made,) = document.pages
    assert [block.text for block in made.blocks] == [shown, "<table><tr><td>a</td><td>b"]
    assert "<|/ref|></td><image>" in made.raw_text and len(made.problems) == 4
    assert to_text(document, "txt").startswith(f"{shown}\n\na\tb\n")
    again = page_from_record(json.loads(json.dumps(page_record(made))))
    assert again.blocks == made.blocks and to_text([again], "md") == to_text(document, "md")
