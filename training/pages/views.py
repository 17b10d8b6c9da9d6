"""From a page's ink to the views the model sees, and the labels that belong to each view."""

from __future__ import annotations

import io
import math
import random
from collections.abc import Iterable
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from training.charset import CLASS_OF
from training.config import PATCH, TILE, VIEW
from training.pages.kinds import fitted
from training.targets import Block, Point

SLOTS = 3
"""Characters remembered for each 16-pixel patch, in reading order."""

Bytes = NDArray[np.uint8]

_BANDS = 4
"""Of a CMYK picture, which Pillow resizes as they are."""

_CLASSES: Bytes = np.zeros(max(map(ord, CLASS_OF)) + 2, np.uint8)
"""Classes by code point, 0 where there is none."""
for _char, _class in CLASS_OF.items():
    _CLASSES[ord(_char)] = _class


def resized(page: Image.Image, size: tuple[int, int], filter_: Image.Resampling = Image.Resampling.BICUBIC) -> Bytes:
    """Ink [height, width] of a page of ink (mode L) as Pillow resizes it: first across, then down, rounded in between.
    Rows without ink need not be resized across, nor columns without ink down; and going down, four columns side by
    side are one pixel of four bands, which Pillow resizes faster than four pixels of one."""
    (width, height), ink = size, np.asarray(page)
    rows = np.flatnonzero(ink.max(axis=1))
    ink = ink[rows]
    if width != page.width and len(rows):
        ink = np.asarray(Image.fromarray(ink).resize((width, len(rows)), filter_))
    columns = np.flatnonzero(ink.max(axis=0, initial=0))
    out = np.zeros((height, width), np.uint8)
    if len(columns):
        left, right = columns[0], columns[-1] + 1
        pixels = -(-(right - left) // _BANDS)
        strip = np.zeros((page.height, pixels * _BANDS), np.uint8)
        strip[rows, : right - left] = ink[:, left:right]
        if height != page.height:
            banded = Image.frombuffer("CMYK", (pixels, page.height), strip, "raw", "CMYK", 0, 1)
            strip = np.asarray(banded.resize((pixels, height), filter_)).reshape(height, -1)
        out[:, left:right] = strip[:, : right - left]
    return out


def wear(page: Image.Image, blocks: list[Block], level: int, rng: random.Random) -> Image.Image:
    """A slight turn, loss of resolution, JPEG: each on some pages. Moves the blocks' points and boxes
    along."""
    if rng.random() < 0.12:
        page = _turn(page, blocks, rng.uniform(-1.6, 1.6))
    if rng.random() < 0.12:
        low, high = {3: (0.75, 0.95), 4: (0.88, 0.98)}.get(level, (0.55, 0.9))
        keep = rng.uniform(low, high)
        small = resized(page, (int(page.width * keep), int(page.height * keep)), Image.Resampling.BILINEAR)
        page = Image.fromarray(resized(Image.fromarray(small), page.size))
    if rng.random() < 0.06:
        coded = io.BytesIO()
        page.save(coded, "JPEG", quality=rng.randint(25, 70) if level < 4 else rng.randint(50, 85))
        page = Image.open(coded)
    return page


def _turn(page: Image.Image, blocks: list[Block], degrees: float) -> Image.Image:
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    cx, cy = page.width / 2, page.height / 2

    def moved(x: float, y: float) -> Point:
        return cx + (x - cx) * cos + (y - cy) * sin, cy - (x - cx) * sin + (y - cy) * cos

    for block in blocks:
        block.points = [moved(*point) for point in block.points]
        x0, y0, x1, y1 = block.box
        xs, ys = zip(*(moved(x, y) for x in (x0, x1) for y in (y0, y1)), strict=True)
        block.box = (min(xs), min(ys), max(xs), max(ys))
    return page.rotate(degrees, Image.Resampling.BILINEAR)


def global_view(page: Image.Image) -> tuple[Bytes, tuple[int, int, int, int]]:
    """Ink [1024, 1024] of the page fitted and centred, and the rectangle (x, y, w, h) it fills."""
    width, height = fitted(*page.size)
    x, y = round((VIEW - width) / 2), round((VIEW - height) / 2)
    ink = np.zeros((VIEW, VIEW), np.uint8)
    ink[y : y + height, x : x + width] = (
        np.asarray(page) if page.size == (width, height) else resized(page, (width, height))
    )
    return ink, (x, y, width, height)


def local_views(page: Image.Image, grid: tuple[int, int]) -> Bytes:
    """Ink [tiles, 640, 640] of the page stretched over the grid (columns, rows), in row-major order."""
    columns, rows = grid
    mosaic = resized(page, (TILE * columns, TILE * rows))
    return mosaic.reshape(rows, TILE, columns, TILE).transpose(0, 2, 1, 3).reshape(-1, TILE, TILE)


def _characters(
    blocks: Iterable[Block], scale: tuple[float, float], shift: tuple[float, float], cells: tuple[int, int]
) -> tuple[NDArray[np.intp], Bytes]:
    """Patch and class of every printed character, in order; patches of a lattice (columns, rows) are counted row by
    row."""
    patches, kinds = [np.zeros(0, np.intp)], [np.zeros(0, np.uint8)]
    for block in blocks:
        count = len(block.points)
        points = np.fromiter(chain.from_iterable(block.points), np.float32, 2 * count).reshape(count, 2)
        lattice = np.clip(((points * scale + shift) / PATCH).astype(int), 0, (cells[0] - 1, cells[1] - 1))
        shown = block.printed()
        codes = block.codes()[shown]
        found = _CLASSES[np.minimum(codes, len(_CLASSES) - 1)]
        if not found.all():
            raise KeyError(f"no class for character {chr(codes[found.argmin()])!r}")
        patches.append((lattice[:, 1] * cells[0] + lattice[:, 0])[shown])
        kinds.append(found)
    return np.concatenate(patches), np.concatenate(kinds)


def _label(
    blocks: Iterable[Block], scale: tuple[float, float], shift: tuple[float, float], cells: tuple[int, int]
) -> Bytes:
    patches, kinds = _characters(blocks, scale, shift, cells)
    labels = np.zeros((cells[1] * cells[0], SLOTS), np.uint8)
    order = np.argsort(patches, kind="stable")  # characters of a patch stay in reading order
    patches, kinds = patches[order], kinds[order]
    begins = np.flatnonzero(np.diff(patches, prepend=-1))
    slots = np.arange(len(patches)) - np.repeat(begins, np.diff(begins, append=len(patches)))
    kept = slots < SLOTS
    labels[patches[kept], slots[kept]] = kinds[kept]
    return labels.reshape(cells[1], cells[0], SLOTS)


def global_labels(blocks: list[Block], size: tuple[int, int], rect: tuple[int, int, int, int]) -> Bytes:
    """Character classes [64, 64, SLOTS] of the global view's patches; 0 = nothing."""
    x, y, width, height = rect
    return _label(blocks, (width / size[0], height / size[1]), (x, y), (VIEW // PATCH, VIEW // PATCH))


def local_labels(blocks: list[Block], size: tuple[int, int], grid: tuple[int, int]) -> Bytes:
    """Character classes [tiles, 40, 40, SLOTS] of the crops' patches."""
    (columns, rows), cells = grid, TILE // PATCH
    scale = (TILE * columns / size[0], TILE * rows / size[1])
    labels = _label(blocks, scale, (0, 0), (columns * cells, rows * cells))
    return labels.reshape(rows, cells, columns, cells, SLOTS).transpose(0, 2, 1, 3, 4).reshape(-1, cells, cells, SLOTS)
