"""The inside of a tag: its label and its boxes.

Accepts more than the model should write (floats, negative numbers, swapped corners, numbers beyond the
page, a list of boxes where one is due) and says what it changed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from uocr.document import BOX_SCALE, Box

DEFAULT_LABEL = "text"
"""Label of a block whose tag names none, and of text outside every tag."""

_LABEL_LIMIT = 64
"""Characters in a label of the det form; anything longer is content whose tag went wrong."""

_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_WORD = re.compile(r"\w")
_LABEL_ALONE = re.compile(r"\s*+[\w-]{1,64}\s*+\Z")
_GRAMMAR = re.compile(
    # Label and boxes at the start of a tag that went wrong, maybe unfinished, whatever numbers are missing. A number
    # belongs to them behind a bracket or a comma, a bracket before a number or a comma. Nothing is tried twice:
    # possessive.
    r"\s*+(?:[^\W\d][\w-]{0,63}+\s*+)?(?=\[)"
    r"(?:(?:\[[\[\s]*+(?=[+-]?[\d.,]|\Z)|,\s*+)(?:[+-]?[\d.]++)?+\s*+|\]\s*+)++"
)
_REST = re.compile(
    # What follows of boxes behind a mark in the middle of them: the rest of a number first.
    r"\s*+(?:[+-]?[\d.]++\s*+(?=[,\[\]]|\Z))?+"
    r"(?:(?:\[[\[\s]*+(?=[+-]?[\d.,]|\Z)|,\s*+)(?:[+-]?[\d.]++)?+\s*+|\]\s*+)*+"
)
_BEGUN_BOXES = re.compile(r"[\[\]0-9\s,.+-]*")


@dataclass(slots=True)
class Tag:
    """A tag that was understood; `numbers` are the coordinates' places in the body, (start, end) characters."""

    label: str
    boxes: tuple[Box, ...]
    numbers: list[tuple[int, int]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def read_tag(body: str, ref_label: str | None = None) -> Tag | None:
    """Understand what stands between `<|det|>` and `<|/det|>`; None when it is no tag at all.

    `ref_label` is the label of the ref form; without it the label stands before the first bracket of `body`.
    A body without brackets, or with words where none belong, is not a tag: the caller keeps it as text.
    """
    groups = list(_BRACKETS.finditer(body))
    if not groups:
        return None
    label_end = 0 if ref_label is not None else body.index("[")
    label = " ".join((body[:label_end] if ref_label is None else ref_label).split())
    if ref_label is None and len(label) > _LABEL_LIMIT:
        return None
    if _WORD.search(_BRACKETS.sub("", body[label_end:])):
        return None

    tag = Tag(label or DEFAULT_LABEL, ())
    if not label:
        tag.problems.append(f"the tag {shorten(body)} has no label; taken as {DEFAULT_LABEL}")
    boxes = []
    for group in groups:
        box = _read_box(group.group(1), tag.problems)
        if box is not None:
            boxes.append(box)
            tag.numbers.extend((group.start(1) + m.start(), group.start(1) + m.end())
                               for m in _NUMBER.finditer(group.group(1)))
    tag.boxes = tuple(boxes)
    if len(boxes) < len(groups):
        what = "one of the places" if boxes else "the place"
        tag.problems.append(f"{what} of a paragraph is not known; its text is kept")
    return tag


def boxes_without_pixels(tag: Tag, width: int, height: int) -> list[str]:
    """What is to be told of boxes that are smaller than a pixel of a page of `width` x `height` (0: not known)."""
    problems = []
    for box in tag.boxes if width and height else ():
        left, top, right, bottom = box.pixels(width, height)
        if (left == right or top == bottom) and box.x1 != box.x2 and box.y1 != box.y2:
            problems.append(f"the place of a paragraph is smaller than a pixel of the {width} x {height} page")
    return problems


def begins_tag(body: str, *, label: bool, boxes: bool) -> bool:
    """Whether `body`, all there is behind a tag's last mark, looks like the beginning of what belongs there.

    label, boxes: whether a label and boxes may stand there. Boxes must be made of numbers: words in brackets may be
    the page's.
    """
    words = body.partition("[")[0] if boxes else body
    if len(words.strip()) > (_LABEL_LIMIT if label else 0):
        return False
    return _BEGUN_BOXES.fullmatch(body, len(words)) is not None


def grammar_length(body: str) -> int:
    """Characters at the start of a broken tag's `body` that are its label or boxes; the rest are words of the page.

    A label alone is one word: more words are the page's.
    """
    found = _LABEL_ALONE.match(body) or _GRAMMAR.match(body)
    return found.end() if found else 0


def rest_length(body: str, depth: int) -> int:
    """Characters at the start of `body` that go on with boxes, broken before it with `depth` brackets open.

    The boxes end with the last of these brackets, unless nothing else stands in `body`.
    """
    found = _REST.match(body)
    if found is None or found.end() == len(body):
        return len(body)
    for place, character in enumerate(found.group()):
        depth += (character == "[") - (character == "]")
        if not depth:
            return place + 1
    return found.end()


def _read_box(inside: str, problems: list[str]) -> Box | None:
    """Four numbers into a box with its corners in order, on the page; None for anything else.

    What is changed is told in `problems`.
    """
    parts = [part.strip() for part in inside.split(",")]
    if len(parts) != 4 or not all(_NUMBER.fullmatch(part) for part in parts):
        return None
    values = [float(part) for part in parts]
    if any(value < 0 or value > BOX_SCALE for value in values):
        problems.append("the place of a paragraph goes beyond the page; it was cut at the edge")
    x1, y1, x2, y2 = (round(min(max(value, 0.0), float(BOX_SCALE))) for value in values)
    if x1 > x2 or y1 > y2:
        problems.append("the place of a paragraph has its corners swapped; they were put in order")
    box = Box(min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))
    if box.x1 == box.x2 or box.y1 == box.y2:
        problems.append("the place of a paragraph has no width or no height; its text is kept")
    return box


def shorten(text: str, limit: int = 60) -> str:
    """`text` for a message: on one line, its middle left out when long."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[: limit - 15]} ... {flat[-10:]}"
