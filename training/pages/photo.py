"""A sheet seen at an angle: the ink in perspective on a darker ground. Shadow and light come later, on the device."""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from training.targets import Block, Point

_MOST_INSET = 0.065
"""How far a corner of the sheet moves inwards, as a share of the page's side."""


def perspective(source: list[Point], target: list[Point]) -> NDArray[np.float64]:
    """The 3 x 3 matrix (last element 1) that takes four points to four others."""
    rows, right = [], []
    for (x, y), (u, v) in zip(source, target, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        right += [u, v]
    return np.append(np.linalg.solve(np.array(rows, np.float64), np.array(right, np.float64)), 1.0).reshape(3, 3)


def _moved(matrix: NDArray[np.float64], points: list[Point]) -> list[Point]:
    places = np.column_stack([np.asarray(points, np.float64).reshape(-1, 2), np.ones(len(points))]) @ matrix.T
    return [(float(x), float(y)) for x, y in places[:, :2] / places[:, 2:]]


def photograph(page: Image.Image, blocks: list[Block], rng: random.Random) -> Image.Image:
    """The page as a camera sees it; points and boxes of the blocks move along. The ground counts as ink of a middle
    strength, so that it is darker than the paper and lighter than the print."""
    width, height = page.size
    corners: list[Point] = [(0, 0), (width, 0), (width, height), (0, height)]
    inward = ((1, 1), (-1, 1), (-1, -1), (1, -1))
    seen = [
        (x + sx * rng.uniform(0, _MOST_INSET) * width, y + sy * rng.uniform(0, _MOST_INSET) * height)
        for (x, y), (sx, sy) in zip(corners, inward, strict=True)
    ]
    matrix, back = perspective(corners, seen), perspective(seen, corners)
    for block in blocks:
        block.points = _moved(matrix, block.points)
        x0, y0, x1, y1 = block.box
        xs, ys = zip(*_moved(matrix, [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]), strict=True)
        block.box = (min(xs), min(ys), max(xs), max(ys))
    ground = rng.choice((0, rng.randint(60, 220)))
    return page.transform(
        page.size, Image.Transform.PERSPECTIVE, back.ravel()[:8].tolist(), Image.Resampling.BICUBIC, fillcolor=ground
    )
