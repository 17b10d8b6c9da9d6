"""Figures of the quality bench on small hand-made pages."""

from __future__ import annotations

from pathlib import Path

import pytest
from uocr.document import Box

from bench.quality.pages import Page, TruthBlock
from bench.quality.scores import Reading, mean_iou, plain, reading_order, score, summary

WORDS = "one two three four five six seven eight"


def page(*blocks: TruthBlock) -> Page:
    return Page("set", 0, Path("unused.png"), blocks, "base")


def reading(text: str, **more: object) -> Reading:
    return Reading("reader", "set", 0, text, **more)  # type: ignore[arg-type]


def test_order_is_the_share_of_pairs_of_words_in_order() -> None:
    assert reading_order(WORDS, WORDS) == 1.0
    assert reading_order(" ".join(reversed(WORDS.split())), WORDS) == 0.0
    # the two halves swapped: 12 of 28 pairs stay in order
    assert reading_order("five six seven eight one two three four", WORDS) == pytest.approx(12 / 28)


def test_order_needs_eight_words_that_occur_once() -> None:
    assert reading_order("one two three", WORDS) is None
    assert reading_order(f"{WORDS} one", WORDS) is None


def test_overlap_takes_the_best_box_for_every_true_one() -> None:
    truth = [Box(0, 0, 100, 100), Box(0, 200, 100, 300)]
    assert mean_iou([Box(0, 0, 100, 100), Box(0, 0, 100, 50)], truth) == pytest.approx(0.5)
    assert mean_iou([], truth) == 0.0


def test_table_markup_is_not_counted_as_characters() -> None:
    assert plain("<table><tr><td>a</td><td>b</td></tr></table>") == "a b"
    assert plain("a <b and c> d") == "a <b and c> d"


def test_a_page_with_text() -> None:
    found = score(page(TruthBlock("text", "abcd efgh", Box(0, 0, 10, 10))),
                  reading("abxd efgh", boxes=[Box(0, 0, 10, 10)], finish="loop", seconds=2.0))
    assert (found.characters, found.character_errors, found.words, found.word_errors) == (9, 1, 2, 1)
    assert (found.iou, found.table, found.invented, found.finish) == (1.0, None, 0, "loop")


def test_a_page_with_a_table() -> None:
    table = "<table><tr><td>a</td></tr></table>"
    assert score(page(TruthBlock("table", table, None)), reading(table)).table == 1.0
    assert score(page(TruthBlock("table", table, None)), reading("a")).table == 0.0


def test_rates_are_over_all_characters_together() -> None:
    pages = [score(page(TruthBlock("text", "a" * 90, None)), reading("a" * 90)),
             score(page(TruthBlock("text", "b" * 10, None)), reading("b" * 5, finish="length"))]
    figures = summary(pages)
    assert figures["character_error_rate"] == 5.0
    assert figures["median_page_rate"] == 25.0
    assert (figures["cut_short"], figures["loops"], figures["failed"]) == (1, 0, 0)
    low, high = figures["character_error_interval"]
    assert low == 0.0 and high == 50.0


def test_blank_pages_count_inventions() -> None:
    figures = summary([score(page(), reading("")), score(page(), reading("made up"))])
    assert (figures["pages_with_inventions"], figures["invented_characters"]) == (1, 7)
    assert "character_error_rate" not in figures
