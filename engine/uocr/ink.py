"""What on a page is ink: strokes that stand out from the paper around them, in any light.

Shadows, dark edges of a scan, the fold of a book and the texture of paper are no ink. What tells them apart: a stroke
is narrow, so that a closing of the picture fills it, and its sides are steep; a shadow is wide, or begins softly.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from uocr.sources.pixels import on_white

Grey = NDArray[np.uint8]
Mask = NDArray[np.bool_]

_SIDE = 1000
"""Pixels of the longer side that the page is looked at with: a letter of 6 points on A4 is 7 pixels high."""

_PATCH = 64
"""Pixels; the paper's brightness is taken from squares of this size."""

_WIDE = 41
"""Pixels, odd: what is wider both ways is no stroke, not even of a headline."""

_TIP = 50
"""Pixels by which a wide dark place may reach into the paper: the tip of a shadow is no stroke either."""

_STEEP = 0.3
"""Of a stroke's depth: how much the brightness changes within two pixels at its side, more than beside a fold."""

_LEAST_CONTRAST = 20
_STRONG_CONTRAST = 60
_ABOVE_TEXTURE = 7
"""Ink is so many times as deep as half the texture of the paper around it is."""

_NOISY = 0.004
"""Share of specks from which a page counts as noisy; then specks that touch are removed as well."""


def grey_of(image: Image.Image) -> Grey:
    """Brightness without single odd pixels, [height, width], the longer side at most `_SIDE` pixels."""
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
    return np.asarray(image)


def ink_of(grey: Grey) -> tuple[Mask, Mask]:
    """What is ink for certain, and what may be ink; both lean towards saying nothing to the person.

    Certain ink is a stroke that also differs from the paper of its patch and of all patches around it: beside a
    picture or a dark column two papers meet. Ink that may be differs from the paper of its patch, or strongly from
    most of the page.
    """
    papers = _medians(grey)
    own = np.abs(grey - _spread(papers, grey.shape))
    relief = np.where(grey < _spread(papers, grey.shape), _relief(grey), _relief(255 - grey))
    depth = np.minimum(relief, own).astype(np.uint8)
    texture = np.median(list(_around(_medians(depth))), axis=0)
    contrast = np.maximum(_LEAST_CONTRAST, _ABOVE_TEXTURE * _spread(texture, grey.shape))
    least = own
    for papers_beside in _around(papers):
        least = np.minimum(least, np.abs(grey - _spread(papers_beside, grey.shape)))
    steep = _most(_slope(grey), 7) > np.float32(_STEEP) * _most(depth, 21)
    certain = (np.minimum(relief, least) > contrast) & steep
    strong = np.abs(grey - np.float32(median(grey))) > _STRONG_CONTRAST
    return _without_specks(certain), _without_specks((own > contrast) | strong)


def without_strokes(grey: Grey) -> Grey:
    """The page as it would look without its dark strokes; what is beyond its edges is thought to go on."""
    padded = np.pad(grey, _WIDE, mode="edge")
    return _least(_most(padded, _WIDE), _WIDE)[_WIDE:-_WIDE, _WIDE:-_WIDE]


def _relief(grey: Grey) -> Grey:
    """How much darker each pixel is than the page without its strokes. Tips of wide dark places are no strokes."""
    padded = np.pad(grey, _WIDE, mode="edge")
    level = _least(_most(padded, _WIDE), _WIDE)
    for _ in range(_TIP // 2):  # the dark flows from wide places into what hangs together with them
        level = np.maximum(padded, _least(level, 5))
    return (level - padded)[_WIDE:-_WIDE, _WIDE:-_WIDE]


def _slope(grey: Grey) -> Grey:
    """How much the brightness changes within two pixels, sideways or up and down, whichever is more."""
    values = grey.astype(np.int16)
    slope = np.zeros(grey.shape, np.uint8)
    slope[:, 1:-1] = np.abs(values[:, 2:] - values[:, :-2])
    slope[1:-1] = np.maximum(slope[1:-1], np.abs(values[2:] - values[:-2]))
    return slope


def _most(grey: Grey, side: int) -> Grey:
    """The largest value within a square of `side` pixels around each pixel; `side` is odd."""
    return _slide(_slide(grey, side, np.maximum).T, side, np.maximum).T


def _least(grey: Grey, side: int) -> Grey:
    """As `_most`, the smallest value."""
    return _slide(_slide(grey, side, np.minimum).T, side, np.minimum).T


def _slide(values: Grey, length: int, pick: Callable[..., Grey]) -> Grey:
    """`pick` over windows of `length` rows, by joining ever longer ones: some steps however long they are."""
    rows = values.shape[0]
    window, reach = np.pad(values, ((length // 2, length // 2), (0, 0)), mode="edge"), 1
    while 2 * reach <= length:
        window = pick(window[:-reach], window[reach:])
        reach *= 2
    return pick(window[:rows], window[length - reach:length - reach + rows]) if reach < length else window[:rows]


def _medians(grey: Grey) -> NDArray[np.float32]:
    """The median of every patch, [rows, columns] of patches."""
    height, width = grey.shape
    rows, columns = -(-height // _PATCH), -(-width // _PATCH)
    padded = np.pad(grey, ((0, rows * _PATCH - height), (0, columns * _PATCH - width)), mode="edge")
    patches = padded.reshape(rows, _PATCH, columns, _PATCH).swapaxes(1, 2).reshape(rows, columns, -1)
    return np.median(patches, axis=2).astype(np.float32)


def _spread(patches: NDArray[np.float32], shape: tuple[int, ...]) -> NDArray[np.float32]:
    """A value for every patch as a value for every pixel of a page of `shape`."""
    return patches.repeat(_PATCH, axis=0).repeat(_PATCH, axis=1)[:shape[0], :shape[1]]


def _around(patches: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    """For every patch the values of itself and its eight neighbours, one array for each of the nine."""
    rows, columns = patches.shape
    padded = np.pad(patches, 1, mode="edge")
    return [padded[y:y + rows, x:x + columns] for y in range(3) for x in range(3)]


def _within_neighbours(pixels: Grey) -> Grey:
    """Each pixel no darker or brighter than all its neighbours: specks go, the thinnest line stays."""
    height, width = pixels.shape
    around = np.pad(pixels, 1, mode="edge")
    near = [around[y:y + height, x:x + width] for y in range(3) for x in range(3) if (y, x) != (1, 1)]
    darkest, brightest = near[0].copy(), near[0].copy()
    for shifted in near[1:]:
        np.minimum(darkest, shifted, out=darkest)
        np.maximum(brightest, shifted, out=brightest)
    return np.clip(pixels, darkest, brightest)


def median(values: Grey) -> float:
    """The median, by counting: a third of the time of sorting."""
    reached = np.bincount(values.reshape(-1), minlength=256).cumsum()
    lower, upper = np.searchsorted(reached, ((values.size - 1) // 2, values.size // 2), side="right")
    return float(lower + upper) / 2


def _without_specks(ink: Mask) -> Mask:
    """Ink pixels with at least two ink neighbours."""
    around = np.pad(ink.astype(np.uint8), 1)
    height, width = ink.shape
    neighbours = sum(around[y:y + height, x:x + width] for y in range(3) for x in range(3)) - ink
    kept: Mask = ink & (neighbours >= 2)
    return kept
