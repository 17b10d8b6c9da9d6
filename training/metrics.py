"""Figures of a reading: character errors, boxes, labels."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

_TAG = re.compile(r"<\|det\|>(.*?)<\|/det\|>", re.S)
_BOX = re.compile(r"<\|det\|>(\w+) \[(\d+), (\d+), (\d+), (\d+)\]<\|/det\|>")
_PLACE = re.compile(r"<\|ref\|>.*?<\|/ref\|><\|det\|>\[\[(\d+), (\d+), (\d+), (\d+)\]\]<\|/det\|>", re.S)
_PAGE_MARK = "<PAGE>"

Box = tuple[int, int, int, int]


def plain(output: str) -> str:
    """Output without its tags; line ends between blocks stay."""
    return _TAG.sub("", output).strip()


def edit_distance(a: str, b: str) -> int:
    """Levenshtein distance in characters."""
    if not a or not b:
        return len(a) + len(b)
    left, right = (np.array([ord(char) for char in text], dtype=np.int64) for text in (a, b))
    ramp = np.arange(len(right) + 1)
    row = ramp.copy()
    for index in range(len(left)):
        best = np.minimum(row[1:] + 1, row[:-1] + (right != left[index]))
        row = np.minimum.accumulate(np.concatenate(([index + 1], best)) - ramp) + ramp
    return int(row[-1])


def boxes(output: str) -> list[tuple[str, Box]]:
    """Labels and boxes of the well-formed blocks of an output."""
    return [(m[1], (int(m[2]), int(m[3]), int(m[4]), int(m[5]))) for m in _BOX.finditer(output)]


def place(output: str) -> Box | None:
    """Where an answer says that the words asked for stand; None when it says nothing of the kind."""
    found = _PLACE.search(output)
    return (int(found[1]), int(found[2]), int(found[3]), int(found[4])) if found else None


def overlap(a: Box, b: Box) -> float:
    """Intersection over union."""
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    shared = max(0, width) * max(0, height)
    return shared / max((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared, 1)


@dataclass
class Reading:
    """One page read: the set it belongs to, what was written, what is true, whether it ended by itself."""

    group: str
    output: str
    truth: str
    ended: bool

    @property
    def errors(self) -> int:
        return edit_distance(plain(self.output), plain(self.truth))

    @property
    def length(self) -> int:
        return len(plain(self.truth))


def summary(readings: list[Reading]) -> dict[str, float]:
    """Figures of one group. Rates are in percent; pages without text have only invention figures."""
    errors, lengths = [r.errors for r in readings], [r.length for r in readings]
    facts: dict[str, float] = {"pages": len(readings), "ended": sum(r.ended for r in readings)}
    if not sum(lengths):
        return facts | {
            "pages_with_inventions": sum(bool(plain(r.output)) for r in readings),
            "invented_characters": sum(errors),
        }
    rates = [min(1.0, e / max(n, 1)) for e, n in zip(errors, lengths, strict=True)]
    best, same, counts = [], [], []
    for reading in readings:
        read, true = boxes(reading.output), boxes(reading.truth)
        counts.append(len(read) == len(true))
        for label, box in true:
            score, guess = max(((overlap(box, other), name) for name, other in read), default=(0.0, ""))
            best.append(score)
            same.append(guess == label)
    return facts | {
        "characters": sum(lengths),
        "error_rate": round(100 * sum(errors) / sum(lengths), 3),
        "mean_page_rate": round(100 * float(np.mean(rates)), 3),
        "median_page_rate": round(100 * float(np.median(rates)), 3),
        "pages_above_20": sum(rate > 0.2 for rate in rates),
        "box_iou": round(float(np.mean(best)), 4),
        "labels_right": round(100 * float(np.mean(same)), 2),
        "block_count_right": round(100 * float(np.mean(counts)), 2),
    }


def several_summary(readings: list[Reading]) -> dict[str, float]:
    """Figures of passes over several pages: those of pages, of the whole texts without page marks (boxes and labels
    may be matched across pages), and in percent how often there were as many marks as pages."""
    same = [r.output.count(_PAGE_MARK) == r.truth.count(_PAGE_MARK) for r in readings]
    unmarked = [
        replace(r, output=r.output.replace(_PAGE_MARK, ""), truth=r.truth.replace(_PAGE_MARK, "")) for r in readings
    ]
    return summary(unmarked) | {"page_marks_right": round(100 * float(np.mean(same)), 2)}


def location_summary(readings: list[Reading]) -> dict[str, float]:
    """Figures of answers to questions where words stand: mean overlap and, in percent, how many boxes overlap by half
    (no box: no overlap); in percent how many absent words were answered with no box."""
    pairs = [(place(r.output), place(r.truth)) for r in readings]
    scores = [overlap(read, true) if read else 0.0 for read, true in pairs if true]
    silent = [read is None for read, true in pairs if not true]
    facts: dict[str, float] = {"questions": len(readings), "absent": len(silent)}
    if scores:
        half = float(np.mean([score >= 0.5 for score in scores]))
        facts |= {"box_iou": round(float(np.mean(scores)), 4), "boxes_right": round(100 * half, 2)}
    if silent:
        facts["absent_right"] = round(100 * float(np.mean(silent)), 2)
    return facts
