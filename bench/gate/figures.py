"""From results by page to the figures of a choice, each paired with the reference page by page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from uocr.score import Interval, bootstrap_difference

from bench.gate.scoring import FreeResult, PageResult

SEED = 1
ByPage = Mapping[int, PageResult]


@dataclass(frozen=True)
class Free:
    """One choice's free readings. `error_change` in percentage points with its interval, shares in percent."""

    error_rate: float
    error_change: tuple[float, float, float]
    same_text: float
    boxes_equal: float
    not_ended: int
    pages_changed: int
    """Pages with more or fewer character errors than the reference."""
    largest_page: tuple[int, float]
    """The page whose errors change most, and what it alone makes of `error_change`, in points."""


@dataclass(frozen=True)
class Figures:
    """One choice. `nll_change` is in percent of the reference's mean; like `error_change` of free readings it is
    (value, low, high) of a paired 95 % bootstrap over pages. Shares in percent, KL in nats a token."""

    choice: str
    bytes: int
    pages: int
    tokens: int
    nll: float
    nll_change: tuple[float, float, float]
    kl: float
    agreement: float
    digit_nll_change: float
    digit_agreement: float
    box_nll_change: float
    box_agreement: float
    read: Free
    """As the product reads, a second time where the model looks lost: what bounds are held to."""
    first: Free
    """First readings alone."""
    read_twice: int
    """Pages that the choice read a second time."""

    def loss(self, base: float) -> float:
        """What the choice costs, in percent of the reference's mean `base`: the change of NLL, or the divergence where
        that is larger. A change that happens to help the true tokens does not make a distorted distribution cheap."""
        return max(self.nll_change[0], 100 * self.kl / base) if base > 0 else self.nll_change[0]

    def stored(self) -> dict[str, Any]:
        """As JSON: the fields of `read` beside the others, those of `first` by themselves."""
        values = asdict(self)
        first = values.pop("first")
        return {**values, **values.pop("read"), "first": first}


def _total(results: ByPage, value: Callable[[PageResult], float]) -> float:
    return sum(value(result) for result in results.values())


def _share(part: float, whole: float, digits: int = 3) -> float:
    return round(100 * part / whole, digits) if whole else 100.0


def _change(mine: float, theirs: float) -> float:
    return round(100 * (mine / theirs - 1), 3) if theirs else 0.0


def _triple(interval: Interval, scale: float) -> tuple[float, float, float]:
    return (round(scale * interval.difference, 3), round(scale * interval.low, 3), round(scale * interval.high, 3))


def figures(choice: str, size: int, results: ByPage, reference: ByPage) -> Figures:
    """Figures of `results` against `reference` over the same pages."""
    pages = sorted(results)
    places = [results[n].places for n in pages]
    nll, base = _total(results, lambda r: r.nll), _total(reference, lambda r: r.nll)
    paired = bootstrap_difference([results[n].nll for n in pages], [reference[n].nll for n in pages], SEED,
                                  lengths=places)
    mean = base / sum(places)
    return Figures(
        choice, size, len(pages), sum(places), round(nll / sum(places), 6),
        _triple(paired, 100 / mean),
        round(_total(results, lambda r: r.kl) / sum(places), 7),
        _share(_total(results, lambda r: r.agree), sum(places)),
        _change(_total(results, lambda r: r.digit_nll), _total(reference, lambda r: r.digit_nll)),
        _share(_total(results, lambda r: r.digit_agree), _total(results, lambda r: r.digit_places)),
        _change(_total(results, lambda r: r.box_nll), _total(reference, lambda r: r.box_nll)),
        _share(_total(results, lambda r: r.box_agree), _total(results, lambda r: r.box_places)),
        _free(results, reference, lambda r: r.read),
        _free(results, reference, lambda r: r.first),
        sum(r.read.count > 1 for r in results.values()),
    )


def _free(results: ByPage, reference: ByPage, reading: Callable[[PageResult], FreeResult]) -> Free:
    pages = sorted(results)
    mine, theirs = ([reading(by_page[n]) for n in pages] for by_page in (results, reference))
    lengths = [results[n].free_length for n in pages]
    errors = bootstrap_difference([r.errors for r in mine], [r.errors for r in theirs], SEED, lengths=lengths)
    changes = [a.errors - b.errors for a, b in zip(mine, theirs, strict=True)]
    largest = max(range(len(pages)), key=lambda n: abs(changes[n]))
    return Free(
        _share(sum(r.errors for r in mine), sum(lengths)),
        _triple(errors, 100),
        _share(sum(r.same for r in mine), len(pages), 1),
        _share(sum(r.box_equal for r in mine), sum(r.box_pairs for r in mine), 2),
        sum(r.finish != "eos" for r in mine), sum(change != 0 for change in changes),
        (pages[largest], round(100 * changes[largest] / sum(lengths), 3) if sum(lengths) else 0.0),
    )
