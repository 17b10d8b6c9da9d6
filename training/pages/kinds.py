"""The kinds of page: how dense, and through which views the model will see it."""

from __future__ import annotations

from dataclasses import dataclass

from training.config import TILE, VIEW


@dataclass(frozen=True)
class Density:
    """Body size in pixels of the view the text is read from, and how many characters a page holds at most."""

    font: tuple[int, int]
    base: int
    crops: int


DENSITIES = (
    Density((44, 84), 130, 260),
    Density((32, 52), 450, 900),
    Density((25, 38), 1100, 1900),
    Density((17, 28), 1900, 2700),
    Density((12, 17), 2500, 2700),
)
SMALLEST = len(DENSITIES) - 1
BLANK = len(DENSITIES)
"""Level of a page on which nothing is readable."""

MICRO_PX = (4.0, 8.5)
"""Text of this size (view pixels) counts as unreadable and maps to nothing."""

GENRES = ("prose", "document", "table", "printed", "office")
"""What a page is like: titles and paragraphs; all elements of documents; tables above all; a page of a real document,
whose print has the size it happens to have (the level says only whether the page is blank; for training only); a sheet
of an office program, mostly filled in part."""

GRIDS = ((2, 3), (3, 4), (2, 2), (3, 2), (1, 2), (2, 1), (1, 3), (5, 3))
"""Crop grids (columns, rows) that are trained: A4 at 200 dpi, US letter, ..., paper lying (3x2), receipts, screens. A
page that calls for another is read through the nearest of them."""

SHAPES = {(3, 2): (2**0.5, 11 / 8.5, 4 / 3), (5, 3): (16 / 9, 16 / 10)}
"""How many times as wide as high pages are that these grids stand for: A4 and letter lying, screens. Half of training's
pages of a grid have one of its shapes."""


@dataclass(frozen=True)
class Kind:
    """A level of density (or BLANK) and a crop grid; grid None is the base preset. Clean pages carry no
    unreadable matter and short paragraphs: the distribution of the first held-out set, kept so that legs
    can be compared."""

    level: int
    grid: tuple[int, int] | None = None
    clean: bool = False
    genre: str = "prose"


_MOST_TILES = 32
_CANDIDATES = sorted(
    ((w, h) for w in range(1, _MOST_TILES + 1) for h in range(1, _MOST_TILES + 1) if 2 <= w * h <= _MOST_TILES),
    key=lambda pair: pair[0] * pair[1],
)


def crop_grid(width: int, height: int) -> tuple[int, int]:
    """Crop grid (columns, rows) of the gundam preset for an image; (1, 1) when no crops are made."""
    if width <= TILE and height <= TILE:
        return 1, 1
    best, answer = float("inf"), (1, 1)
    for columns, rows in _CANDIDATES:
        distance = abs(width / height - columns / rows)
        larger = distance == best and width * height > 0.5 * TILE * TILE * columns * rows
        if distance < best or larger:
            best, answer = distance, (columns, rows)
    return answer


def fitted(width: int, height: int, side: int = VIEW) -> tuple[int, int]:
    """Size of an image fitted into a square view, aspect kept (Pillow's rounding)."""
    if width >= height:
        return side, max(1, round(height / width * side))
    return max(1, round(width / height * side)), side
