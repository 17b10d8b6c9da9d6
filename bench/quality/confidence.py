"""Whether a model's confidence can be trusted, and from which value on a word is marked as doubtful.

A word of a reading is right when the word alignment with the truth keeps it, wrong when it was substituted or
inserted. The threshold is chosen on calibration pages (training's fonts and texts) and checked on held-out pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from rapidfuzz.distance import Levenshtein
from uocr.score import normalise

BINS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1.0)
"""Edges of the reliability plot; finer where most words are."""


CURVE = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99)
"""Thresholds that a report lists beside the chosen one."""


@dataclass(frozen=True)
class Judged:
    """Words of readings: confidence and whether each is right, arrays of equal length."""

    confidence: np.ndarray
    right: np.ndarray

    def __add__(self, other: Judged) -> Judged:
        return Judged(np.concatenate([self.confidence, other.confidence]), np.concatenate([self.right, other.right]))


NONE = Judged(np.zeros(0), np.zeros(0, bool))


def judge(words: Sequence[tuple[str, float]], truth: str) -> Judged:
    """Align the words of one reading with the words of the truth."""
    read = [normalise(word) for word, _ in words]
    right = np.zeros(len(read), bool)
    for step in Levenshtein.opcodes(read, normalise(truth).split()):
        if step.tag == "equal":
            right[step.src_start:step.src_end] = True
    return Judged(np.array([confidence for _, confidence in words], np.float64), right)


@dataclass(frozen=True)
class Marking:
    """What a threshold does: words below it are marked. Shares 0..1."""

    threshold: float
    words: int
    wrong: int
    caught: float
    """Share of the wrong words that are marked."""
    marked: float
    """Share of all words that are marked: the flag rate."""
    wrong_among_marked: float


def marking(judged: Judged, threshold: float) -> Marking:
    """Figures of a threshold. Without a wrong word, `caught` is 1."""
    marked, wrong = judged.confidence < threshold, ~judged.right
    return Marking(threshold, len(marked), int(wrong.sum()),
                   float(marked[wrong].mean()) if wrong.any() else 1.0,
                   float(marked.mean()) if len(marked) else 0.0,
                   float(wrong[marked].mean()) if marked.any() else 0.0)


def choose_threshold(judged: Judged, caught: float) -> float:
    """The smallest threshold, in steps of 0.01, that marks at least `caught` of the wrong words; 1.0 if none does."""
    for step in range(1, 100):
        if marking(judged, step / 100).caught >= caught:
            return step / 100
    return 1.0


def reliability(judged: Judged) -> list[dict[str, float]]:
    """One row a bin: edges, words, mean confidence, share of right words."""
    rows = []
    for low, high in pairwise(BINS):
        last = high == BINS[-1]
        inside = (judged.confidence >= low) & ((judged.confidence <= high) if last else (judged.confidence < high))
        if inside.any():
            rows.append({"from": low, "to": high, "words": int(inside.sum()),
                         "confidence": round(float(judged.confidence[inside].mean()), 4),
                         "right": round(float(judged.right[inside].mean()), 4)})
    return rows


def calibration_error(judged: Judged) -> float:
    """Mean distance between confidence and share of right words over the bins, weighted by words."""
    rows = reliability(judged)
    total = sum(row["words"] for row in rows)
    return sum(row["words"] * abs(row["confidence"] - row["right"]) for row in rows) / max(total, 1)


def report(calibration: Judged, held_out: Judged, aim: float) -> dict[str, Any]:
    """Threshold chosen on `calibration` for a share `aim` of wrong words, its figures on both, reliability.

    `curve` lists [wrong words marked, all words marked] on both for other thresholds."""
    threshold = choose_threshold(calibration, aim)
    return {"aim": aim, "threshold": threshold,
            "calibration": vars(marking(calibration, threshold)), "held_out": vars(marking(held_out, threshold)),
            "curve": [{"threshold": t, **{name: [round(m.caught, 4), round(m.marked, 4)] for name, m in
                       (("calibration", marking(calibration, t)), ("held_out", marking(held_out, t)))}} for t in CURVE],
            "reliability": reliability(held_out), "calibration_error": round(calibration_error(held_out), 4)}
