"""Error rates, box overlap and bootstrap intervals."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from uocr.document import Box
from uocr.score import (
    Errors,
    bootstrap_difference,
    box_iou,
    character_error_rate,
    character_errors,
    normalise,
    same_box,
    word_error_rate,
    word_errors,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  a \n\n b\tc ", "a b c"),
        ("<PAGE><|det|>text [1, 2, 3, 4]<|/det|>Hello\n<|det|>text [1, 2, 3, 4]<|/det|>you", "Hello you"),
        ("<|ref|>a b<|/ref|><|det|>[[1, 2, 3, 4]]<|/det|>x", "x"),
        ("end<｜end▁of▁sentence｜>", "end"),
        ("e\u0301", "é"),
        ("<|det|>never closed", "<|det|>never closed"),
        ("<|det|><|det|>x<|/det|>y", "<|det|> y"),
    ],
)
def test_what_is_scored(text, expected):
    assert normalise(text) == expected


@pytest.mark.parametrize(
    ("read", "truth", "characters", "words"),
    [
        ("harbour log", "harbour log", Errors(0, 11), Errors(0, 2)),
        ("harbor log", "harbour log", Errors(1, 11), Errors(1, 2)),
        ("harbourlog", "harbour log", Errors(1, 11), Errors(2, 2)),
        ("", "abc", Errors(3, 3), Errors(1, 1)),
        ("abc", "", Errors(3, 0), Errors(1, 0)),
        ("", "", Errors(0, 0), Errors(0, 0)),
        ("kitten", "sitting", Errors(3, 7), Errors(1, 1)),
        ("日本語", "日本", Errors(1, 2), Errors(1, 1)),
    ],
)
def test_errors(read, truth, characters, words):
    assert character_errors(read, truth) == characters
    assert word_errors(read, truth) == words


def test_rates():
    assert character_error_rate("kitten", "sitting") == pytest.approx(3 / 7)
    assert word_error_rate("a b x d", "a b c d") == 0.25
    assert character_error_rate("abc", "") == 3.0
    assert character_error_rate("", "") == 0.0
    assert (Errors(1, 10) + Errors(3, 90)).rate == 0.04


def plain_distance(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


@settings(deadline=None)
@given(st.text("abc é", max_size=20), st.text("abc é", max_size=20))
def test_the_distance_is_the_textbook_one(read, truth):
    assert character_errors(read, truth).count == plain_distance(normalise(read), normalise(truth))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (Box(0, 0, 10, 10), Box(0, 0, 10, 10), 1.0),
        (Box(0, 0, 10, 10), Box(5, 0, 15, 10), 1 / 3),
        (Box(0, 0, 10, 10), Box(10, 0, 20, 10), 0.0),
        (Box(0, 0, 10, 10), Box(2, 2, 4, 4), 0.04),
        (Box(5, 5, 5, 5), Box(0, 0, 10, 10), 0.0),
        (Box(5, 5, 5, 5), Box(5, 5, 5, 5), 0.0),
    ],
)
def test_box_overlap(a, b, expected):
    assert box_iou(a, b) == pytest.approx(expected)
    assert box_iou(b, a) == pytest.approx(expected)


def test_boxes_within_two_units_are_the_same():
    assert same_box(Box(10, 10, 20, 20), Box(12, 8, 18, 22))
    assert not same_box(Box(10, 10, 20, 20), Box(13, 10, 20, 20))
    assert same_box(Box(10, 10, 20, 20), Box(13, 10, 20, 20), tolerance=3)


def test_a_constant_difference_has_no_width():
    interval = bootstrap_difference([3.0, 5.0, 9.0], [2.0, 4.0, 8.0], seed=1)
    assert (interval.difference, interval.low, interval.high) == (1.0, 1.0, 1.0)


def test_with_lengths_the_rates_over_all_pages_are_compared():
    interval = bootstrap_difference([10, 0], [0, 0], seed=1, lengths=[100, 900])
    assert interval.difference == 0.01
    assert interval.low == 0.0
    assert interval.high == 0.1


def test_the_interval_covers_the_truth_as_often_as_it_says():
    generator = random.Random(7)
    covered = 0
    for trial in range(100):
        hard = [generator.gauss(10, 5) for _ in range(40)]  # what a page costs both
        a = [h + 0.5 + generator.gauss(0, 1) for h in hard]
        b = [h + generator.gauss(0, 1) for h in hard]
        interval = bootstrap_difference(a, b, seed=trial, resamples=1000)
        assert interval.high - interval.low < 1.5  # pairing removes the pages' own spread of 5
        covered += interval.low <= 0.5 <= interval.high
    assert 88 <= covered <= 99


def test_the_same_seed_gives_the_same_interval():
    a, b = [1.0, 2.1, 5.7, 3.3, 1.9, 2.2], [1.1, 1.0, 6.4, 2.0, 1.3, 2.9]
    same = bootstrap_difference(a, b, seed=3, resamples=300)
    assert bootstrap_difference(a, b, seed=3, resamples=300) == same
    assert bootstrap_difference(a, b, seed=4, resamples=300) != same


@pytest.mark.parametrize(
    ("a", "b", "lengths"),
    [
        ([], [], None),
        ([1.0], [1.0, 2.0], None),
        ([1.0], [1.0], [1.0, 2.0]),
        ([1.0], [1.0], [0.0]),
        ([1.0, 1.0], [1.0, 1.0], [2.0, -1.0]),
    ],
)
def test_lists_that_do_not_fit_are_refused(a, b, lengths):
    with pytest.raises(ValueError, match=r"cannot be compared|must be positive"):
        bootstrap_difference(a, b, seed=1, lengths=lengths)


def test_openings_without_end_are_scored_in_linear_time():
    text = "<|det|>" * 100_000
    assert normalise(text) == text
