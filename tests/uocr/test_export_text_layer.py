"""Lines of a block inside its box."""

from __future__ import annotations

import pytest
from export_samples import page
from hypothesis import given, settings
from hypothesis import strategies as st
from uocr.document import Block, Box
from uocr.export.text_layer import Area, PlacedLine, drawing_order, placed_lines


def half(character: str) -> float:
    return 0.0 if character in "\u0301\u200b" else 0.5


def lines(*blocks: Block, width: float = 999, height: float = 999) -> list[PlacedLine]:
    return list(placed_lines(page(*blocks), width, height, half))


def test_a_short_text_fills_its_box_in_one_line():
    assert lines(Block("text", (Box(100, 200, 300, 230),), "Hello you")) == [
        PlacedLine("Hello you", Area(100, 200, 200, 30))
    ]


def test_located_words_stand_at_each_of_their_places():
    boxes = Box(100, 200, 300, 230), Box(5, 5, 5, 9), Box(100, 300, 300, 330)
    located = page(Block("two words", boxes, ""), located="two words")
    assert list(placed_lines(located, 999, 999, half)) == [
        PlacedLine("two words", Area(100, 200, 200, 30)),
        PlacedLine("two words", Area(100, 300, 200, 30)),
    ]


def test_a_paragraph_is_broken_into_lines_of_usual_proportions():
    text = " ".join(["word"] * 100)  # 499 characters of half a size: 10 lines of 25 sizes
    placed = lines(Block("text", (Box(0, 0, 500, 240),), text))
    assert 9 <= len(placed) <= 11
    assert " ".join(line.text for line in placed) == text
    assert placed[0].area.y == 0
    assert placed[-1].area.y + placed[-1].area.height == pytest.approx(240)
    assert max(line.area.width for line in placed) == pytest.approx(500)
    assert all(line.area.width > 400 for line in placed[:-1])


def test_line_ends_in_the_text_are_kept():
    placed = lines(Block("text", (Box(0, 0, 500, 100),), "- one item\n- two"))
    assert [(line.text, line.area.y) for line in placed] == [("• one item", 0), ("• two", 50)]
    assert placed[1].area.width == pytest.approx(250)


def test_text_without_blanks_is_broken_too():
    placed = lines(Block("text", (Box(0, 0, 100, 400),), "日" * 50))
    assert len(placed) > 3
    assert "".join(line.text for line in placed) == "日" * 50


@given(st.text("a \u0301\u200b日", max_size=40), st.integers(1, 30))
@settings(deadline=None)
def test_every_line_has_a_width(text, width):
    placed = lines(Block("text", (Box(0, 0, width, 900),), "x" + text))
    assert all(line.area.width > 0 for line in placed)
    assert "".join("".join(line.text.split()) for line in placed) == "".join(("x" + text).split())


def test_cells_stand_in_their_row_and_column_each_with_a_blank_behind_it():
    text = '<table><tr><td rowspan="2">a</td><td>b</td></tr><tr><td>c</td></tr></table>'
    assert lines(Block("table", (Box(0, 0, 200, 100),), text)) == [
        PlacedLine("a ", Area(0, 0, 100, 100)),
        PlacedLine("b ", Area(100, 0, 100, 50)),
        PlacedLine("c ", Area(100, 50, 100, 50)),
    ]


def test_several_boxes_share_the_words_by_size():
    placed = lines(Block("text", (Box(0, 0, 300, 20), Box(500, 0, 600, 20)), "a b c d e f g h"))
    assert [(line.text, round(line.area.x)) for line in placed] == [("a b c d e f", 0), ("g h", 500)]


def test_text_without_a_box_goes_over_the_whole_page():
    (line,) = lines(Block("text", (), "free"))
    assert (line.area.x, line.area.width) == (50, 899)
    assert lines(Block("text", (Box(5, 5, 5, 9),), "free")) == [line]


def test_pictures_and_blank_blocks_have_no_lines():
    assert lines(Block("image", (Box(0, 0, 9, 9),), ""), Block("text", (Box(0, 0, 9, 9),), " \n ")) == []


def test_a_table_of_empty_cells_has_no_lines():
    text = "<table><tr><td></td><td> </td></tr></table>"
    assert lines(Block("table", (Box(0, 0, 100, 100),), text)) == []
    assert [line.text for line in lines(Block("table", (Box(0, 0, 100, 100),), "abc" + text))] == ["abc"]


def test_a_table_with_text_before_it_shares_the_box():
    placed = lines(Block("table", (Box(0, 0, 100, 100),), "abc<table><tr><td>def</td></tr></table>"))
    assert [(line.text, line.area.y, line.area.height) for line in placed] == [
        ("abc", 0, 50),
        ("def ", 50, 50),
    ]


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("Hello (12) you", "Hello (12) you"),
        ("אבג", "גבא"),
        ("אב גד", "דג בא"),
        ("אב 12.5 גד", "דג 12.5 בא"),
        ("אב abc def", "abc def בא"),
        ("one אב גד two", "one דג בא two"),
        ("ab אב", "ab בא"),
        ("בָּא", "אָּב"[0] + "בָּ"[::-1]),
        ("", ""),
    ],
)
def test_right_to_left_runs_are_drawn_from_the_right(text, drawn):
    assert drawing_order(text) == drawn


@settings(deadline=None)
@given(st.text(max_size=60))
def test_drawing_order_loses_nothing(text):
    assert sorted(drawing_order(text)) == sorted(text)


def test_right_to_left_lines_end_at_the_right_edge():
    placed = lines(Block("text", (Box(0, 0, 500, 100),), "שלום עולם\nשלום"))
    assert placed[1].area.x + placed[1].area.width == pytest.approx(500)


@settings(deadline=None)
@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=80), max_size=4),
    st.integers(1, 900),
    st.integers(1, 900),
)
def test_lines_stay_in_their_box_and_keep_every_character(texts, width, height):
    text = "\n".join("x" + t for t in texts)
    placed = lines(Block("caption", (Box(10, 20, 10 + width, 20 + height),), text))
    for line in placed:
        assert line.area.x >= 10 - 1e-6
        assert line.area.y >= 20 - 1e-6
        assert line.area.x + line.area.width <= 10 + width + 1e-6
        assert line.area.y + line.area.height <= 20 + height + 1e-6
    if not any(mark in text for mark in "\\<-+*#•●▪◦‣·.)0123456789"):
        kept = sorted("".join("".join(line.text.split()) for line in placed))
        assert kept == sorted("".join(text.split()))
