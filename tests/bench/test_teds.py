"""Similarity of tables, against values worked out by hand."""

from __future__ import annotations

import pytest

from bench.quality.teds import edit_distance, similarity, tree

TWO_BY_TWO = "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>"


def test_equal_tables_are_alike_whatever_stands_around_them() -> None:
    assert similarity(f"before {TWO_BY_TWO} after", TWO_BY_TWO) == 1.0


def test_header_cells_count_as_cells_and_white_space_does_not_count() -> None:
    read = TWO_BY_TWO.replace("<td>a</td>", "<th>\n a </th>")
    assert similarity(read, TWO_BY_TWO) == 1.0


def test_a_wrong_cell_costs_its_share_of_wrong_characters() -> None:
    # table, 2 rows, 4 cells: 7 nodes; one text of two characters is half wrong
    truth = TWO_BY_TWO.replace(">a<", ">ab<")
    assert similarity(TWO_BY_TWO.replace(">a<", ">ax<"), truth) == pytest.approx(1 - 0.5 / 7)


def test_a_missing_row_costs_its_three_nodes() -> None:
    assert similarity("<table><tr><td>a</td><td>b</td></tr></table>", TWO_BY_TWO) == pytest.approx(1 - 3 / 7)


def test_another_span_is_another_cell() -> None:
    assert similarity(TWO_BY_TWO.replace("<td>b", '<td colspan="2">b'), TWO_BY_TWO) == pytest.approx(1 - 1 / 7)


def test_a_reading_without_a_table_gives_nothing() -> None:
    assert similarity("a b c d", TWO_BY_TWO) == 0.0


def test_a_truth_without_a_table_is_an_error() -> None:
    with pytest.raises(ValueError, match="holds no table"):
        similarity(TWO_BY_TWO, "a b c d")


def test_distance_moves_a_cell_between_rows_by_deleting_and_inserting() -> None:
    one = tree("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>")
    two = tree("<table><tr><td>a</td></tr><tr><td>b</td><td>c</td></tr></table>")
    assert one is not None and two is not None
    assert edit_distance(one, two) == 2.0


def test_unclosed_and_stray_tags_do_not_disturb() -> None:
    assert similarity("<td>stray</td><table><tr><td>a<td>b<tr><td>c<td>d", TWO_BY_TWO) == 1.0
