"""Marking doubtful words."""

from __future__ import annotations

import numpy as np
import pytest

from bench.quality.confidence import Judged, calibration_error, choose_threshold, judge, marking, reliability

MIXED = Judged(np.array([0.3, 0.5, 0.55, 0.7, 0.9, 0.95, 0.99, 0.99]),
               np.array([False, False, True, False, True, True, True, False]))


def test_words_are_right_where_the_alignment_keeps_them() -> None:
    read = [("The", 0.9), ("cot", 0.4), ("sat", 0.8), ("down", 0.3)]
    found = judge(read, "The cat sat")
    assert found.right.tolist() == [True, False, True, False]
    assert found.confidence.tolist() == [0.9, 0.4, 0.8, 0.3]


def test_a_missing_word_makes_no_other_word_wrong() -> None:
    assert judge([("a", 1.0), ("c", 1.0)], "a b c").right.tolist() == [True, True]


def test_marking_counts_what_is_below_the_threshold() -> None:
    found = marking(MIXED, 0.6)
    assert (found.words, found.wrong) == (8, 4)
    assert (found.caught, found.marked) == (0.5, 3 / 8)
    assert found.wrong_among_marked == pytest.approx(2 / 3)


def test_the_threshold_is_the_smallest_that_catches_enough() -> None:
    assert choose_threshold(MIXED, 0.5) == 0.51
    assert choose_threshold(MIXED, 0.75) == 0.71
    assert choose_threshold(Judged(np.array([1.0]), np.array([False])), 0.8) == 1.0


def test_reliability_of_a_perfectly_calibrated_reader() -> None:
    confidence = np.repeat(0.75, 4)
    judged = Judged(confidence, np.array([True, True, True, False]))
    assert reliability(judged) == [{"from": 0.6, "to": 0.8, "words": 4, "confidence": 0.75, "right": 0.75}]
    assert calibration_error(judged) == 0.0
    assert calibration_error(Judged(confidence, np.ones(4, bool))) == pytest.approx(0.25)
