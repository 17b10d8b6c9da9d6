"""Chooses a type for every module under a bound of loss, cheapest first.

Losses of single modules are taken to add up. The ladder starts with every module in the smallest type and gives bits
back one module at a time, where a byte buys most; the gate starts at the first rung that the sum allows and goes to the
cheapest that keeps the bounds when measured as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bench.gate.figures import Figures

WIDER = {"q4": "q8", "q8": "f16"}


@dataclass(frozen=True)
class Bounds:
    """What a profile may lose: mean negative log-likelihood in percent, character errors as the product reads in points
    (upper end of the interval), and how large the file may be in bytes (0: any size)."""

    nll: float
    errors: float
    bytes: int = 0


BOUNDS: Mapping[str, Bounds] = {"q8": Bounds(0.5, 0.2), "q4": Bounds(3.0, 0.5, 20 << 20)}

Losses = Mapping[tuple[str, str], float]
"""What a module alone in a type costs (`Figures.loss`), by (module, type); f16 counts as nothing."""


@dataclass(frozen=True)
class Rung:
    """A type for every module, and the loss expected of it in percent."""

    types: Mapping[str, str]
    expected: float


def ladder(start: str, losses: Losses, sizes: Mapping[str, int]) -> list[Rung]:
    """Rungs from every module in `start` to none narrower than the next wider type. `sizes` are weights by module."""
    types = dict.fromkeys(sizes, start)

    def loss(module: str, dtype: str) -> float:
        return max(losses.get((module, dtype), 0.0), 0.0)

    def expected() -> float:
        return sum(loss(module, dtype) for module, dtype in types.items())

    rungs = [Rung(dict(types), expected())]
    wider = WIDER[start]
    order = sorted(sizes, key=lambda m: (loss(m, start) - loss(m, wider)) / sizes[m], reverse=True)
    for module in order:
        types[module] = wider
        rungs.append(Rung(dict(types), expected()))
    return rungs


def keeps(found: Figures, bounds: Bounds) -> bool:
    """Whether a measured choice keeps the bounds of loss; its size is another matter."""
    return found.nll_change[0] <= bounds.nll and found.read.error_change[2] <= bounds.errors


def climb(rungs: Sequence[Rung], bounds: Bounds, measure: Callable[[Rung], Figures]) -> tuple[Rung, Figures, bool]:
    """The cheapest rung that keeps the bounds when measured, found from where the sum of losses says: down while the
    bounds are kept, or up until they are. The last rung and False when none keeps them."""
    n = next((n for n, rung in enumerate(rungs) if rung.expected <= bounds.nll), len(rungs) - 1)
    found = measure(rungs[n])
    if not keeps(found, bounds):
        while not keeps(found, bounds) and n + 1 < len(rungs):
            n += 1
            found = measure(rungs[n])
        return rungs[n], found, keeps(found, bounds)
    while n > 0:
        cheaper = measure(rungs[n - 1])
        if not keeps(cheaper, bounds):
            break
        n, found = n - 1, cheaper
    return rungs[n], found, True
