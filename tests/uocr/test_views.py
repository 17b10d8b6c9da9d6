"""Views: the right pixels in the right order, and their counts."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from uocr.errors import InvalidRequest, ModelFileError
from uocr.golden.pictures import stored
from uocr.sources import open_source
from uocr.views import PRESETS, Preset, crop_grid, get_preset, make_views, model_preset, plan_views, visual_tokens

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "preprocess.json").read_text())
PAGES = {entry["name"]: entry for entry in GOLDEN["images"]}
ONE_PAGE = [case for case in GOLDEN["cases"] if isinstance(case["image"], str)]


@lru_cache(maxsize=2)
def page(name: str) -> Image.Image:
    return open_source(stored("open", name), compat="upstream").page(0).image


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("name", PAGES)
def test_upstream_pixels_of_every_stored_mode(name: str):
    source = open_source(stored("open", name), compat="upstream")
    assert list(source.page_size(0)) == PAGES[name]["rgb_size"]
    assert sha(source.page(0).image.tobytes()) == PAGES[name]["rgb_sha256"]


@pytest.mark.parametrize("case", ONE_PAGE, ids=lambda c: f"{c['image']}-{c['mode']}")
def test_views_are_those_of_the_published_code(case: dict[str, Any]):
    preset = Preset(case["mode"], case["base_size"], crops=case["crop_mode"])
    if case["mode"] in PRESETS:
        assert preset == PRESETS[case["mode"]]
    views = make_views(page(case["image"]), preset)
    assert [views.crop_cols, views.crop_rows] == case["crop_grid_w_h"]
    assert views.visual_tokens == case["visual_tokens"]
    assert len(views.views) == case["n_views"] == views.plan.view_count
    made = [sha(view.tobytes()) for view in views.views]
    listed = [view["sha256_rgb_uint8"] for view in case["views"]]  # upstream lists the global view first
    assert made == [*listed[1:], listed[0]]
    for index, view in enumerate(views.views[-2:], len(made[:-2])):
        assert view.dtype == np.uint8 and view.shape == (views.plan.view_size(index),) * 2 + (3,)


def test_several_pages_are_one_base_view_each():
    case = next(c for c in GOLDEN["cases"] if c["mode"] == "multi")
    views = [make_views(page(name), "multi-page") for name in case["image"]]
    assert [sha(v.views[0].tobytes()) for v in views] == [v["sha256_rgb_uint8"] for v in case["views"]]
    assert sum(v.visual_tokens for v in views) == case["visual_tokens"] == 546


@pytest.mark.parametrize(("width", "height", "grid"), GOLDEN["grid_search"]["rows"])
def test_grid_search(width: int, height: int, grid: list[int]):
    assert list(crop_grid(width, height)) == grid


@pytest.mark.parametrize(("width", "height", "grid", "tokens"), [
    (600, 400, (1, 1), 273),
    (1000, 1000, (2, 2), 693),
    (1654, 2339, (2, 3), 903),
    (2550, 3300, (3, 4), 1513),
    (2480, 3508, (4, 6), 2733),
    (1920, 1080, (7, 4), 3113),
    (641, 100, (13, 2), 2893),
    (100, 5000, (1, 32), 3793),
])
def test_gundam_plan(width: int, height: int, grid: tuple[int, int], tokens: int):
    plan = plan_views(width, height, "gundam")
    assert (plan.crop_cols, plan.crop_rows) == grid
    assert plan.visual_tokens == tokens


@pytest.mark.parametrize(("size", "tokens"), [(512, 73), (640, 111), (1024, 273), (1280, 421)])
def test_visual_tokens_of_one_view(size: int, tokens: int):
    assert visual_tokens(size) == tokens


def cells(cols: int, rows: int, side: int) -> tuple[Image.Image, np.ndarray]:
    """A page of `cols` x `rows` cells, each of its own colour, and the colours [rows, cols, 3]."""
    numbers = np.arange(cols * rows).reshape(rows, cols)
    colours = np.dstack([numbers * 7 % 256, 255 - numbers * 5 % 256, numbers * 37 % 256]).astype(np.uint8)
    return Image.fromarray(np.kron(colours, np.ones((side, side, 1), np.uint8))), colours


@pytest.mark.parametrize(("cols", "rows", "grid"), [(4, 4, (4, 4)), (2, 6, (2, 6)), (6, 2, (6, 2))],
                         ids=["1:1", "1:3", "3:1"])
def test_crops_run_row_by_row_over_numbered_cells(cols: int, rows: int, grid: tuple[int, int]):
    image, colours = cells(cols, rows, 500)
    views = make_views(image, "gundam")
    assert (views.crop_cols, views.crop_rows) == grid
    centres = [tuple(view[320, 320]) for view in list(views.views)[:-1]]
    assert centres == [tuple(colour) for colour in colours.reshape(-1, 3)]


@pytest.mark.parametrize(("cols", "rows", "rect"), [
    (4, 4, (0, 0, 1024, 1024)),
    (2, 6, (342, 0, 683, 1024)),  # 341 wide; the gap of 683 halves to 341.5 and rounds to the even 342
    (6, 2, (0, 342, 1024, 683)),
], ids=["1:1", "1:3", "3:1"])
def test_the_global_view_keeps_aspect_and_order(cols: int, rows: int, rect: tuple[int, int, int, int]):
    image, colours = cells(cols, rows, 500)
    views = make_views(image, "base")
    assert views.page_rect == rect
    left, top, right, bottom = rect
    view = views.views[0]
    for row in range(rows):
        for col in range(cols):
            x = left + (2 * col + 1) * (right - left) // (2 * cols)
            y = top + (2 * row + 1) * (bottom - top) // (2 * rows)
            assert tuple(view[y, x]) == tuple(colours[row, col])
    outside = np.ones((1024, 1024), bool)
    outside[top:bottom, left:right] = False
    assert (view[outside] == 127).all()


@pytest.mark.parametrize("preset", ["tiny", "small"])
def test_small_presets_fill_the_square_whatever_the_aspect(preset: str):
    views = make_views(Image.new("RGB", (300, 100), "white"), preset)
    assert views.page_rect == (0, 0, views.global_size, views.global_size)
    assert (views.views[0] == 255).all()


@pytest.mark.parametrize(("size", "rect", "grid"), [
    ((1, 1), (0, 0, 1024, 1024), (1, 1)),
    ((10, 4000), (510, 0, 513, 1024), (1, 32)),
    ((20000, 64), (0, 510, 1024, 513), (32, 1)),
    ((1, 4000), (512, 0, 513, 1024), (1, 32)),  # 0.256 pixels wide when scaled: one is kept
])
def test_tiny_and_extreme_pages_keep_at_least_one_pixel(
        size: tuple[int, int], rect: tuple[int, int, int, int], grid: tuple[int, int]):
    image = Image.new("RGB", size, (9, 9, 9))
    base = make_views(image, "base")
    assert base.page_rect == rect
    left, top, right, bottom = rect
    assert (base.views[0][top:bottom, left:right] == 9).all()
    gundam = make_views(image, "gundam")
    assert (gundam.crop_cols, gundam.crop_rows) == grid
    assert all((view == 9).all() for view in list(gundam.views)[:-1])


def test_a_page_of_640_is_not_cropped_and_one_pixel_more_is():
    assert plan_views(640, 640, "gundam").crop_count == 0
    assert plan_views(641, 640, "gundam").crop_count == 4


def test_a_plan_equals_what_is_made():
    image = Image.new("RGB", (1400, 900))
    for name in PRESETS:
        assert make_views(image, name).plan == plan_views(1400, 900, name)


def test_views_may_be_asked_for_in_any_order():
    image, _ = cells(3, 2, 400)
    forwards = list(make_views(image, "gundam").views)
    views = make_views(image, "gundam").views
    for index in reversed(range(len(views))):
        assert (views[index] == forwards[index]).all()
    assert (views[-1] == forwards[-1]).all()
    with pytest.raises(IndexError):
        views[len(views)]


def test_crop_rects_cover_the_page():
    plan = plan_views(1000, 1500, "gundam")
    rects = [plan.crop_rect(i) for i in range(plan.crop_count)]
    assert rects == [(0, 0, 500, 500), (500, 0, 1000, 500), (0, 500, 500, 1000), (500, 500, 1000, 1000),
                     (0, 1000, 500, 1500), (500, 1000, 1000, 1500)]
    with pytest.raises(IndexError):
        plan.crop_rect(6)


def test_crops_of_another_size_are_refused():
    with pytest.raises(InvalidRequest, match=r"512 .* only crops of 640"):
        Preset("gundam", 1024, crops=True, crop_size=512)


@pytest.mark.parametrize("size", [0, 1000, -64])
def test_view_sizes_that_make_no_whole_tokens_are_refused(size: int):
    with pytest.raises(InvalidRequest, match=f"{size} .* multiple of 64"):
        Preset("mine", size)


def test_unknown_presets_name_the_known_ones():
    with pytest.raises(InvalidRequest, match=r"'huge'.*tiny, small, base, large, gundam, multi-page"):
        get_preset("huge")


def test_only_rgb_pictures_with_pixels_make_views():
    with pytest.raises(InvalidRequest, match="mode RGBA"):
        make_views(Image.new("RGBA", (10, 10)), "base")
    with pytest.raises(InvalidRequest, match="0 x 10"):
        plan_views(0, 10, "base")


TRAINED = {"crop_grids": [[1, 2], [2, 1], [2, 2], [2, 3], [3, 2], [3, 4]]}


@pytest.mark.parametrize(("size", "any_grid", "trained"), [
    ((2480, 3508), (4, 6), (2, 3)),  # A4 at 300 dpi
    ((3508, 2480), (4, 3), (3, 2)),
    ((2550, 3300), (3, 4), (3, 4)),  # US letter
    ((1654, 2339), (2, 3), (2, 3)),  # A4 at 200 dpi
    ((1920, 1080), (7, 4), (2, 1)),
    ((1080, 2340), (3, 7), (1, 2)),
    ((4032, 3024), (4, 3), (3, 2)),
    ((9000, 700), (13, 1), (2, 1)),
])
def test_a_model_takes_the_nearest_of_the_grids_it_was_trained_with(
        size: tuple[int, int], any_grid: tuple[int, int], trained: tuple[int, int]) -> None:
    assert crop_grid(*size) == any_grid
    plan = plan_views(*size, model_preset(TRAINED, "gundam"))
    assert (plan.crop_cols, plan.crop_rows) == trained
    assert plan_views(*size, model_preset(TRAINED, plan.preset)) == plan


def test_presets_without_crops_and_models_without_grids_stay_as_they_are() -> None:
    assert model_preset(TRAINED, "base") is PRESETS["base"]
    assert model_preset({}, "gundam") is PRESETS["gundam"]
    assert plan_views(640, 480, model_preset(TRAINED, "gundam")).crop_count == 0
    with pytest.raises(InvalidRequest, match="huge"):
        model_preset(TRAINED, "huge")


@pytest.mark.parametrize("grids", [[[1, 1]], [[6, 6]], [[2]], [2, 3], "2x3", [["2", 3]], {"2": 3}, [[2, 3, 1]]])
def test_grids_that_are_none_are_refused(grids: object) -> None:
    with pytest.raises(ModelFileError, match="grids of crops; each must be"):
        model_preset({"crop_grids": grids}, "gundam")
