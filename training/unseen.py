"""Paragraphs that training never saw: chosen by their runs of words, so that what is nearly the same counts as seen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

RUN = 6
"""Words that must follow one another in two texts to count as the same place."""

_MOST_SEEN = 0.1
"""Share of a paragraph's runs that may stand in what was trained: stock phrases, but no sentence of length."""

Run = tuple[str, ...]


def runs(text: str) -> list[Run]:
    """Every run of `RUN` words, in lower case and without marks; none of a shorter text."""
    words = re.findall(r"\w+", text.lower())
    return [tuple(words[n : n + RUN]) for n in range(len(words) - RUN + 1)]


def unseen(candidates: Sequence[str], trained: Iterable[str]) -> Iterator[str]:
    """The candidates of which at most a tenth of the runs stand in one of the texts `trained`, in order. What is too
    short to be judged is left out."""
    wanted = {run for text in candidates for run in runs(text)}
    seen = {run for text in trained for run in runs(text) if run in wanted}
    for text in candidates:
        own = runs(text)
        if own and sum(run in seen for run in own) <= _MOST_SEEN * len(own):
            yield text
