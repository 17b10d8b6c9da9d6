"""Figures of readings."""

from __future__ import annotations

from training.metrics import Reading, boxes, edit_distance, overlap, plain, summary

PAGE = "<|det|>text [10, 10, 20, 20]<|/det|>kitten\n"


def test_edit_distance_counts_characters() -> None:
    assert edit_distance("kitten", "sitting") == 3
    assert edit_distance("", "abc") == 3
    assert edit_distance("abc", "abc") == 0


def test_tags_are_not_text_and_boxes_are_read() -> None:
    assert plain(PAGE) == "kitten"
    assert boxes(PAGE) == [("text", (10, 10, 20, 20))]


def test_overlap_is_intersection_over_union() -> None:
    assert overlap((0, 0, 10, 10), (0, 0, 10, 10)) == 1.0
    assert overlap((0, 0, 10, 10), (5, 0, 15, 10)) == 1 / 3
    assert overlap((0, 0, 1, 1), (5, 5, 6, 6)) == 0.0


def test_summary_reports_rates_in_percent() -> None:
    facts = summary([Reading("g", PAGE.replace("kitten", "sitting"), PAGE, True)])
    assert facts["error_rate"] == 50.0
    assert facts["box_iou"] == 1.0
    assert facts["pages_above_20"] == 1


def test_words_on_a_blank_page_are_inventions() -> None:
    facts = summary([Reading("b", PAGE, "", True), Reading("b", "", "", True)])
    assert facts["pages_with_inventions"] == 1
    assert facts["invented_characters"] == 6
