"""From ink to pictures."""

from __future__ import annotations

import numpy as np
import pytest

from bench.quality import looks

INK = np.zeros((120, 200), np.uint8)
INK[40:80, 50:150] = 255


@pytest.mark.parametrize("look", [looks.ordinary, looks.clean, looks.dark, looks.noisy, looks.photographed])
def test_the_same_seed_gives_the_same_picture(look: looks.Look) -> None:
    one, two = (look(INK, np.random.default_rng(5))[0] for _ in range(2))
    assert one.mode == "RGB" and one.size == (200, 120)
    assert np.array_equal(np.asarray(one), np.asarray(two))
    other = np.asarray(look(INK, np.random.default_rng(6))[0])
    assert np.array_equal(np.asarray(one), other) == (look is looks.clean)


def test_dark_pages_are_darker_than_their_print() -> None:
    values = np.asarray(looks.dark(INK, np.random.default_rng(1))[0]).mean(axis=2)
    assert values[60, 100] > values[10, 10] + 60


def test_a_photographed_box_lies_where_its_ink_went() -> None:
    picture, warp = looks.photographed(INK, np.random.default_rng(2))
    left, top, right, bottom = looks.moved_box((50, 40, 150, 80), warp)
    rows, columns = np.nonzero(np.asarray(picture.convert("L")) < 0.55 * np.asarray(picture.convert("L"))[60, 20])
    inside = (columns > 12) & (columns < 188) & (rows > 10) & (rows < 110)
    assert abs(columns[inside].min() - left) < 6 and abs(columns[inside].max() - right) < 6
    assert abs(rows[inside].min() - top) < 6 and abs(rows[inside].max() - bottom) < 6


def test_four_points_fix_a_homography() -> None:
    source = np.array([(0, 0), (10, 0), (10, 10), (0, 10)], float)
    target = np.array([(1, 2), (12, 1), (11, 13), (-1, 9)], float)
    matrix = looks.homography(source, target)
    moved = matrix @ np.column_stack([source, np.ones(4)]).T
    assert np.allclose((moved[:2] / moved[2]).T, target)
