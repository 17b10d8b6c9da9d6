"""Phrases to look for on a page: some words of one line or a whole title with the box of their ink, or words that are
not there."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from training.targets import Block
from training.words import Words

_MOST_WORDS = 6
_LEAST_CHARACTERS = 3
_MOST_CHARACTERS = 60
"""Question and answer must stay within the decoder's window, see MOST_IDS."""

MOST_IDS = 128
"""Ids of question, answer and end: within the window it is the same whether the question is part of the prompt."""

_ABSENT = 0.2
"""Share of phrases that are not on the page."""

_TITLE = 0.1
_ALTERED = 0.5
"""Share of absent phrases that differ from one of the page by a word."""

_INK = 96
"""Darker is print; the grey behind listings is lighter."""

_TRIES = 40


@dataclass
class Phrase:
    """What is asked for, and where it is on the page (None: nowhere)."""

    text: str
    place: Block | None


def choose(page: Image.Image, blocks: list[Block], words: Words, rng: random.Random) -> Phrase | None:
    """A phrase for a page before it is worn, `blocks` being what is printed on it; None when none was found. None is
    taken from a table."""
    text = "\n".join(block.text for block in blocks)
    blocks = [block for block in blocks if block.label != "table"]
    if text and not blocks:  # else a page of tables alone would say that the words are not there
        return None
    ink = np.asarray(page) > _INK
    absent = not blocks or rng.random() < _ABSENT
    for _ in range(_TRIES):
        phrase = _absent(text, blocks, words, rng) if absent else _present(ink, blocks, rng)
        right = phrase is not None and _LEAST_CHARACTERS <= len(phrase.text) <= _MOST_CHARACTERS
        if phrase is not None and right and text.count(phrase.text) == (0 if absent else 1):
            return phrase
    return None


def _some_words(block: Block, rng: random.Random) -> tuple[int, int]:
    """From where to where in its text one to six words of one line stand."""
    text = block.text
    starts = [n for n in range(len(text)) if text[n] not in " \n" and text[n - 1 : n] in ("", " ", "\n")]
    first = rng.randrange(len(starts))
    begin, most = starts[first], rng.randint(1, _MOST_WORDS)
    row = block.points[begin][1]
    end = begin
    for start in starts[first : first + most]:
        stop = next((n for n in range(start, len(text)) if text[n] in " \n"), len(text))
        if "\n" in text[begin:stop] or any(abs(y - row) > 0.5 for _, y in block.points[start:stop]):
            break
        end = stop
    return begin, end


def _present(ink: NDArray[np.bool_], blocks: list[Block], rng: random.Random) -> Phrase | None:
    titles = [block for block in blocks if block.label == "title" and "\n" not in block.text]
    if titles and rng.random() < _TITLE:
        title = rng.choice(titles)
        return Phrase(title.text, Block("title", title.text, title.points, title.box))
    block = rng.choice(blocks)
    begin, end = _some_words(block, rng)
    text, box = block.text[begin:end], ink_box(ink, block, begin, end)
    return None if box is None else Phrase(text, Block(block.label, text, block.points[begin:end], box))


def _absent(text: str, blocks: list[Block], words: Words, rng: random.Random) -> Phrase | None:
    others = " ".join(words.run(rng.randint(1, _MOST_WORDS))[:_MOST_WORDS]).split()
    if blocks and rng.random() < _ALTERED:
        block = rng.choice(blocks)
        begin, end = _some_words(block, rng)
        shown = block.text[begin:end].split()
        if len(shown) > 1 and others:
            shown[rng.randrange(len(shown))] = others[0]
            others = shown
    phrase = " ".join(others)
    return None if phrase.casefold() in text.casefold() else Phrase(phrase, None)


def ink_box(ink: NDArray[np.bool_], block: Block, begin: int, end: int) -> tuple[float, float, float, float] | None:
    """Box of the ink of the characters `begin` to `end` of a block, which stand on one line of a page that is not
    worn yet. ink: [height, width]. None when there is no ink.

    Neighbouring lines lie beyond half the way to them, neighbouring words beyond the widest gap before them."""
    x0, y0, x1, y1 = block.box
    row = block.points[begin][1]
    rows = sorted({y for _, y in block.points})
    above, below = [y for y in rows if y < row - 0.5], [y for y in rows if y > row + 0.5]
    top, bottom = (above[-1] + row) / 2 if above else y0, (row + below[0]) / 2 if below else y1
    top, bottom = max(int(top), 0), min(int(np.ceil(bottom)), ink.shape[0])
    columns = np.asarray(ink[top:bottom].any(0))

    def gap(left: float, right: float) -> int:
        """Middle of the widest run of empty columns between two places."""
        start, stop = max(int(left), 0), min(int(right) + 1, len(columns))
        inked = np.flatnonzero(columns[start:stop])
        edges = np.concatenate(([-1], inked, [stop - start]))
        widths = np.diff(edges)
        widest = int(widths.argmax()) if len(widths) else 0
        return start + int(edges[widest] + edges[widest + 1]) // 2 if widths.max() > 1 else int(left + right) // 2

    def neighbour(places: range) -> float | None:
        """Where the next character on the same line is."""
        for n in places:
            if block.text[n] not in " \n":
                x, y = block.points[n]
                return x if abs(y - row) <= 0.5 else None
        return None

    before, after = neighbour(range(begin - 1, -1, -1)), neighbour(range(end, len(block.text)))
    left = int(x0) if before is None else gap(before, block.points[begin][0])
    right = int(np.ceil(x1)) if after is None else gap(block.points[end - 1][0], after)
    left, right = max(left, 0), min(right, ink.shape[1])
    part = ink[top:bottom, left:right]
    if left >= right or not part.any():
        return None
    across, down = np.flatnonzero(part.any(0)), np.flatnonzero(part.any(1))
    return float(left + across[0]), float(top + down[0]), float(left + across[-1] + 1), float(top + down[-1] + 1)
