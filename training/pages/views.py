"""From a page's ink to the views the model sees, and the labels that belong to each view."""

from __future__ import annotations

import io
import math
import random
from collections.abc import Iterable

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


def wear(page: Image.Image, blocks: list[Block], level: int, rng: random.Random) -> Image.Image:
    """A slight turn, loss of resolution, JPEG: each on some pages. Moves the blocks' points and boxes
    along."""
    if rng.random() < 0.12:
        page = _turn(page, blocks, rng.uniform(-1.6, 1.6))
    if rng.random() < 0.12:
        low, high = {3: (0.75, 0.95), 4: (0.88, 0.98)}.get(level, (0.55, 0.9))
        keep = rng.uniform(low, high)
        small = page.resize((int(page.width * keep), int(page.height * keep)), Image.Resampling.BILINEAR)
        page = small.resize(page.size, Image.Resampling.BICUBIC)
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
    if page.size != (width, height):
        page = page.resize((width, height), Image.Resampling.BICUBIC)
    x, y = round((VIEW - width) / 2), round((VIEW - height) / 2)
    ink = np.zeros((VIEW, VIEW), np.uint8)
    ink[y : y + height, x : x + width] = np.asarray(page)
    return ink, (x, y, width, height)


def local_views(page: Image.Image, grid: tuple[int, int]) -> Bytes:
    """Ink [tiles, 640, 640] of the page stretched over the grid (columns, rows), in row-major order."""
    columns, rows = grid
    mosaic = np.asarray(page.resize((TILE * columns, TILE * rows), Image.Resampling.BICUBIC))
    return mosaic.reshape(rows, TILE, columns, TILE).transpose(0, 2, 1, 3).reshape(-1, TILE, TILE)


def _characters(
    blocks: Iterable[Block], scale: tuple[float, float], shift: tuple[float, float], cells: tuple[int, int]
) -> Iterable[tuple[int, int, int]]:
    """(row, column, class) of every printed character on a lattice of patches (columns, rows)."""
    for block in blocks:
        places = np.asarray(block.points, np.float32) * scale + shift
        lattice = np.clip((places / PATCH).astype(int), 0, (cells[0] - 1, cells[1] - 1)).tolist()
        for char, shown, (column, row) in zip(block.text, block.printed(), lattice, strict=True):
            if shown:
                yield row, column, CLASS_OF[char]


def _label(
    blocks: Iterable[Block], scale: tuple[float, float], shift: tuple[float, float], cells: tuple[int, int]
) -> Bytes:
    labels = np.zeros((cells[1], cells[0], SLOTS), np.uint8)
    filled: dict[tuple[int, int], int] = {}
    for row, column, kind in _characters(blocks, scale, shift, cells):
        slot = filled.get((row, column), 0)
        if slot < SLOTS:
            labels[row, column, slot] = kind
            filled[row, column] = slot + 1
    return labels


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
