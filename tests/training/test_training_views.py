"""Pages of ink are resized to the pixel as Pillow resizes them, whatever is on them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from training.pages.views import global_view, local_views, resized

RNG = np.random.default_rng(11)


def page(width: int, height: int, kind: str) -> Image.Image:
    """Ink everywhere, in lines between margins, in one pixel at a corner, or nowhere."""
    ink: NDArray[np.uint8] = np.zeros((height, width), np.uint8)
    noise = RNG.integers(0, 256, ink.shape, np.uint8)
    if kind == "full":
        ink = noise
    elif kind == "lines":
        for top in range(height // 9, height - 20, 31):
            ink[top : top + 17, width // 7 : -width // 5] = noise[top : top + 17, width // 7 : -width // 5]
    elif kind == "corner":
        ink[-1, -1] = 255
    return Image.fromarray(ink)


@pytest.mark.parametrize("kind", ["full", "lines", "corner", "empty"])
@pytest.mark.parametrize("filter_", [Image.Resampling.BICUBIC, Image.Resampling.BILINEAR])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((201, 303), (128, 190)),
        ((201, 303), (311, 402)),
        ((200, 300), (200, 177)),
        ((200, 300), (173, 300)),
        ((200, 300), (200, 300)),
        ((97, 64), (1, 1)),
        ((3, 5), (64, 31)),
    ],
)
def test_resized_pages_are_those_of_pillow(
    before: tuple[int, int], after: tuple[int, int], filter_: Image.Resampling, kind: str
) -> None:
    picture = page(*before, kind)
    assert np.array_equal(resized(picture, after, filter_), np.asarray(picture.resize(after, filter_)))


def test_views_are_the_page_resized_by_pillow() -> None:
    picture = page(1290, 1861, "lines")
    ink, (x, y, width, height) = global_view(picture)
    wanted = np.asarray(picture.resize((width, height), Image.Resampling.BICUBIC))
    assert np.array_equal(ink[y : y + height, x : x + width], wanted)
    assert int(ink.sum()) == int(wanted.sum())
    mosaic = np.asarray(picture.resize((1280, 1920), Image.Resampling.BICUBIC))
    tiles = local_views(picture, (2, 3))
    for number, tile in enumerate(tiles):
        row, column = divmod(number, 2)
        assert np.array_equal(tile, mosaic[row * 640 : row * 640 + 640, column * 640 : column * 640 + 640])
    assert len(tiles) == 6
