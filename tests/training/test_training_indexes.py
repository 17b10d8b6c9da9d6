"""Indexes, tables of contents, glossaries and lists in columns: what is drawn is what must be written, by columns."""

from __future__ import annotations

import random
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from training import fonts
from training.pages import Kind, PageMaker, documents
from training.pages.documents import DocumentSetter
from training.pages.indexes import IndexSetter, Row, _begins
from training.pages.ink import FontShelf, SizedFont
from training.pages.runs import Run
from training.pages.sheet import Sheet
from training.smoke import smoke_pack
from training.targets import Block
from training.words import Words


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return smoke_pack(tmp_path_factory.mktemp("training") / "pack")


@pytest.fixture
def setter(pack: Path) -> DocumentSetter:
    rng = random.Random(7)
    return DocumentSetter(rng, FontShelf(pack, fonts.load(pack, "train"), rng), Words(pack, "train", rng), 0.0)


def sheet(setter: DocumentSetter, columns: int, room: int = 5000) -> Sheet:
    return setter.sheet(Image.new("L", (1200, 1400)), 22, room, columns)


def set_rows(setter: DocumentSetter, page: Sheet, rows: list[Row]) -> list[Block]:
    setter.indexes.rng.seed(1)  # columns as long as the page
    return setter.indexes._columns(page, rows)


def row(font: SizedFont, text: str, **more: object) -> Row:
    return Row([(Run(text, font), 0.0)], **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["terms", "contents", "glossary", "names"])
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_every_kind_is_ink_where_its_characters_stand_and_goes_column_by_column(
    setter: DocumentSetter, kind: str, columns: int
) -> None:
    page = sheet(setter, columns)
    rows = list(getattr(setter.indexes, kind)(page, 60))
    assert 20 < len(rows)
    start = page.y
    blocks = setter.indexes._columns(page, rows)
    ink = np.asarray(page.page)
    width = page.measure + page.gutter
    for block in blocks:
        assert len(block.text) == len(block.points) and block.label in ("text", "title")
        x0, y0, x1, y1 = (int(side) for side in block.box)
        assert ink[y0:y1, x0:x1].any() and x1 <= page.left + page.width + 4 and y0 >= start - 4
        column = [int((x - page.left) // width) for x, _ in block.points]
        assert column == [column[0]] * len(column), "a block stays in its column"
    places = [(int((b.points[0][0] - page.left) // width), b.points[0][1]) for b in blocks]
    assert places == sorted(places)
    assert len({column for column, _ in places}) >= (2 if columns > 1 else 1)
    left = Image.fromarray(ink)
    for block in blocks:
        left.paste(0, tuple(int(side) + grow for side, grow in zip(block.box, (-1, -1, 2, 2), strict=True)))
    rest = np.asarray(left)
    assert not rest.any() or rest.any(0).sum() <= 2 * columns, "only rules between columns are no text"


def test_lines_are_one_block_until_one_is_set_in_or_apart_or_a_heading(setter: DocumentSetter) -> None:
    page = sheet(setter, 1)
    font = setter.shelf.sized(page.face, 22)
    rows = [
        row(font, "A", label="title"),
        row(font, "apple, 1"),
        row(font, "apricot, 2"),
        row(font, "dried, 3", inset=33.0),
        row(font, "fresh, 4", inset=33.0),
        row(font, "avocado, 5"),
        row(font, "banana, 6", above=12.0),
        row(font, "cherry ... 7", own=True),
        row(font, "date", own=True),
    ]
    found = [(block.label, block.text) for block in set_rows(setter, page, rows)]
    assert found == [
        ("title", "A"),
        ("text", "apple, 1 apricot, 2"),
        ("text", "dried, 3 fresh, 4"),
        ("text", "avocado, 5"),
        ("text", "banana, 6"),
        ("text", "cherry ... 7"),
        ("text", "date"),
    ]


def test_a_block_ends_with_its_column_and_what_does_not_fit_is_not_drawn(setter: DocumentSetter) -> None:
    page = sheet(setter, 2)
    font = setter.shelf.sized(page.face, 22)
    page.leading, page.bottom = 30, page.y + 100
    blocks = set_rows(setter, page, [row(font, str(number)) for number in range(9)])
    assert [block.text for block in blocks] == ["0 1 2", "3 4 5"]
    assert blocks[0].points[0][1] == blocks[1].points[0][1]


def test_blocks_begin_where_those_of_real_documents_do() -> None:
    pytest.importorskip("pymupdf")
    from training.pages import printed

    em, leading, found = 20, 24.0, set[bool]()

    def line(text: str, left: float, baseline: float, tab: float | None) -> printed.PrintedLine:
        middles = [left + 5 + 10 * n for n in range(len(text))]
        if tab is not None:
            middles[len(text) // 2 + 1 :] = [left + tab + 5 + 10 * n for n in range(len(text) // 2)]
        return printed.PrintedLine(text, tuple(middles), left, middles[-1] + 5, baseline, em, False, False)

    for before in (0.0, 30.0):
        for after in (0.0, 10.0, 30.0, 60.0, 150.0, 200.0):
            for above in (0.0, 12.0):
                for count in (1, 2):
                    for tab in (None, 150.0):
                        first, second = Row([], before, tab=tab), Row([], after, above)
                        upper = line("abcd efgh", before, 100, tab)
                        lower = line("ab", after, 100 + leading + above, None)
                        real = printed._begins(lower, upper, [upper] * count, leading, em)
                        assert _begins(second, first, count, em) == real, (before, after, above, count, tab)
                        found.add(real)
    assert found == {True, False}


def test_leaders_lead_to_numbers_at_the_right_edge(setter: DocumentSetter) -> None:
    page, rows = sheet(setter, 2), list[Row]()
    font = setter.shelf.sized(page.face, 22)
    for number in range(1, 200, 7):
        found = setter.indexes._led(page, [Run("abc", font)] * (number % 5 + 1), Run(str(number), font), " .", 10.0)
        rows += [found] if found else []
    assert len(rows) == 29
    for block in set_rows(setter, page, rows):
        assert re.fullmatch(r"(abc )+\.( \.)+ \d+", block.text)
        column = int((block.points[0][0] - page.left) // (page.measure + page.gutter))
        edge = page.left + column * (page.measure + page.gutter) + page.measure
        assert block.box[2] == pytest.approx(edge, abs=3)
        gaps = [b[0] - a[0] for a, b in pairwise(block.points)]
        assert min(gaps) >= 0, "dots keep clear of words and number"


def test_a_tenth_of_the_documents_of_training_are_indexes_and_none_of_the_held_out_ones(
    pack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    kept = IndexSetter.index
    monkeypatch.setattr(IndexSetter, "index", lambda self, page: calls.append(1) or kept(self, page))
    for split, (low, high) in {"train": (5, 30), "test": (0, 0), "prose": (0, 0)}.items():
        maker = PageMaker(pack, split, 4)
        calls.clear()
        for _ in range(160):
            maker.documents.document(Image.new("L", (700, 900)), 24, 600)
        assert low <= len(calls) <= high, split


def test_indexes_make_samples(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_INDEXES", 1.0)
    maker = PageMaker(pack, "train", 5)
    for kind in (Kind(2, genre="document"), Kind(3, (2, 3), genre="document")):
        for _ in range(6):
            assert maker.sample(kind).blocks


def test_records_have_the_same_fields_and_an_aside_stays_on_the_page(setter: DocumentSetter) -> None:
    page = sheet(setter, 1)
    names = {tuple(re.findall(r"\S+:", b.text)) for b in setter.records(page) if "http" not in b.text}
    assert len(names) <= 2
    for _ in range(40):
        page = sheet(setter, 2)
        page.y = setter.rng.randint(page.top, page.bottom)
        for block in setter.aside(page):
            assert block.box[3] <= page.bottom + 4 and block.box[2] <= page.left + page.measure + 4
