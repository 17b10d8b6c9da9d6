"""Pictures of screens and sheets to tick: panels read from the left, nothing written for signs and boxes."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from training import fonts
from training.charset import CHARSET
from training.pages.ink import FontShelf
from training.pages.office import OfficeSetter
from training.pages.sheet import Sheet
from training.smoke import smoke_pack
from training.targets import Block
from training.words import Words

WIDE = (1600, 900)


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return smoke_pack(tmp_path_factory.mktemp("training") / "pack")


def _setter(pack: Path, seed: int, split: str = "train") -> OfficeSetter:
    rng = random.Random(seed)
    return OfficeSetter(rng, FontShelf(pack, fonts.load(pack, split), rng), Words(pack, split, rng), 0.6)


def _sheet(setter: OfficeSetter, size: tuple[int, int], body: int = 16) -> Sheet:
    return setter.sheet(Image.new("L", size), body, 4000, 1)


def _overlap(a: Block, b: Block) -> float:
    """Pixels by which two blocks' boxes reach into each other, the smaller of both directions."""
    return min(min(a.box[n + 2], b.box[n + 2]) - max(a.box[n], b.box[n]) for n in (0, 1))


def test_blocks_of_a_screen_stand_on_it_and_apart(pack: Path) -> None:
    setter = _setter(pack, 1)
    for _ in range(40):
        blocks = setter.screen(Image.new("L", WIDE), 16, 4000)
        for block in blocks:
            assert len(block.points) == len(block.text)
            assert {*block.text} <= {*CHARSET, " ", "\n"}
            x0, y0, x1, y1 = block.box
            assert x0 >= 0 and y0 >= 0 and x1 <= WIDE[0] and y1 <= WIDE[1], block.text
        for one, other in combinations(blocks, 2):
            assert _overlap(one, other) < 9, f"{one.text!r} and {other.text!r} overlap"


def test_characters_of_screens_stand_out_from_light_and_from_dark_ground(pack: Path) -> None:
    setter, dark, shown = _setter(pack, 2), 0, list[bool]()
    for _ in range(40):
        page = Image.new("L", WIDE)
        blocks = setter.screen(page, 16, 4000)
        ink = np.asarray(page)
        dark += ink.mean() > 128
        for block in blocks:
            for (x, y), printed in zip(block.points, block.printed(), strict=True):
                if printed:
                    around = ink[max(0, int(y) - 8) : int(y) + 9, max(0, int(x) - 8) : int(x) + 9]
                    shown.append(int(around.max()) - int(around.min()) > 90)
    assert np.mean(shown) > 0.98
    assert 3 < dark < 30


def test_panels_side_by_side_are_read_one_after_the_other(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setter, both = _setter(pack, 3), 0
    areas: list[tuple[int, int, int, int]] = []
    divided = setter._divided
    monkeypatch.setattr(setter, "_divided", lambda sheet, shares: areas.extend(divided(sheet, shares)) or areas)
    for body in (setter._mail, setter._program, setter._editor) * 8:
        areas.clear()
        sheet = _sheet(setter, WIDE)
        blocks = setter._within(sheet, (0, 60, *WIDE), body)
        places = [next(n for n, area in enumerate(areas) if block.box[0] < area[2]) for block in blocks]
        assert places == sorted(places), "a panel is read to its end before the next begins"
        for block, place in zip(blocks, places, strict=True):
            assert block.box[2] <= areas[place][2] + 4, f"{block.text!r} reaches into the next panel"
        both += len(set(places)) > 1
    assert both > 10


def test_bars_are_read_before_what_stands_below_them(pack: Path) -> None:
    setter, titled = _setter(pack, 4), 0
    for _ in range(30):
        sheet = _sheet(setter, WIDE)
        bars: list[Block] = []
        bar = setter._title_bar(sheet, (0, 0, *WIDE))
        bars += bar[0]
        setter._title_bar = lambda sheet, area, bar=bar: bar  # type: ignore[method-assign]
        blocks = setter._window(sheet, (0, 0, *WIDE))
        del setter._title_bar
        assert blocks[: len(bars)] == bars
        assert all(block.box[1] >= bar[1][1] - 4 for block in blocks[len(bars) :]), "below the bar"
        titled += bool(bars)
    assert titled > 10


def test_line_numbers_stand_before_their_lines_and_are_counted_on(pack: Path) -> None:
    setter, numbered = _setter(pack, 5), 0
    for _ in range(20):
        blocks = setter.source(_sheet(setter, WIDE))
        first = [line.split(" ")[0] for line in blocks[0].text.split("\n")] if len(blocks) == 1 else []
        if len(first) > 8 and all(number.isdigit() for number in first):
            numbered += 1
            assert all(int(b) == int(a) + 1 for a, b in pairwise(first))
    assert numbered > 4


@pytest.mark.parametrize("maker", [OfficeSetter.ticks, OfficeSetter.options])
def test_boxes_are_drawn_and_nothing_is_written_for_them(
    pack: Path, maker: Callable[[OfficeSetter, Sheet], list[Block]], monkeypatch: pytest.MonkeyPatch
) -> None:
    setter, count, inks = _setter(pack, 6), 0, set[int]()
    boxes: list[tuple[float, float, int]] = []
    draw = setter._mark

    def mark(sheet: Sheet, x: float, middle: float, side: int, ring: bool, tone: int = 255) -> None:
        area = (int(x) + 2, int(middle - side / 2) + 2, int(x) + side - 1, int(middle + side / 2) - 1)
        before = np.asarray(sheet.page.crop(area)).copy()
        assert not before.any(), "there is room for the box"
        draw(sheet, x, middle, side, ring, tone)
        inks.add(int(np.asarray(sheet.page.crop(area)).astype(int).sum() > 255 * side))
        boxes.append((x, middle, side))

    monkeypatch.setattr(setter, "_mark", mark)
    for _ in range(30):
        boxes.clear()
        blocks = maker(setter, _sheet(setter, (1300, 1800), 26))
        assert len(boxes) >= len(blocks)
        for x, middle, side in boxes:
            for block in blocks:
                for (cx, cy), printed in zip(block.points, block.printed(), strict=True):
                    inside = x - 1 < cx < x + side + 1 and abs(cy - middle) < side / 2
                    assert not (printed and inside), f"{block.text!r} has a character where a box is"
        count += len(boxes)
    assert count > 60
    assert inks == {0, 1}, "some boxes are empty and some are marked"


def test_amounts_of_a_statement_end_at_the_right_edge(pack: Path) -> None:
    setter, rows = _setter(pack, 7), 0
    for _ in range(20):
        sheet = _sheet(setter, (1300, 1800), 24)
        blocks = setter.statement(sheet)
        amounts = [b for b in blocks if b.text[-3:-2] in (".", ",") and b.text[-2:].isdigit() and " " in b.text]
        rows += sum(sheet.x + sheet.measure - b.box[2] < 10 and b.box[0] < sheet.x + 60 for b in amounts)
    assert rows > 60


def test_screens_and_forms_to_tick_are_of_training_alone(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Held-out pages are the pictures they always were."""
    seen: list[str] = []
    for split in ("train", "test", "prose", "added"):
        setter = _setter(pack, 8, split)
        monkeypatch.setattr(setter, "screen", lambda page, size, most, split=split: seen.append(split) or [])
        for size in ((1600, 900), (1300, 1000), (900, 1300)):
            for _ in range(40):
                setter.office(Image.new("L", size), 20, 1000)
        names = {maker.__name__ for maker, _ in setter.forms}
        assert ("questionnaire" in names) == ("statement" in names) == (split == "train")
        assert sum(share for _, share in setter.forms) == pytest.approx(1.0) if split == "train" else True
    assert set(seen) == {"train"}
    assert 14 < len(seen) < 50
