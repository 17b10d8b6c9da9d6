"""What a refusal advises: only what this model can do."""

from __future__ import annotations

import pytest
from uocr.advice import page_over_budget, pass_over_budget, raise_budget
from uocr.native import MemoryEstimate

ESTIMATE = MemoryEstimate(False, {"model views": 5}, 0, 0, 9_000_000, 4_000_000, 0, 0, 1, 2)


@pytest.mark.parametrize(
    ("profile", "built_in", "expected"),
    [
        ("f16", False, "Raise the budget or use smaller weights (q8, q4)."),
        ("q8", False, "Raise the budget or use smaller weights (q4)."),
        ("q4", False, "Raise the budget."),
        ("q8", True, "Raise the budget."),
    ],
)
def test_smaller_weights_are_advised_where_there_are_some(profile: str, built_in: bool, expected: str) -> None:
    assert raise_budget(profile, built_in=built_in) == expected


@pytest.mark.parametrize(
    ("preset", "trained", "fitting", "advice"),
    [
        ("gundam", ["base", "gundam"], ["base", "small", "tiny"], "Preset base would fit."),
        ("base", ["base", "gundam"], ["small", "tiny"], "Raise the budget."),
        ("base", ["tiny", "small", "base"], ["tiny"], "Preset tiny would fit."),
        ("tiny", ["tiny", "base"], ["base"], "Raise the budget."),
        ("multi-page", ["tiny", "base"], ["tiny"], "Raise the budget."),
    ],
)
def test_only_presets_that_the_model_was_trained_with_are_advised(
    preset: str, trained: list[str], fitting: list[str], advice: str
) -> None:
    error = page_over_budget(ESTIMATE, preset, trained, fitting.__contains__, "Raise the budget.")
    assert str(error) == f"This page needs 9.0 MB of memory at once and the budget is 4.0 MB. {advice}"
    assert (error.estimate, error.needed, error.budget) == ({"model views": 5}, 9_000_000, 4_000_000)


def test_one_pass_says_how_many_pages_fit() -> None:
    error = pass_over_budget(ESTIMATE, 5, "Raise the budget.")
    assert str(error).endswith("the budget is 4.0 MB. At most 2 of them fit.") and error.most_pages == 2
