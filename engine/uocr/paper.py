"""What lies beside the sheet on a photographed page: the desk has a texture of its own, and none of it is text."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from uocr.ink import Grey, Mask, without_strokes

_SQUARE = 16
"""Pixels; the sheet is followed in squares of this size."""

_STEP = 20
"""Most that the paper's brightness changes from one square to the next; at the sheet's edge it changes more."""

_SIDE_COVERED = 0.9
"""Share of a side of the picture that is desk where the sheet does not reach it."""

Place = tuple[int, int]


def beside_the_sheet(grey: Grey, boxes: Sequence[tuple[int, int, int, int]]) -> Mask:
    """Pixels that belong to no sheet, [height, width]; nothing unless at least two sides of the picture are desk.

    boxes: of the page's blocks, (left, top, right, bottom) in pixels: where they stand is paper, and so is what can
    be reached from there without a sudden change of brightness. A shadow with a hard edge covers one side at most.
    """
    height, width = grey.shape
    squares = _squares(grey)
    paper = _paper(squares, boxes)
    rim = np.zeros_like(paper)
    rim[[0, -1]] = rim[:, [0, -1]] = True
    beside = _filled(rim & ~paper, lambda _, place: bool(not paper[place]))
    covered = [side.mean() >= _SIDE_COVERED for side in (beside[0], beside[-1], beside[:, 0], beside[:, -1])]
    if sum(covered) < 2:
        return np.zeros(grey.shape, bool)
    rows, columns = beside.shape
    padded = np.pad(beside, 1)  # the sheet's edge lies within the next square
    beside = np.logical_or.reduce([padded[y:y + rows, x:x + columns] for y in range(3) for x in range(3)])
    return beside.repeat(_SQUARE, axis=0).repeat(_SQUARE, axis=1)[:height, :width]


def _squares(grey: Grey) -> np.ndarray:
    """Brightness of the page without its text, [rows, columns] of squares."""
    height, width = grey.shape
    rows, columns = -(-height // _SQUARE), -(-width // _SQUARE)
    edges = ((0, rows * _SQUARE - height), (0, columns * _SQUARE - width))
    padded = np.pad(without_strokes(grey), edges, mode="edge")
    parts = padded.reshape(rows, _SQUARE, columns, _SQUARE).swapaxes(1, 2).reshape(rows, columns, -1)
    return np.asarray(np.median(parts, axis=2))


def _paper(squares: np.ndarray, boxes: Sequence[tuple[int, int, int, int]]) -> Mask:
    """Squares of the sheet: what hangs together with the blocks, or without any the largest even area."""

    def even(place: Place, other: Place) -> bool:
        return bool(abs(squares[place] - squares[other]) <= _STEP)

    seeds = np.zeros(squares.shape, bool)
    for left, top, right, bottom in boxes:
        seeds[top // _SQUARE:bottom // _SQUARE + 1, left // _SQUARE:right // _SQUARE + 1] = True
    if boxes:
        return _filled(seeds, even)
    left_over, largest = ~seeds, seeds
    while left_over.sum() > largest.sum():
        seed = np.zeros_like(seeds)
        seed[tuple(np.argwhere(left_over)[0])] = True
        area = _filled(seed, even)
        left_over &= ~area
        largest = max(largest, area, key=np.sum)
    return largest


def _filled(seeds: Mask, passes: Callable[[Place, Place], bool]) -> Mask:
    """`seeds` and all that is reached from them, square by square, where `passes(from, to)` allows it."""
    rows, columns = seeds.shape
    reached, waiting = seeds.copy(), deque((int(y), int(x)) for y, x in np.argwhere(seeds))
    while waiting:
        y, x = waiting.popleft()
        for place in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
            inside = 0 <= place[0] < rows and 0 <= place[1] < columns
            if inside and not reached[place] and passes((y, x), place):
                reached[place] = True
                waiting.append(place)
    return reached
