"""What a block's text consists of: paragraphs, lists, formulas, tables."""

from __future__ import annotations

import pytest
from export_samples import page
from hypothesis import given, settings
from hypothesis import strategies as st
from uocr.characters import clean, is_right_to_left
from uocr.document import Block, Box, FinishReason
from uocr.export.content import (
    Formula,
    Heading,
    List,
    Paragraph,
    Picture,
    is_picture,
    notice_of,
    parts_of,
)
from uocr.markup.grid import Table, read_table, split_tables
from uocr.markup.inline import Kind, Run, plain, split_runs


def parts(text: str, label: str = "text") -> list[object]:
    return parts_of(Block(label, (), text))[0]


def shown(text: str, label: str = "text") -> list[object]:
    """Parts as simple values."""
    simple: list[object] = []
    for part in parts(text, label):
        match part:
            case Heading():
                simple.append((part.level, plain(part.line)))
            case Paragraph():
                simple.append([plain(line) for line in part.lines])
            case List():
                simple.append([(i.level, i.number, plain(i.line)) for i in part.items])
            case Formula():
                simple.append("$" + part.tex)
            case Table():
                simple.append(cells(part))
    return simple


def cells(table: Table) -> list[list[str]]:
    return [
        ["" if cell is None else "/".join(map(plain, cell.lines)) for cell in row] for row in table.grid()
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one\ntwo\n\nthree", [["one", "two"], ["three"]]),
        ("- a\n- b", [[(0, None, "a"), (0, None, "b")]]),
        ("Intro:\n- a\n- b\nend", [["Intro:"], [(0, None, "a"), (0, None, "b")], ["end"]]),
        ("• a\n  ◦ b\n  ◦ c\n• d", [[(0, None, "a"), (1, None, "b"), (1, None, "c"), (0, None, "d")]]),
        ("1. a\n2. b\n   - x\n3. c", [[(0, 1, "a"), (0, 2, "b"), (1, None, "x"), (0, 3, "c")]]),
        ("- long item\n  goes on\n- b", [[(0, None, "long item goes on"), (0, None, "b")]]),
        ("- a\n\n- b", [[(0, None, "a"), (0, None, "b")]]),
        (
            "12. March\n3. April",
            [["12. March", "3. April"]],
        ),  # no list: its numbers would be changed by a renderer
        ("- \\( x \\)", [[(0, None, "x")]]),
        ("-5 degrees\n+ 3", [["-5 degrees"], [(0, None, "3")]]),
        ("a \\[ x\n= 1 \\] b", [["a"], "$x = 1", ["b"]]),
        ("open \\( never closed", [["open \\( never closed"]]),
        ("\\( a \\( b \\)", [["\\( a b"]]),
        ("x \\\\( not a formula \\)", [["x \\\\( not a formula \\)"]]),
        ("f \\coloneqq g and h \\eqqcolon k", [["f := g and h =: k"]]),
        ("", []),
        ("   \n \t\n", []),
        ("<b>not a tag we know</b>", [["<b>not a tag we know</b>"]]),
        ("x<sup>2</sup> and H<sub>2</sub>O<br>next", [["x^2 and H_2O", "next"]]),
        ("open <sup> only", [["open <sup> only"]]),
    ],
)
def test_text_blocks(text, expected):
    assert shown(text) == expected


def test_a_formula_in_a_line_is_a_run_of_its_own_with_single_blanks_around():
    (paragraph,) = parts("Depth was  \\( d = 3.2 \\)  m")
    assert paragraph.lines == (
        (Run(Kind.TEXT, "Depth was "), Run(Kind.MATH, "d = 3.2"), Run(Kind.TEXT, " m")),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Harbour log", [(1, "Harbour log")]),
        ("## Results", [(2, "Results")]),
        ("Two\nlines", [(1, "Two lines")]),
        ("#", [(1, "#")]),
        ("1. Introduction", [(1, "1. Introduction")]),
        ("", []),
    ],
)
def test_titles_are_headings(text, expected):
    assert shown(text, "title") == expected


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", [["a", "b"], ["c", ""]]),
        ("<table><tr><td>a<td>b<tr><td>c", [["a", "b"], ["c", ""]]),
        ("<TABLE border='1'><TR><TH>a</TH></TR></TABLE>", [["a"]]),
        (
            "<table><thead><tr><td>a &amp; b</td></tr></thead>"
            "<tbody><tr><td>&lt;sup&gt;</td></tr></tbody></table>",
            [["a & b"], ["<sup>"]],
        ),
        (
            '<table><tr><td rowspan="2">a</td><td colspan="2">b</td></tr>'
            "<tr><td>c</td><td>d</td></tr></table>",
            [["a", "b", ""], ["", "c", "d"]],
        ),
        (
            "<table><tr><td rowspan=9>a</td><td>b</td></tr><tr><td>c</td></tr></table>",
            [["a", "b"], ["", "c"]],
        ),
        (
            "<table><tr><td>a</td><td rowspan=2>b</td></tr><tr><td colspan=2>c</td></tr></table>",
            [["a", "b"], ["c", ""]],
        ),
        ("<table><tr><td>x<br>y</td><td><p>p</p>\nq</td></tr></table>", [["x/y", "p/q"]]),
        (
            "<table><tr><td><table><tr><td>in</td><td>ner</td></tr></table></td><td>o</td></tr></table>",
            [["in ner", "o"]],
        ),
        ("<table><td>no row</td></table>", [["no row"]]),
        ("<table><tr><td>a | b</td><td>\\( |x| \\)</td></tr></table>", [["a | b", "|x|"]]),
    ],
)
def test_tables(markup, expected):
    (table,) = parts(markup, "table")
    assert cells(table) == expected


def test_text_around_and_inside_a_table_is_kept():
    assert shown("before <table>Caption<tr><td>a</td></tr>stray</table> after") == [
        ["before"],
        ["Caption stray"],
        [["a"]],
        ["after"],
    ]
    assert shown("<table> nothing in it </table>") == [["<table> nothing in it </table>"]]


def test_spans_cover_their_places_and_are_bounded():
    table = read_table(
        '<table><tr><td colspan="3">a</td></tr><tr><td>b</td><td>c</td><td>d</td></tr></table>'
    )
    assert table is not None
    assert (table.width, table.height, table.has_spans) == (3, 2, True)
    giant = read_table('<table><tr><td colspan="999999999" rowspan="999999999">a</td><td>b</td></tr></table>')
    assert giant is not None
    assert (giant.width, giant.height, giant.has_spans) == (2, 1, False)
    many = read_table("<table>" + '<tr><td colspan="1000">a</td></tr>' * 200 + "</table>")
    assert many is not None
    assert (many.width, many.height) == (1, 200)


def test_an_empty_row_only_says_how_far_the_cells_above_reach():
    table = read_table(
        "<table><tr><td rowspan=2>a</td><td rowspan=2>b</td></tr><tr></tr>"
        "<tr><td>c</td><td>d</td></tr></table>"
    )
    assert table is not None
    assert cells(table) == [["a", "b"], ["c", "d"]]
    assert not table.has_spans


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "<table>",
                "</table>",
                "<tr>",
                "</tr>",
                "<td>",
                "<td colspan=2>",
                "<td rowspan=3>",
                "</td>",
                "word",
                " ",
                "<br>",
                "\\( x \\)",
                "|",
            ]
        ),
        max_size=40,
    ).map("".join)
)
def test_every_word_of_a_broken_table_is_kept_once_and_cells_do_not_overlap(text):
    words = 0
    for part in parts(text):
        if isinstance(part, Table):
            places = [
                (c.row + y, c.column + x)
                for row in part.rows
                for c in row
                for y in range(c.rows)
                for x in range(c.columns)
            ]
            assert len(places) == len(set(places))
            assert all(y < part.height and x < part.width for y, x in places)
            words += sum(line.count("word") for row in cells(part) for line in row)
        elif isinstance(part, Paragraph):
            words += sum(plain(line).count("word") for line in part.lines)
    assert words == text.count("word")


def test_tables_are_split_from_the_text_around_them():
    assert split_tables("a<table>b</table>c<table>d") == [
        (False, "a"),
        (True, "<table>b</table>"),
        (False, "c"),
        (True, "<table>d"),
    ]


@pytest.mark.parametrize(
    ("label", "expected"),
    [("image", True), ("figure", True), ("header_image", True), ("image_caption", False), ("text", False)],
)
def test_which_labels_are_pictures(label, expected):
    assert is_picture(Block(label, (), "")) is expected


def test_a_picture_block_gives_one_picture_a_box_then_its_text():
    block = Block("image", (Box(1, 2, 3, 4), Box(5, 6, 7, 8)), "caption")
    first, second, text = parts_of(block)[0]
    assert (first, second) == (Picture(Box(1, 2, 3, 4), block), Picture(Box(5, 6, 7, 8), block))
    assert isinstance(text, Paragraph)


@pytest.mark.parametrize(
    ("reason", "error", "expected"),
    [
        (FinishReason.EOS, None, None),
        (
            FinishReason.LENGTH,
            None,
            "Page 3 is cut short: the limit of generated text was reached before its end.",
        ),
        (FinishReason.LOOP, None, "Page 3 is cut short: the model began to repeat itself."),
        (FinishReason.CANCELLED, None, "Page 3 is cut short: reading was cancelled."),
        (FinishReason.ERROR, "Inf in\nblock 2", "Page 3 is cut short by an error: Inf in block 2"),
        (FinishReason.NOT_READ, None, "Page 3 was not read."),
    ],
)
def test_a_page_that_is_not_complete_says_why(reason, error, expected):
    assert notice_of(page(("text", "a"), index=2, finish=reason, error=error)) == expected


@pytest.mark.parametrize(
    ("text", "expected", "count"),
    [
        ("plain\ttext\n", "plain\ttext\n", 0),
        ("a\r\nb\rc", "a\nb\nc", 0),
        ("a\x00b\x07c", "abc", 2),
        ("a\x0cb\x0bc\x85d", "a b c d", 3),
        ("a\ud800b", "a\ufffdb", 1),
        ("a\uffffb\ufffe", "ab", 2),
        ("👍 日本 é", "👍 日本 é", 0),
    ],
)
def test_characters_no_file_can_hold_are_replaced_and_counted(text, expected, count):
    assert clean(text) == (expected, count)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("שלום world", True), ("12. مرحبا", True), ("hello שלום", False), ("123", False), ("", False)],
)
def test_direction_is_that_of_the_first_letter(text, expected):
    assert is_right_to_left(text) is expected


@pytest.mark.parametrize(
    "unit", ["\\", "\\(", "\\[", "<sup>", "</sup>", "<table>", "<td>", "\\( a \\)", "<br>", "\n", "- a\n"]
)
def test_hostile_text_comes_back_whole(unit):
    text = unit * 20_000
    kept = "".join(run.text for run in split_runs(text))
    if unit in ("\\", "\\(", "\\[", "<sup>", "</sup>"):
        assert kept == text
    parts(text)
