"""Figures of one page and of a set: characters, words, order, boxes, tables, inventions, how the run ended."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from uocr.document import Box
from uocr.score import box_iou, character_errors, normalise, word_errors

from bench.quality import teds
from bench.quality.pages import Page

_TAGS = re.compile(r"<[^<>]*>")


@dataclass
class Reading:
    """What a reader made of a page. Boxes in page units; `words` are (text, confidence) where known."""

    reader: str
    set: str
    number: int
    text: str
    boxes: list[Box] | None = None
    words: list[tuple[str, float]] = field(default_factory=list)
    finish: str = "eos"
    seconds: float = 0.0
    """Wall clock, everything included."""
    cpu_seconds: float = 0.0
    peak_bytes: int = 0
    """Most resident memory of the reader's process up to this page."""
    tokens: int = 0
    error: str = ""


@dataclass
class PageScore:
    """One page's figures. Error counts with their lengths; None where a figure has no meaning."""

    set: str
    number: int
    characters: int
    character_errors: int
    words: int
    word_errors: int
    order: float | None
    iou: float | None
    table: float | None
    invented: int
    finish: str
    seconds: float
    cpu_seconds: float
    peak_bytes: int


def plain(text: str) -> str:
    """Text without table markup: cells parted by blanks, so that tables count in error rates for every reader."""
    return normalise(_TAGS.sub(" ", text)) if "<t" in text else normalise(text)


def reading_order(read: str, truth: str) -> float | None:
    """Share of pairs of words in the right order, 0..1, over words that occur once in both; None below 8 of them."""
    read_words, truth_words = read.split(), truth.split()
    once_read = {w for w, n in Counter(read_words).items() if n == 1}
    once_true = {w for w, n in Counter(truth_words).items() if n == 1}
    common = once_read & once_true
    if len(common) < 8:
        return None
    place = {word: n for n, word in enumerate(read_words) if word in common}
    places = np.array([place[word] for word in truth_words if word in common])
    ahead = np.triu(places[None] > places[:, None], 1).sum()
    return float(ahead / (len(places) * (len(places) - 1) / 2))


def mean_iou(read: Sequence[Box], truth: Sequence[Box]) -> float:
    """Mean over the true boxes of the best overlap with any box read."""
    return float(np.mean([max((box_iou(box, other) for other in read), default=0.0) for box in truth]))


def score(page: Page, reading: Reading) -> PageScore:
    """Figures of one reading of one page."""
    read, truth = plain(reading.text), plain(page.text)
    characters, words = character_errors(read, truth), word_errors(read, truth)
    boxes = [block.box for block in page.blocks if block.box is not None]
    tables = [block.text for block in page.blocks if block.label == "table"]
    return PageScore(
        page.set, page.number, characters.length, characters.count, words.length, words.count,
        order=reading_order(read, truth),
        iou=mean_iou(reading.boxes, boxes) if boxes and reading.boxes is not None else None,
        table=teds.similarity(reading.text, tables[0]) if tables else None,
        invented=0 if truth else len(read),
        finish=reading.finish, seconds=reading.seconds, cpu_seconds=reading.cpu_seconds,
        peak_bytes=reading.peak_bytes)


def summary(scores: Sequence[PageScore], seed: int = 1) -> dict[str, Any]:
    """Figures of a set. Rates in percent over all characters (words) together, with a 95 % bootstrap interval."""

    def mean(values: Sequence[float | None], digits: int = 4) -> float | None:
        known = [v for v in values if v is not None]
        return round(float(np.mean(known)), digits) if known else None

    errors, length = (np.array([getattr(s, name) for s in scores], np.float64)
                      for name in ("character_errors", "characters"))
    figures: dict[str, Any] = {"pages": len(scores), "characters": int(length.sum())}
    if length.sum():
        low, high = _interval(errors, length, seed)
        figures |= {
            "character_error_rate": round(100 * float(errors.sum() / length.sum()), 3),
            "character_error_interval": [round(100 * low, 3), round(100 * high, 3)],
            "word_error_rate": round(100 * sum(s.word_errors for s in scores) / sum(s.words for s in scores), 3),
            "median_page_rate": round(100 * float(np.median(errors / np.maximum(length, 1))), 3),
        }
    else:
        figures |= {"pages_with_inventions": sum(s.invented > 0 for s in scores),
                    "invented_characters": sum(s.invented for s in scores)}
    return figures | {
        "reading_order": mean([s.order for s in scores]), "box_iou": mean([s.iou for s in scores]),
        "table_teds": mean([s.table for s in scores]),
        "loops": sum(s.finish == "loop" for s in scores), "cut_short": sum(s.finish == "length" for s in scores),
        "failed": sum(s.finish == "error" for s in scores),
        "seconds_a_page": round(float(np.median([s.seconds for s in scores])), 3),
        "cpu_seconds_a_page": round(float(np.median([s.cpu_seconds for s in scores])), 3),
        "peak_mebibytes": round(max(s.peak_bytes for s in scores) / 2**20, 1),
    }


def _interval(errors: np.ndarray, lengths: np.ndarray, seed: int) -> tuple[float, float]:
    """2.5 and 97.5 percentiles of the rate over pages drawn with replacement."""
    places = np.random.default_rng(seed).integers(0, len(errors), (2000, len(errors)))
    rates = errors[places].sum(1) / np.maximum(lengths[places].sum(1), 1)
    low, high = np.quantile(rates, [0.025, 0.975])
    return float(low), float(high)
