"""Text while it streams: a table shows its words, whatever pieces they come in."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from uocr import markup
from uocr.cli import view
from uocr.export.streamed import StreamedText

TABLE = '<table><tr><td rowspan="2">a b</td><td></td><td>c < d</td></tr>\n<tr><td>e</td></tr></table>'
SHOWN = "a b\tc < d\ne"


@given(st.lists(st.integers(0, len(TABLE)), max_size=12))
def test_a_table_is_rows_of_words_in_any_pieces(cuts):
    stream = StreamedText("table")
    bounds = [0, *sorted(cuts), len(TABLE)]
    shown = "".join(stream.push(TABLE[a:b]) for a, b in pairwise(bounds))
    assert [line.strip() for line in shown.split("\n") if line.strip()] == SHOWN.split("\n")


@pytest.mark.parametrize("label", ["text", "title", ""])
def test_other_text_is_shown_as_it_is(label):
    assert StreamedText(label).push("x <td> y <") == "x <td> y <"


def test_what_only_looks_like_a_tag_waits_no_longer_than_a_tag_is():
    stream = StreamedText("table")
    assert stream.push("a <" + "b" * 200).startswith("a <b")


def test_the_terminal_shows_words_and_no_tags(capsys):
    stream = view.TextStream()
    for text in (f"<|det|>table [1, 2, 3, 4]<|/det|>{TABLE}\n", "<|det|>text [1, 2, 3, 4]<|/det|>a <td> b<|/ref|>"):
        parser = markup.MarkupParser()
        for event in [*(e for letter in text for e in parser.push(letter)), *(parser.finish() and parser.last_events)]:
            stream.show(event)
    shown = capsys.readouterr().out
    assert "a b c < d" in " ".join(shown.split()) and "a <td> b" in shown
    assert "<tr" not in shown and "<|" not in shown
