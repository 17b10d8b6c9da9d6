"""A second look at a page that was read: ink outside every box, boxes without ink.

No model is asked. Ink is what differs from the paper around it, on white or dark pages alike; what is found
is offered as "maybe missed" and "maybe invented", for a person to decide.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from uocr.document import BOX_SCALE, Box, Page
from uocr.export.pictures import on_white

_SIDE = 1000
"""Pixels of the longer side that the page is looked at with: a letter of 6 points on A4 is 7 pixels high."""

_PATCH = 64
"""Pixels; the paper's brightness is taken from squares of this size, so shadows do no harm."""

_CELL = 8
"""Pixels; ink is gathered in squares of this size, which joins letters and words to regions."""

_MARGIN = 8
"""Pixels that a box is widened by before what lies outside is called missed: boxes may be a little tight."""

_LEAST_CONTRAST = 20
_STRONG_CONTRAST = 60
_LEAST_INK = 12
"""Ink pixels of the smallest region worth telling: a digit of 10 points has about 15."""

_RULE = 150
"""Pixels of a straight line that no letter has."""

_LEAST_INK_OF_CELL = 3
_NOISY = 0.004
"""Share of specks from which a page counts as noisy; then specks that touch are removed as well."""

_THIN = 3
"""Pixels; regions not wider or not higher are rules and page edges, not text."""


@dataclass(slots=True)
class Audit:
    """What a person should look at."""

    missed: list[Box] = field(default_factory=list)
    """Regions with ink outside every box, top to bottom; empty when no block tells where its text stands."""
    invented: list[int] = field(default_factory=list)
    """Places in `page.blocks` of blocks with boxes where the page has no ink."""


def audit(page: Page, image: Image.Image) -> Audit:
    """Compare the blocks of `page` with its picture.

    `image`: the oriented page, at any size and mode. On a page without blocks all ink is missed.
    """
    grey = _grey(image)
    ink, maybe = _ink(grey)
    result = Audit()
    height, width = ink.shape

    outside = ink & ~_runs(ink) & ~_runs(ink.T).T
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
        result.missed = [_box(region, width, height) for region in _regions(outside)]
    return result


def _grey(image: Image.Image) -> NDArray[np.float32]:
    """Brightness 0..255 without single odd pixels, [height, width], the longer side at most `_SIDE` pixels."""
    image = on_white(image).convert("L")
    pixels = np.asarray(image)
    tidy = _within_neighbours(pixels)
    specks = np.abs(pixels.astype(np.int16) - tidy) > _STRONG_CONTRAST
    image = Image.fromarray(tidy)
    if specks.mean() > _NOISY:
        image = image.filter(ImageFilter.MedianFilter(3))
    longer = max(image.size)
    if longer > _SIDE:
        size = (max(round(image.width * _SIDE / longer), 1), max(round(image.height * _SIDE / longer), 1))
        image = image.resize(size, Image.Resampling.BOX)
    return np.asarray(image, np.float32)


def _within_neighbours(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Each pixel no darker or brighter than all its neighbours: specks go, the thinnest line stays."""
    height, width = pixels.shape
    around = np.pad(pixels, 1, mode="edge")
    near = [around[y:y + height, x:x + width] for y in range(3) for x in range(3) if (y, x) != (1, 1)]
    darkest, brightest = near[0].copy(), near[0].copy()
    for shifted in near[1:]:
        np.minimum(darkest, shifted, out=darkest)
        np.maximum(brightest, shifted, out=brightest)
    return np.clip(pixels, darkest, brightest)


def _ink(grey: NDArray[np.float32]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """What is ink for certain, and what may be ink; both lean towards saying nothing to the person.

    Certain ink differs from the paper of its patch and of all patches around it: beside a picture or a dark
    column two papers meet. Ink that may be differs from one of them, or strongly from most of the page.
    """
    height, width = grey.shape
    rows, columns = -(-height // _PATCH), -(-width // _PATCH)
    padded = np.pad(grey, ((0, rows * _PATCH - height), (0, columns * _PATCH - width)), mode="edge")
    patches = padded.reshape(rows, _PATCH, columns, _PATCH)
    papers = np.pad(np.median(patches.swapaxes(1, 2).reshape(rows, columns, -1), axis=2), 1, mode="edge")

    def difference(y: int, x: int) -> NDArray[np.float32]:
        """To the paper of the patch that is `y` - 1 rows below and `x` - 1 columns beside each pixel's own."""
        found = patches - papers[y:y + rows, None, x:x + columns, None]
        np.abs(found, out=found)
        return found

    own = difference(1, 1)
    least = own.copy()
    for y, x in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1), (2, 2)):
        np.minimum(least, difference(y, x), out=least)
    own, least = (part.reshape(padded.shape)[:height, :width] for part in (own, least))
    noise = 1.4826 * _median(own)  # most of a page is paper
    contrast = max(_LEAST_CONTRAST, 4 * noise)
    certain = least > contrast
    strong = np.abs(grey - np.float32(_median(grey))) > _STRONG_CONTRAST
    return _without_specks(certain), _without_specks((own > contrast) | strong)


def _median(values: NDArray[np.float32]) -> float:
    """The median of halves of whole numbers from 0 to 255, by counting them: a third of the time of sorting."""
    reached = np.bincount((2 * values).astype(np.uint16).reshape(-1)).cumsum()
    lower, upper = np.searchsorted(reached, ((values.size - 1) // 2, values.size // 2), side="right")
    return float(lower + upper) / 4


def _without_specks(ink: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Ink pixels with at least two ink neighbours."""
    around = np.pad(ink.astype(np.uint8), 1)
    height, width = ink.shape
    neighbours = sum(around[y:y + height, x:x + width] for y in range(3) for x in range(3)) - ink
    kept: NDArray[np.bool_] = ink & (neighbours >= 2)
    return kept


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


def _regions(ink: NDArray[np.bool_]) -> list[tuple[int, int, int, int]]:
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
        region = _tight(padded, cells)
        if sum(int(counts[cell]) for cell in cells) >= _LEAST_INK and min(
                region[2] - region[0], region[3] - region[1]) > _THIN:
            regions.append(region)
    return sorted(regions, key=lambda region: (region[1], region[0]))


def _tight(ink: NDArray[np.bool_], cells: list[tuple[int, int]]) -> tuple[int, int, int, int]:
    """Bounds of the ink in `cells`, pixels."""
    top, bottom = min(y for y, _ in cells) * _CELL, (max(y for y, _ in cells) + 1) * _CELL
    left, right = min(x for _, x in cells) * _CELL, (max(x for _, x in cells) + 1) * _CELL
    part = np.zeros((bottom - top, right - left), bool)
    for y, x in cells:
        place = (slice(y * _CELL, (y + 1) * _CELL), slice(x * _CELL, (x + 1) * _CELL))
        part[y * _CELL - top:(y + 1) * _CELL - top, x * _CELL - left:(x + 1) * _CELL - left] = ink[place]
    ys, xs = np.nonzero(part)
    return left + int(xs.min()), top + int(ys.min()), left + int(xs.max()) + 1, top + int(ys.max()) + 1


def _box(region: tuple[int, int, int, int], width: int, height: int) -> Box:
    left, top, right, bottom = region
    return Box(round(left / width * BOX_SCALE), round(top / height * BOX_SCALE),
               round(min(right / width, 1) * BOX_SCALE), round(min(bottom / height, 1) * BOX_SCALE))
