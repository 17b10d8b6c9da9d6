"""Generated pages and their targets: what is drawn is what must be written."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from training.charset import CHARSET
from training.fonts import family_of
from training.pages import GRIDS, Kind, PageMaker
from training.pages.ink import Box, FontShelf
from training.pages.kinds import BLANK, SHAPES, SMALLEST, crop_grid, fitted
from training.pages.maker import MOST_TOKENS
from training.smoke import smoke_pack
from training.targets import Block, Vocabulary
from training.texts import clean, plain_manual


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return smoke_pack(tmp_path_factory.mktemp("training") / "pack")


@pytest.mark.parametrize(
    ("size", "grid"),
    [
        ((600, 400), (1, 1)),
        ((1000, 1000), (2, 2)),
        ((1654, 2339), (2, 3)),
        ((2550, 3300), (3, 4)),
        ((2480, 3508), (4, 6)),
        ((1920, 1080), (7, 4)),
        ((641, 100), (13, 2)),
        ((100, 5000), (1, 32)),
    ],
)
def test_crop_grid_follows_the_rule_of_the_format(size: tuple[int, int], grid: tuple[int, int]) -> None:
    assert crop_grid(*size) == grid


def test_a_page_is_fitted_with_its_aspect_kept() -> None:
    assert fitted(2480, 3508) == (724, 1024)
    assert fitted(1000, 500) == (1024, 512)


def test_a_target_is_written_in_the_output_grammar() -> None:
    vocabulary = Vocabulary(Path(__file__).parents[2] / "training" / "tokenizer.json")
    block = Block("title", "Ab 12", [(10.0 * i, 5.0) for i in range(5)], (10, 0, 50, 20))
    target = vocabulary.target([block], 100, 200)
    assert vocabulary.decode(target.ids) == "<|det|>title [100, 0, 500, 100]<|/det|>Ab 12\n"
    assert target.ids[-1] == vocabulary.end
    assert len(target.points) == len(target.ids)


def test_a_page_with_nothing_to_read_is_the_end_token_alone(pack: Path) -> None:
    maker = PageMaker(pack, "train", 5)
    samples = [maker.sample(Kind(BLANK)) for _ in range(12)]
    assert all(sample.ids.tolist() == [1] and not sample.blocks for sample in samples)
    assert any(sample.view.any() for sample in samples), "some blank pages carry unreadable matter"
    assert any(not sample.view.any() for sample in samples), "some are empty"


@pytest.mark.parametrize("kind", [Kind(0), Kind(3), Kind(SMALLEST), Kind(2, (2, 3)), Kind(1, (1, 2))])
def test_text_boxes_and_labels_of_a_page_agree(pack: Path, kind: Kind) -> None:
    sample = PageMaker(pack, "train", 7).sample(kind)
    x, y, width, height = sample.rect
    assert 0 < len(sample.ids) <= MOST_TOKENS
    assert len(sample.places) == len(sample.ids)
    assert sample.blocks
    inside = np.zeros(sample.view.shape, bool)
    inside[y : y + height, x : x + width] = True
    assert not sample.view[~inside].any(), "no ink outside the page"
    wanted = {CHARSET.index(char) + 1 for block in sample.blocks for char in block.text if char != " "}
    assert set(np.unique(sample.labels)) - {0} <= wanted
    assert sample.labels.any()
    if kind.grid is None:
        assert sample.tiles is None
    else:
        assert sample.tiles is not None and sample.tile_labels is not None
        assert sample.tiles.shape == (kind.grid[0] * kind.grid[1], 640, 640)
        assert set(np.unique(sample.tile_labels)) - {0} <= wanted


def test_the_same_seed_makes_the_same_page(pack: Path) -> None:
    first, second = (PageMaker(pack, "test", 3).sample(Kind(2, clean=True)) for _ in range(2))
    assert np.array_equal(first.view, second.view)
    assert first.ids.tolist() == second.ids.tolist()
    other = PageMaker(pack, "test", 4).sample(Kind(2, clean=True))
    assert first.ids.tolist() != other.ids.tolist()


class EvenFont:
    """A font whose letters are all half as wide as high, so that pages are the same with every version of FreeType."""

    def __init__(self, size: int) -> None:
        self.size, self.space = size, size / 2

    def advance(self, char: str) -> float:
        return self.size / 2

    def length(self, text: str) -> float:
        return self.size / 2 * len(text)

    def stamp(self, page: Image.Image, x: int, baseline: int, text: str) -> tuple[Box, list[float]]:
        middles = [x + self.size * (n + 0.5) / 2 for n in range(len(text))]
        return (x, baseline - self.size, x + self.length(text), baseline), middles

    write = stamp


HELD_OUT_KINDS = [
    *(Kind(level, clean=True) for level in (0, 2, 3)),
    *(Kind(level, grid, genre="document") for level, grid in ((1, None), (2, None), (3, None), (3, (2, 3)), (4, None))),
    *(Kind(level, grid, genre="table") for level, grid in ((1, None), (3, (2, 2)))),
]


@pytest.mark.parametrize(
    ("split", "digest"),
    [
        ("test", "132e865812023616"),
        ("prose", "132e865812023616"),
        ("added", "61aefd931fd16c17"),
    ],
)
def test_held_out_pages_are_what_they_always_were(
    pack: Path, split: str, digest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is drawn and what is drawn at random: figures of legs are comparable only as long as this holds."""
    monkeypatch.setattr(FontShelf, "sized", lambda self, face, size: EvenFont(size))
    seen = hashlib.sha256()
    for seed in range(4):
        maker = PageMaker(pack, split, seed)
        for kind in HELD_OUT_KINDS:
            page, blocks, level = maker._drawn(kind)
            places = [(block.label, block.text, [[round(v, 3) for v in p] for p in block.points]) for block in blocks]
            seen.update(repr((page.size, level, places, round(maker.rng.random(), 9))).encode())
    assert seen.hexdigest()[:16] == digest


def test_every_trained_grid_is_reached_by_some_page(pack: Path) -> None:
    maker = PageMaker(pack, "train", 1)
    for grid in GRIDS:
        for _ in range(12):
            width, height, unit = maker._page_size(Kind(3, grid))
            assert _nearest(width / height) == grid
            assert 0.7 < unit < 1.3


def _nearest(aspect: float) -> tuple[int, int]:
    """The trained grid that a page of an aspect is read through."""
    return min(GRIDS, key=lambda grid: abs(aspect - grid[0] / grid[1]))


def test_half_the_pages_of_lying_grids_have_the_shape_of_paper_or_of_a_screen(pack: Path) -> None:
    train, held_out = PageMaker(pack, "train", 2), PageMaker(pack, "test", 2)
    for grid, aspect in (((5, 3), 16 / 9), ((3, 2), 2**0.5)):
        seen = [train._page_size(Kind(3, grid)) for _ in range(200)]
        assert 20 < sum(abs(width / height / aspect - 1) < 0.016 for width, height, _ in seen) < 100
        assert all(_nearest(shape) == grid for shape in SHAPES[grid])
        sizes = [held_out._page_size(Kind(3, grid)) for _ in range(50)]
        assert {crop_grid(width, height) for width, height, _ in sizes} == {grid}, "held-out pages stay what they were"


def test_some_pages_of_screens_are_light_on_dark_in_all_their_views(pack: Path) -> None:
    maker, dark = PageMaker(pack, "train", 3), 0
    for _ in range(24):
        sample = maker.sample(Kind(1, (5, 3)))
        x, y, width, height = sample.rect
        assert sample.tiles is not None
        view, tiles = sample.view[y : y + height, x : x + width].mean(), sample.tiles.mean()
        assert abs(view - tiles) < 25, "crops and global view show the same page"
        assert not sample.view[: y - 1].any(), "what lies around the page is no part of it"
        dark += view > 128
    assert 2 < dark < 18


def test_text_is_folded_into_the_character_set() -> None:
    assert clean("a\u00a0b\t漢c  d\u2011e!!!!!!!") == "a b c d-e!!!"
    assert plain_manual(".TH X 1\n.B bold\nplain \\fItext\\fR \\- dash\n").split() == [
        "bold",
        "plain",
        "text",
        "-",
        "dash",
    ]


def test_families_are_told_apart_where_a_folder_holds_several() -> None:
    assert family_of(Path("/f/urw-base35/NimbusSans-Bold.otf")) == "NimbusSans"
    assert family_of(Path("/f/roboto/slab/RobotoSlab-Regular.ttf")) == "robotoslab"
    assert family_of(Path("/f/ebgaramond/EBGaramond12-Regular.otf")) == "ebgaramond"
