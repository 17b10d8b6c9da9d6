"""How right a reading is: character and word error rates, overlap of boxes, intervals for differences.

Error rates are edit distances (insertions, deletions, substitutions, each 1) over the length of the truth,
after `normalise` on both sides. Rates are fractions: 0.02 is 2 %.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz.distance import Levenshtein

from uocr.document import Box

# Bounded by the next opening, so that a text of openings alone takes linear time.
_MARKERS = re.compile(
    r"<\|(?:ref|det)\|>(?:(?!<\|(?:ref|det)\|>).){0,4096}?<\|/(?:ref|det)\|>"
    r"|<PAGE>|<｜end▁of▁sentence｜>",
    re.DOTALL,
)


def normalise(text: str) -> str:
    """`text` as it is scored: without tags, page marks and the end mark, composed (NFC), white space single."""
    return " ".join(unicodedata.normalize("NFC", _MARKERS.sub(" ", text)).split())


@dataclass(frozen=True, slots=True)
class Errors:
    """Edit distance between a reading and the truth, and the length of the truth (characters or words)."""

    count: int
    length: int

    @property
    def rate(self) -> float:
        """Errors per unit of truth; where the truth is empty, the number of errors."""
        return self.count / max(self.length, 1)

    def __add__(self, other: Errors) -> Errors:
        """Errors of two texts together; a rate over many pages is the rate of their sum."""
        return Errors(self.count + other.count, self.length + other.length)


def character_errors(read: str, truth: str) -> Errors:
    """Edit distance in characters (code points) after normalisation."""
    read, truth = normalise(read), normalise(truth)
    return Errors(Levenshtein.distance(read, truth), len(truth))


def word_errors(read: str, truth: str) -> Errors:
    """Edit distance in words, parted at white space, after normalisation."""
    read_words, truth_words = normalise(read).split(), normalise(truth).split()
    return Errors(Levenshtein.distance(read_words, truth_words), len(truth_words))


def character_error_rate(read: str, truth: str) -> float:
    """Share of wrong characters, 0.0 for a perfect reading; may exceed 1.0 when much was invented."""
    return character_errors(read, truth).rate


def word_error_rate(read: str, truth: str) -> float:
    """Share of wrong words, 0.0 for a perfect reading; may exceed 1.0 when much was invented."""
    return word_errors(read, truth).rate


def box_iou(a: Box, b: Box) -> float:
    """Intersection over union of two boxes, 0..1; an empty box overlaps nothing."""
    width = min(a.x2, b.x2) - max(a.x1, b.x1)
    height = min(a.y2, b.y2) - max(a.y1, b.y1)
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    union = (a.x2 - a.x1) * (a.y2 - a.y1) + (b.x2 - b.x1) * (b.y2 - b.y1) - shared
    return shared / union


def same_box(a: Box, b: Box, tolerance: int = 2) -> bool:
    """Whether each coordinate differs by at most `tolerance` page units (of 999)."""
    pairs = ((a.x1, b.x1), (a.y1, b.y1), (a.x2, b.x2), (a.y2, b.y2))
    return all(abs(one - other) <= tolerance for one, other in pairs)


@dataclass(frozen=True, slots=True)
class Interval:
    """A difference and the interval that holds it with the asked confidence."""

    difference: float
    low: float
    high: float


def bootstrap_difference(
    a: Sequence[float],
    b: Sequence[float],
    seed: int,
    *,
    lengths: Sequence[float] | None = None,
    resamples: int = 10_000,
    confidence: float = 0.95,
) -> Interval:
    """Mean of `a` minus mean of `b`, measured on the same pages, with a percentile bootstrap interval.

    With `lengths` (characters of truth by page) `a` and `b` are error counts, and the difference is that of
    the rates over all pages together. Pages are drawn in pairs: what makes a page hard for both cancels
    out. The same `seed` gives the same interval. Raises ValueError for unequal or empty lists.
    """
    if not len(a) == len(b) == (len(a) if lengths is None else len(lengths)) or not len(a):
        raise ValueError(f"{len(a)} and {len(b)} values cannot be compared; give as many of both")
    differences = np.asarray(a, np.float64) - np.asarray(b, np.float64)
    weights = np.ones_like(differences) if lengths is None else np.asarray(lengths, np.float64)
    if weights.sum() <= 0 or (weights < 0).any():
        raise ValueError("the lengths of the pages must be positive in sum and none negative")
    random = np.random.default_rng(seed)
    drawn = np.empty(resamples)
    # In slices: resamples x pages places at once would be 80 MB for a thousand pages.
    for start in range(0, resamples, 1000):
        places = random.integers(0, len(differences), (min(1000, resamples - start), len(differences)))
        totals = np.maximum(weights[places].sum(axis=1), np.finfo(np.float64).tiny)
        drawn[start:start + len(places)] = differences[places].sum(axis=1) / totals
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(differences.sum() / weights.sum()), float(low), float(high))
