"""Figures of readings."""

from __future__ import annotations

from training.metrics import (
    Reading,
    boxes,
    edit_distance,
    location_summary,
    overlap,
    place,
    plain,
    several_summary,
    summary,
)

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


def test_page_marks_are_counted_apart_from_the_text() -> None:
    truth = f"<PAGE>{PAGE}<PAGE>{PAGE}"
    right, merged = Reading("s", truth, truth, True), Reading("s", f"<PAGE>{PAGE}{PAGE}", truth, True)
    facts = several_summary([right, merged])
    assert facts["page_marks_right"] == 50.0
    assert facts["error_rate"] == 0.0 and facts["characters"] == 2 * len("kitten\nkitten")


def test_places_are_scored_by_overlap_and_absent_words_by_silence() -> None:
    def answer(box: str) -> str:
        return f"<|ref|>two words<|/ref|><|det|>[[{box}]]<|/det|>"

    assert place(answer("10, 20, 30, 40")) == (10, 20, 30, 40)
    assert place(PAGE) is None
    truth = answer("0, 0, 10, 10")
    outputs = [truth, answer("0, 0, 10, 6"), answer("5, 0, 15, 10"), ""]
    facts = location_summary([Reading("l", output, truth, True) for output in outputs])
    assert facts == {"questions": 4, "absent": 0, "box_iou": 0.4833, "boxes_right": 50.0}
    facts = location_summary([Reading("l", "", "", True), Reading("l", truth, "", True)])
    assert facts == {"questions": 2, "absent": 2, "absent_right": 50.0}
