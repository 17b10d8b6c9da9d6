"""Sheets of office programs: read column by column, nothing on top of anything else, mostly filled in part."""

from __future__ import annotations

import random
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from training import fonts
from training.charset import CHARSET
from training.pages import GENRES, Kind, PageMaker, stationery
from training.pages.ink import FontShelf
from training.pages.office import OfficeSetter
from training.slots import Layout
from training.smoke import smoke_pack
from training.targets import Block
from training.words import Words

KINDS = [Kind(level, grid, genre="office") for level, grid in ((0, None), (2, None), (3, None), (3, (2, 3)), (4, None))]


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return smoke_pack(tmp_path_factory.mktemp("training") / "pack")


def _setter(pack: Path, seed: int) -> OfficeSetter:
    rng = random.Random(seed)
    return OfficeSetter(rng, FontShelf(pack, fonts.load(pack, "train"), rng), Words(pack, "train", rng), 0.6)


def _overlap(a: Block, b: Block) -> float:
    """Pixels by which two blocks' boxes reach into each other, the smaller of both directions."""
    return min(min(a.box[n + 2], b.box[n + 2]) - max(a.box[n], b.box[n]) for n in (0, 1))


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_of_a_sheet_stand_on_it_and_apart(pack: Path, kind: Kind) -> None:
    maker = PageMaker(pack, "train", 5)
    for _ in range(12):
        page, blocks, _ = maker._drawn(kind)
        size = 3 + max(page.size) * 0.012
        for block in blocks:
            assert len(block.points) == len(block.text)
            x0, y0, x1, y1 = block.box
            assert x0 >= 0 and y0 >= 0 and x1 <= page.width and y1 <= page.height
        for one, other in combinations(blocks, 2):
            assert _overlap(one, other) < size, f"{one.text!r} and {other.text!r} overlap"


def test_characters_of_sheets_stand_where_there_is_ink(pack: Path) -> None:
    maker = PageMaker(pack, "train", 6)
    for _ in range(10):
        page, blocks, _ = maker._drawn(Kind(3, genre="office"))
        ink = np.asarray(page)
        shown = [
            ink[int(y) - 9 : int(y) + 10, int(x) - 9 : int(x) + 10].any()
            for block in blocks
            for (x, y), printed in zip(block.points, block.printed(), strict=True)
            if printed
        ]
        assert not shown or np.mean(shown) > 0.98
        assert {c for b in blocks for c in b.text} <= {*CHARSET, " ", "\n"}


def test_columns_are_read_one_after_the_other_from_the_top(pack: Path) -> None:
    setter, both = _setter(pack, 7), 0
    for _ in range(60):
        sheet = setter.sheet(Image.new("L", (1000, 1400)), 20, 3000, 1)
        sheet.y, (widths, gutter) = sheet.top, setter._widths(sheet)
        setter._widths = lambda sheet, widths=widths, gutter=gutter: (widths, gutter)  # type: ignore[method-assign]
        blocks = setter._columns(sheet)
        del setter._widths
        edges = [sheet.left + sum(widths[:n]) + gutter * n for n in range(len(widths) + 1)]
        places = [next(n for n in range(len(widths)) if block.box[0] < edges[n + 1] - gutter) for block in blocks]
        assert places == sorted(places), "a column is read to its end before the next begins"
        for block, place in zip(blocks, places, strict=True):
            assert block.box[2] <= edges[place] + widths[place] + 20, "no block reaches into the next column"
        for (one, a), (other, b) in pairwise(zip(blocks, places, strict=True)):
            assert a != b or one.box[1] < other.box[3], "within a column from top to bottom"
        both += len(set(places)) > 1
    assert both > 20


def test_text_goes_on_in_the_next_column_without_loss(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setter = _setter(pack, 8)
    words = [f"w{n}" for n in range(400)]
    monkeypatch.setattr(setter, "_widths", lambda sheet: ([300, 250], 40))
    monkeypatch.setattr(setter, "_ends", lambda columns: ([0.5, 0.5], True))
    monkeypatch.setattr(setter, "_text", lambda count: words)
    monkeypatch.setattr(setter.rng, "choice", lambda options: options[0])
    sheet = setter.sheet(Image.new("L", (700, 900)), 20, 5000, 1)
    sheet.left = sheet.x = 50
    blocks = setter._columns(sheet)
    first, second = blocks
    assert (first.text + " " + second.text).split() == words[: len((first.text + " " + second.text).split())]
    assert second.box[0] >= 50 + 300 + 40 and abs(second.box[1] - first.box[1]) < 5


def test_most_sheets_are_filled_in_part_and_many_have_two_columns(pack: Path) -> None:
    setter = _setter(pack, 9)
    low = both = 0
    for _ in range(80):
        blocks = setter.office(Image.new("L", (1300, 1840)), 26, 4000)
        body = [b for b in blocks if b.label not in ("header", "footer", "page_number")]
        low += max((b.box[3] for b in body), default=0) < 0.6 * 1840
        both += any(
            a.box[2] < b.box[0] and min(a.box[3], b.box[3]) - max(a.box[1], b.box[1]) > 20
            for a, b in combinations(body, 2)
        )
    assert low > 30
    assert both > 25


def test_held_out_pages_are_the_same_whether_sheets_were_made_or_not(pack: Path) -> None:
    """Making the setter draws nothing: pages of splits that came before it stay what they were."""
    rng = random.Random(4)
    shelf, words = FontShelf(pack, fonts.load(pack, "test"), rng), Words(pack, "test", rng)
    before = rng.getstate()
    OfficeSetter(rng, shelf, words, 0.0)
    assert rng.getstate() == before


def test_all_columns_of_a_report_are_full_but_the_last(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stationery, "_UNDIVIDED", 0.0)
    setter, short = _setter(pack, 13), 0
    for _ in range(30):
        sheet = setter.sheet(Image.new("L", (1300, 1840)), 20, 9000, 1)
        monkeypatch.setattr(setter, "_widths", lambda sheet: ([(sheet.width - 40) // 2] * 2, 40))
        blocks = setter.report(sheet)
        second = [block for block in blocks if block.box[0] > sheet.left + sheet.width // 2 and block.label == "text"]
        if not second:
            continue
        first = [block for block in blocks if block.box[2] < sheet.left + sheet.width // 2 + 20]
        assert max(block.box[3] for block in first) > sheet.bottom - 4 * sheet.leading
        short += max(block.box[3] for block in second) < sheet.bottom - 6 * sheet.leading
    assert short > 5


def test_few_things_are_named_again_and_again_on_some_sheets_of_training(pack: Path) -> None:
    setter = _setter(pack, 14)
    kinds = []
    for _ in range(200):
        maker = setter._few(setter.say.name)
        kinds.append(len({maker() for _ in range(12)}))
    assert 30 < sum(kind <= 4 for kind in kinds) < 90
    setter.words.trained = False
    assert setter._few(setter.say.name) == setter.say.name


def test_passages_stand_twice_on_some_sheets_of_training_only(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setter, ways = _setter(pack, 15), list[bool]()
    monkeypatch.setattr(setter, "_sheet", lambda page, size, most: ways.append(bool(setter.words.repeats._way)) or [])
    for trained in (True, False):
        setter.words.trained = trained
        ways.clear()
        for _ in range(200):
            setter.office(Image.new("L", (900, 1300)), 20, 1000)
        assert 20 < sum(ways) < 60 if trained else not any(ways)
        assert setter.words.repeats._way is None


def test_a_receipt_has_its_prices_at_the_right_edge(pack: Path) -> None:
    setter, rows = _setter(pack, 12), 0
    for _ in range(20):
        page = Image.new("L", (600, 1700))
        sheet = setter.sheet(page, 24, 3000, 1)
        blocks = setter.receipt(sheet)
        edges = [b.box[2] for b in blocks if b.text[-3:-2] in (".", ",") and b.text[-2:].isdigit()]
        right = max(edges, default=0)
        rows += sum(right - edge < 24 for edge in edges)
        assert all(b.box[3] <= sheet.bottom + 24 for b in blocks)
    assert rows > 60


def test_shares_of_fewer_genres_than_there_are_still_draw_pages(pack: Path) -> None:
    layout = Layout(None, 4, 4, (0.5, 0.5), (0.5, 0.5))
    assert {kind.genre for _ in range(40) for kind in layout.kinds(random.Random(_))} == set(GENRES[:2])
    layout = Layout(None, 4, 4, (0.5, 0.5), (*[0.0] * (len(GENRES) - 1), 1.0))
    assert {kind.genre for kind in layout.kinds(random.Random(1))} == {GENRES[-1]} == {"office"}


def test_the_same_seed_makes_the_same_sheet(pack: Path) -> None:
    one, other = (PageMaker(pack, "train", 3).sample(Kind(3, genre="office")) for _ in range(2))
    assert np.array_equal(one.view, other.view)
    assert one.ids.tolist() == other.ids.tolist()
