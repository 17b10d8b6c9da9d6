"""A second look at a page that was read: ink outside every box, boxes without ink.

No model is asked. What is found is offered as "maybe missed" and "maybe invented", for a person to decide.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from uocr.document import BOX_SCALE, Box, Page
from uocr.ink import grey_of, ink_of
from uocr.overrun import told_of
from uocr.paper import beside_the_sheet

_CELL = 8
"""Pixels; ink is gathered in squares of this size, which joins letters and words to regions."""

_MARGIN = 8
"""Pixels that a box is widened by before what lies outside is called missed: boxes may be a little tight."""

_LEAST_INK = 12
"""Ink pixels of the smallest region worth telling: a digit of 10 points has about 15."""

_RULE = 150
"""Pixels of a straight line that no letter has."""

_LEAST_INK_OF_CELL = 3
_LEADING = 24
"""Pixels; regions that are not further below each other are lines of one paragraph, one place to look at."""

_THIN = 3
"""Pixels; regions not wider or not higher are rules and page edges, not text."""

_CREASE = (60, 8)
"""Pixels: a region at least so long and at most so thick all along is a crease or a slanted rule, not text, if its
sides are nearly straight."""


Region = tuple[int, int, int, int]
"""Left, top, right, bottom in pixels."""


@dataclass(slots=True)
class Audit:
    """What a person should look at."""

    missed: list[Box] = field(default_factory=list)
    """Regions with ink outside every box, top to bottom; empty when no block tells where its text stands. Where
    lines go on beside a box and its text is long enough for that, the box was a little short: nothing is missed."""
    invented: list[int] = field(default_factory=list)
    """Places in `page.blocks` of blocks with boxes where the page has no ink."""


def audit(page: Page, image: Image.Image) -> Audit:
    """Compare the blocks of `page` with its picture.

    `image`: the oriented page, at any size and mode. On a page without blocks all ink is missed.
    """
    grey = grey_of(image)
    ink, maybe = ink_of(grey)
    result = Audit()
    height, width = ink.shape

    strokes = ink & ~_runs(ink) & ~_runs(ink.T).T
    outside = strokes.copy()
    for i, block in enumerate(page.blocks):
        found = False
        for box in block.boxes:
            left, top, right, bottom = box.pixels(width, height)
            inside = maybe[top:max(bottom, top + 1), left:max(right, left + 1)]
            found = found or bool(inside.sum() >= max(_LEAST_INK / 3, 0.001 * inside.size))
            outside[max(top - _MARGIN, 0):bottom + _MARGIN, max(left - _MARGIN, 0):right + _MARGIN] = False
        if block.boxes and not found:
            result.invented.append(i)
    if any(block.boxes for block in page.blocks) or not any(block.text.strip() for block in page.blocks):
        boxes = [box.pixels(width, height) for block in page.blocks for box in block.boxes]
        if outside.any():
            outside &= ~told_of(strokes, page.blocks)
        if outside.any():
            outside &= ~beside_the_sheet(grey, boxes)
        result.missed = [_box(region, width, height) for region in _joined(_regions(outside), boxes)]
    return result


def _runs(ink: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Pixels in horizontal runs of `_RULE` or more: rules and frames, which would tie regions together."""
    if ink.shape[1] < _RULE:
        return np.zeros_like(ink)
    sums = np.pad(np.cumsum(ink, axis=1, dtype=np.int32), ((0, 0), (1, 0)))
    starts = (sums[:, _RULE:] - sums[:, :-_RULE]) == _RULE
    begun = np.pad(np.cumsum(starts, axis=1, dtype=np.int32), ((0, 0), (_RULE, _RULE - 1)), mode="edge")
    begun[:, :_RULE] = 0
    runs: NDArray[np.bool_] = begun[:, _RULE:] > begun[:, :-_RULE]
    return runs


def _regions(ink: NDArray[np.bool_]) -> list[Region]:
    """Connected areas of inked cells as (left, top, right, bottom) of their ink in pixels, top to bottom."""
    height, width = ink.shape
    rows, columns = -(-height // _CELL), -(-width // _CELL)
    padded = np.pad(ink, ((0, rows * _CELL - height), (0, columns * _CELL - width)))
    counts = padded.reshape(rows, _CELL, columns, _CELL).sum(axis=(1, 3))
    waiting = counts >= _LEAST_INK_OF_CELL
    regions = []
    for start in zip(*np.nonzero(waiting), strict=True):
        if not waiting[start]:
            continue
        waiting[start] = False
        cells, queue = [], deque([start])
        while queue:
            y, x = queue.popleft()
            cells.append((y, x))
            # Two cells sideways: words of a line belong together; one cell up and down.
            for near_y in range(max(y - 1, 0), min(y + 2, rows)):
                for near_x in range(max(x - 2, 0), min(x + 3, columns)):
                    if waiting[near_y, near_x]:
                        waiting[near_y, near_x] = False
                        queue.append((near_y, near_x))
        left, top, right, bottom = region = _tight(padded, cells)
        if sum(int(counts[cell]) for cell in cells) < _LEAST_INK or min(right - left, bottom - top) <= _THIN:
            continue
        part = padded[top:bottom, left:right]
        if not _is_crease(part) and not _is_crease(part.T):
            regions.append(region)
    return sorted(_apart(regions), key=lambda region: (region[1], region[0]))


def _apart(regions: list[Region]) -> list[Region]:
    """Without those that lie in another."""
    return [region for region in regions if not any(_holds(other, region) for other in regions)]


def _joined(regions: list[Region], boxes: Sequence[Region]) -> list[Region]:
    """Lines that stand close below each other as one region, unless that would reach into a block that was read."""
    joined: list[Region] = []
    for region in regions:  # from top to bottom: what a region can join has been seen
        for place, above in enumerate(joined):
            both = (min(above[0], region[0]), above[1], max(above[2], region[2]), max(above[3], region[3]))
            beside = min(above[2], region[2]) - max(above[0], region[0])
            if (
                region[1] - above[3] <= _LEADING
                and 2 * beside >= min(above[2] - above[0], region[2] - region[0])
                and not any(_meet(both, box) for box in boxes)
            ):
                joined[place] = both
                break
        else:
            joined.append(region)
    return _apart(joined)


def _meet(region: Region, other: Region) -> bool:
    return region[0] < other[2] and other[0] < region[2] and region[1] < other[3] and other[1] < region[3]


def _holds(outer: Region, inner: Region) -> bool:
    """Whether `inner` lies in `outer` and is another region."""
    within = outer[0] <= inner[0] and outer[1] <= inner[1] and inner[2] <= outer[2] and inner[3] <= outer[3]
    return within and outer != inner


def _is_crease(ink: NDArray[np.bool_]) -> bool:
    """Whether the ink of a region is one line from left to right, thin all along and without the jags of letters."""
    long, thick = _CREASE
    height, width = ink.shape
    if width < long:
        return False
    first, last = ink.argmax(axis=0), height - ink[::-1].argmax(axis=0)
    thin = (last - first <= thick) & (ink.sum(axis=0) == last - first)
    jags = np.abs(np.diff(first)) + np.abs(np.diff(last))
    return bool(thin.mean() >= 0.95 and jags.mean() <= 0.4)


def _tight(ink: NDArray[np.bool_], cells: list[tuple[int, int]]) -> Region:
    """Bounds of the ink in `cells`, pixels."""
    top, bottom = min(y for y, _ in cells) * _CELL, (max(y for y, _ in cells) + 1) * _CELL
    left, right = min(x for _, x in cells) * _CELL, (max(x for _, x in cells) + 1) * _CELL
    part = np.zeros((bottom - top, right - left), bool)
    for y, x in cells:
        place = (slice(y * _CELL, (y + 1) * _CELL), slice(x * _CELL, (x + 1) * _CELL))
        part[y * _CELL - top:(y + 1) * _CELL - top, x * _CELL - left:(x + 1) * _CELL - left] = ink[place]
    ys, xs = np.nonzero(part)
    return left + int(xs.min()), top + int(ys.min()), left + int(xs.max()) + 1, top + int(ys.max()) + 1


def _box(region: Region, width: int, height: int) -> Box:
    left, top, right, bottom = region
    return Box(round(left / width * BOX_SCALE), round(top / height * BOX_SCALE),
               round(min(right / width, 1) * BOX_SCALE), round(min(bottom / height, 1) * BOX_SCALE))
