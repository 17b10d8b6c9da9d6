"""What a refused memory budget is answered with: the numbers, and advice that this very model can follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from . import errors, native

_SMALLER = {"f32": ("f16", "q8", "q4"), "f16": ("q8", "q4"), "q8": ("q4",)}
"""Profiles with smaller weights than a profile has."""
_BY_MEMORY = ("gundam", "large", "base", "small", "tiny")
"""Presets from the most memory to the least."""


def raise_budget(profile: str, *, built_in: bool) -> str:
    """The last way out as a sentence. The built-in model comes with one profile only."""
    smaller = () if built_in else _SMALLER.get(profile, ())
    weights = f" or use smaller weights ({', '.join(smaller)})" if smaller else ""
    return f"Raise the budget{weights}."


def page_over_budget(
    estimate: native.MemoryEstimate, preset: str, trained: Sequence[str], fits: Callable[[str], bool], otherwise: str
) -> errors.OverBudget:
    """The refusal of one page: the largest smaller preset that the model was trained with and that `fits`."""
    smaller = _BY_MEMORY[_BY_MEMORY.index(preset) + 1 :] if preset in _BY_MEMORY else ()
    found = next((name for name in smaller if name in trained and fits(name)), "")
    return _refusal(estimate, "This page", f"Preset {found} would fit." if found else otherwise)


def pass_over_budget(estimate: native.MemoryEstimate, pages: int, otherwise: str) -> errors.OverBudget:
    """The refusal of several pages in one pass: how many of them would fit."""
    most = estimate.most_pages_that_fit
    return _refusal(estimate, f"One pass over {pages} pages", f"At most {most} of them fit." if most else otherwise)


def _refusal(estimate: native.MemoryEstimate, what: str, advice: str) -> errors.OverBudget:
    needed, budget = estimate.total, estimate.budget
    return errors.OverBudget(
        f"{what} needs {needed / 1e6:.1f} MB of memory at once and the budget is {budget / 1e6:.1f} MB. {advice}",
        dict(estimate.category),
        needed,
        budget,
        estimate.most_pages_that_fit,
    )
